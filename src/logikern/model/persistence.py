"""Model files: written atomically, read without running code.

A file is a skops archive of arrays and a description. It also has `logikern.json` with the number of the format and
the versions of the libraries that wrote it.
"""

import copy
import importlib.metadata
import io
import json
import os
import secrets
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from logikern import __version__
from logikern.kernels import FunctionKernel, Kernel
from logikern.model.audit import TRUSTED, UnreadModelError, audit, file_size
from logikern.model.integrity import check_loaded, check_steps, final_step, is_ours
from logikern.model.objects import build, has_only_ours
from logikern.model.sequences import pack_features, unpack_features
from logikern.numerics.outcome import Outcome
from logikern.structure.label_kernel import LabelKernel
from logikern.structure.loadings import LabelLoadings

FORMAT = 5
HEADER = "logikern.json"
NOTES = "notes"  # entry of the header
EXPECTED = "a KernelLogisticClassifier, a KernelMultilabelClassifier, a KernelSequenceClassifier or a KernelRegressor"
# Attributes that only leave-one-out and further fits need.
UNKEPT = ("_training", "_left_out", "_seed")


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that `load_model` reads without running code.

    Writing is atomic: an error leaves an existing file unchanged.

    Parameters
    ----------
    model : one of logikern's estimators, or Pipeline
        A fitted model. A pipeline must consist of scikit-learn transformers, followed by one of logikern's
        estimators.
    path : str or path
    """
    write_model(model, path, {})


def write_model(model: Any, path: str | os.PathLike[str], notes: Mapping[str, str]) -> None:
    """`save_model` with notes that `read_header` returns, such as the target of the fit."""
    estimator = final_step(model)
    if not is_ours(estimator):
        raise ValueError(
            f"`model` must be {EXPECTED}, or a Pipeline that ends in one, but is of type {type(model).__name__}. "
            "For a search, save its `best_estimator_`. Save other estimators with skops."
        )
    check_is_fitted(estimator)
    if isinstance(estimator.kernel, FunctionKernel) or not isinstance(estimator.kernel, str | Kernel):
        raise ValueError(
            f"A model with the function {estimator.kernel!r} as kernel cannot be saved: a model file holds no "
            "code. Use one of logikern's own kernels or kernel='precomputed', or save the model with pickle."
        )
    write_atomically(Path(os.path.realpath(path)), _pack(model, notes))


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Format, versions of libraries and notes of a model file that `load_model` accepts."""
    with zipfile.ZipFile(path) as archive:
        header: dict[str, Any] = json.loads(archive.read(HEADER))
        return header


def read_notes(path: str | os.PathLike[str]) -> dict[str, str]:
    """The notes of a model file that are text."""
    notes = read_header(path).get(NOTES)
    found = notes if isinstance(notes, dict) else {}
    return {name: note for name, note in found.items() if isinstance(note, str)}


