"""Tables as inputs of an estimator: the encoder is learned in `fit` and applied again to new rows."""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from logikern.encoding.complaints import ColumnWarning
from logikern.encoding.encoder import Encoder, learn_encoder, require_inputs, with_scaling
from logikern.encoding.scaling import learn_scaling
from logikern.encoding.tables import column_names, is_frame
from logikern.estimators._callbacks import WRAPPER_FRAMES
from logikern.kernels.inputs import is_sparse

AUTO = "auto"


class Encoded(NamedTuple):
    """An encoder, and the inputs of the rows that it was fitted on."""

    encoder: Encoder
    inputs: Any


def as_table(X: Any, is_chosen: bool = False) -> Any:
    """X if it must be read column by column; None for arrays of numbers and inputs that scikit-learn rejects.

    With `is_chosen`, columns of an array of numbers may be categories (see `categorical_features`).
    """
    if is_sparse(X):
        return None
    if is_frame(X):
        column_names(X)  # raises for duplicate names
        return None if _holds_sparse_columns(X) else X
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return None
    if array.dtype.names is not None:
        raise ValueError("`X` is an array of records. Pass a table with named columns: `pd.DataFrame(X)`.")
    if array.ndim != 2 or array.dtype.kind not in "OUSMmbiuf":
        return None
    if array.dtype.kind in "OUSMm":
        # In a plain array, all values of a list of rows with some text would become text.
        return array if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    return array if is_chosen else None


def _holds_sparse_columns(frame: Any) -> bool:
    """Whether all columns are sparse columns of pandas, which scikit-learn turns into a sparse matrix."""
    kinds = [type(dtype).__name__ for dtype in getattr(frame, "dtypes", ())]
    return bool(kinds) and all(kind == "SparseDtype" for kind in kinds)


def require_rows(table: Any) -> None:
    """Reject a table without rows, with scikit-learn's message for arrays."""
    if not len(table):
        raise ValueError(
            f"Found array with 0 sample(s) (shape={tuple(table.shape)!r}) while a minimum of 1 is required."
        )


def learn_inputs(X: Any, categorical_features: Any, scaling: str, names: Any = None) -> Encoded:
    """Learn the encoder of training rows, and encode them; `names` are the column names of an array from a frame."""
    encoder = learn_encoder(X, categorical_features)
    if names is not None:
        encoder = replace(encoder, names=tuple(names))
    require_inputs(encoder)
    kind = _resolve(scaling, encoder)
    if kind == "ranks":
        encoder = replace(encoder, is_sparse=False)
    inputs = encoder.encode(X)
    learned = learn_scaling(kind, inputs, encoder.is_level)
    return Encoded(with_scaling(encoder, learned), learned.transform(inputs))


def _resolve(scaling: str, encoder: Encoder) -> str:
    """The kind of scaling; without a search, "auto" follows the kinds of columns."""
    if scaling != AUTO:
        return scaling
    # Numbers alone may share a unit, as pixels do. Next to a category or a date, no unit is natural.
    is_mixed = bool(encoder.levels) or bool(np.any(encoder.numbers.kinds))
    return "standard" if is_mixed else "raw"


def warn_of_columns(encoder: Encoder, wrapper_frames: int = WRAPPER_FRAMES) -> None:
    """One warning for each column that is probably not meant as an input, or not in its present form."""
    for note in encoder.notes:
        if note.warns:
            told = note.tell(encoder.column_names[note.place])
            warnings.warn(told, ColumnWarning, stacklevel=3 + wrapper_frames)
