"""The file from which a search is resumed, used by one search at a time, or a folder of such files."""

import contextlib
import os
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any

from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.fingerprint import fingerprint
from logikern.estimators._parameters import Parameters
from logikern.numerics.outcome import Array
from logikern.selection.journal import Journal, opened, opened_in

# Settings that do not change the answers in a checkpoint. Memory decides how products are computed, but not which
# ones; `cv` and `random_state` are identified by the splits and the seed.
UNTOLD = (
    *("checkpoint", "on_interrupt", "verbose", "n_jobs", "max_time", "max_iter", "memory_limit", "tol"),
    *("cv", "random_state"),
)


def identify(parameters: Parameters, data: TrainingData, groups: Array | None) -> str:
    """The fingerprint of data and settings; empty if no checkpoint is kept."""
    if parameters.checkpoint is None:
        return ""
    told = {field.name: getattr(parameters, field.name) for field in fields(parameters) if field.name not in UNTOLD}
    # The same for every form of the arguments.
    told |= {"hierarchy": data.mixing if data.mixing.is_coupled else None, "label_kernel": None}
    told["likelihood"] = data.likelihood  # the same targets may be classes, or labels in a tree
    told |= {"X": data.points, "y": data.targets, "sample_weight": data.weights, "groups": groups}
    return fingerprint("settings", {name: fingerprint(name, value) for name, value in told.items()})


def open_journal(
    checkpoint: Any, identity: str, seed: int, partitions: list[tuple[int, Any]]
) -> AbstractContextManager[Journal]:
    """The checkpoint's journal, for use by one search; the journal of a search with other partitions is rejected.

    The checkpoint is a file, or a folder with a file for each search; a new folder is created together with its
    missing parents. A partition is a number of points and the sets of points that are held out together.
    """
    if checkpoint is None:
        return contextlib.nullcontext(Journal())
    path, own = Path(checkpoint), fingerprint("cv", [identity, seed, partitions])
    if not is_folder(checkpoint):
        return opened(path, own)
    with contextlib.suppress(OSError):  # an error about a folder that is still missing follows
        path.mkdir(parents=True, exist_ok=True)
    return opened_in(path, own)


def checkpoint_of(checkpoint: Any, name: int | str) -> Any:
    """The checkpoint of one of several models of an estimator; they may share a folder but not a file."""
    if checkpoint is None or is_folder(checkpoint):
        return checkpoint
    return f"{os.fspath(checkpoint)}.{name}"


def is_folder(checkpoint: Any) -> bool:
    """Whether a checkpoint is a folder: an existing one, or a new name without a suffix or with a final slash."""
    path = Path(checkpoint)
    is_bare = not path.suffix and not path.exists()
    return path.is_dir() or is_bare or os.fspath(checkpoint).endswith(("/", os.sep))