def load_model(path: str | os.PathLike[str], *, size_limit: float | None = None) -> Any:
    """Read a model file without running code; an invalid file raises a ValueError.

    Parameters
    ----------
    path : str or path
    size_limit : float or None, default=None
        Maximum unpacked size in bytes. None allows a hundred times the size of the file, but at least 256 MB.

    Returns
    -------
    model : one of logikern's estimators, or Pipeline
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"`{path}` is a folder, but a model file is expected.")
    if not path.exists():
        raise FileNotFoundError(f"There is no model file `{path}`. Write one with `save_model`.")
    if not path.is_file():
        raise ValueError(f"`{path}` is a device or a pipe, but a model file is expected.")
    with open(path, "rb") as stream:
        try:
            return _unpack(stream, size_limit)
        except UnreadModelError as error:
            raise ValueError(f"`{path}` was not read: {error}") from error
        # A hostile file may raise any error, at any depth of the libraries that read it.
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise ValueError(
                f"`{path}` is not a model file that can be read: {reason.rstrip('.')}. Pass a file that "
                "`save_model` or `logikern fit` wrote, and copy it again if it may be damaged."
            ) from error


def _pack(model: Any, notes: Mapping[str, str] | None = None) -> bytes:
    """The bytes of the file."""
    from skops import io as skops_io

    buffer = io.BytesIO()
    try:
        skops_io.dump(_bare(model), buffer)
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr(HEADER, json.dumps(_header(notes or {})))
        with zipfile.ZipFile(buffer) as archive:
            audit(archive, file_size(buffer), float("inf"))
        buffer.seek(0)
        unknown = set(skops_io.get_untrusted_types(data=buffer.getvalue())) - set(TRUSTED)
        if unknown:
            raise ValueError(f"it contains unsupported types: {sorted(unknown)!r}")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`model` cannot be saved: {str(error).rstrip('.')}. Use scikit-learn's own transformers and plain "
            "parameters, or save the model with pickle."
        ) from error
    return buffer.getvalue()


def _header(notes: Mapping[str, str]) -> dict[str, Any]:
    libraries = ("scikit-learn", "skops", "numpy", "scipy")
    versions = {library: importlib.metadata.version(library) for library in libraries}
    return {"format": FORMAT, "logikern": __version__, **versions, **({NOTES: dict(notes)} if notes else {})}


def _bare(model: Any) -> Any:
    """A copy without callbacks and training labels; outcome and plan as text, since skops stores no Enum."""
    bare = copy.copy(model)
    if isinstance(model, Pipeline):
        bare.steps = [*model.steps[:-1], (model.steps[-1][0], _bare(final_step(model)))]
    else:
        if "outcome_" in vars(model):
            bare.outcome_ = model.outcome_.name
        if "plan_" in vars(model):
            bare.plan_ = str(model.plan_)
        if "_fitted" in vars(model):
            bare._fitted = replace(model._fitted, classifier=_bare(model._fitted.classifier))
        chosen = model.categorical_features
        bare.categorical_features = chosen if isinstance(chosen, str | None) else np.asarray(chosen, object).tolist()
        if vars(model).get("checkpoint") is not None:
            bare.checkpoint = os.fspath(model.checkpoint)
        if not isinstance(vars(model).get("hierarchy"), str | LabelLoadings | None):
            # It may be a graph or a table. None if it was set after the fit.
            bare.hierarchy = vars(model).get("tree_")
        if vars(model).get("label_kernel") is not None:
            # It may be a function or a frame.
            specification = vars(model.model_).get("specification")
            mixing = None if specification is None else specification.mixing
            bare.label_kernel = mixing.matrix if isinstance(mixing, LabelKernel) else None
        if "binaries_" in vars(model):
            bare.binaries_ = tuple(map(_bare, model.binaries_))
        if "vectorizer_" in vars(model):
            bare.vectorizer_ = pack_features(model.vectorizer_)
            bare.cv = model.cv if isinstance(model.cv, int | np.integer) else list(model.cv)
    for name in [name for name in vars(bare) if "callback" in name or name in UNKEPT]:
        delattr(bare, name)
    return bare


def _unpack(stream: BinaryIO, size_limit: float | None) -> Any:
    if not zipfile.is_zipfile(stream):
        raise ValueError("it is empty, truncated, or a file of another kind")
    size = file_size(stream)
    with zipfile.ZipFile(stream) as archive:
        _check_header(archive)
        schema = audit(archive, size, size_limit)
        model = build(schema, archive) if has_only_ours(schema) else _load_with_skops(stream)
    estimator = final_step(model)
    if not is_ours(estimator):
        raise ValueError(f"it holds an object of type {type(estimator).__name__}, but {EXPECTED} is expected")
    _restore(estimator)
    check_loaded(estimator)
    check_steps(model)
    return model


def _load_with_skops(stream: BinaryIO) -> Any:
    from skops import io as skops_io

    stream.seek(0)
    return skops_io.load(stream, trusted=TRUSTED)


def _restore(loaded: Any) -> None:
    """The outcome from its name, and defaults for settings that are newer than the file."""
    if "_fitted" in vars(loaded):
        _restore(loaded._fitted.classifier)
    else:
        loaded.outcome_ = Outcome[loaded.outcome_]
    for name, value in type(loaded)().get_params(deep=False).items():
        vars(loaded).setdefault(name, value)
    for binary in vars(loaded).get("binaries_", ()):
        _restore(binary)
    if "vectorizer_" in vars(loaded):
        loaded.vectorizer_ = unpack_features(loaded.vectorizer_)


def _check_header(archive: zipfile.ZipFile) -> None:
    if HEADER not in archive.namelist():
        raise ValueError("it is an archive, but not of a logikern model")
    header = json.loads(archive.read(HEADER))
    number = header.get("format") if isinstance(header, dict) else None
    if type(number) is not int or number < 1:
        raise ValueError(f"its format is {number!r}, but {FORMAT} is expected")
    if number != FORMAT:
        writer = header.get("logikern")
        needed = f"logikern {writer}, which" if isinstance(writer, str) else "the version of logikern that"
        raise UnreadModelError(
            f"its format is {number}, but logikern {__version__} reads format {FORMAT}. Install {needed} wrote the "
            "file, or fit again."
        )


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file in the same folder, then rename it, so that `path` is never incomplete."""
    if path.exists() and not path.is_file():
        raise ValueError(f"`path` must name a file, but `{path}` is a folder or a device. Give a file name.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
