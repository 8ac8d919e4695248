"""Tasks of the workers: pure functions of chunks, so that a cluster can recompute lost results."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from logikern.dask.chunks import stack
from logikern.encoding.encoder import Encoder
from logikern.estimators._cells.fit import CellRecipe
from logikern.estimators._inputs.tables import as_table
from logikern.fitting.problem import FitResult
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import own_threads
from logikern.structure.targets import from_labels


@dataclass(frozen=True, eq=False)
class CellRows:
    """Targets and weights of the rows of a cell, in a compact form."""

    targets: Array  # (C, m); or (m,), the position of the 1 in each column
    n_targets: int
    weights: Array | None  # (m,); None for ones

    def read_targets(self) -> Array:
        """Targets (C, m)."""
        return self.targets if self.targets.ndim == 2 else from_labels(self.targets, self.n_targets)

    def read_weights(self) -> Array:
        """Weights (m,)."""
        return np.ones(self.targets.shape[-1]) if self.weights is None else self.weights


def describe_rows(targets: Array, weights: Array) -> CellRows:
    """Targets (C, m) and weights (m,) in a compact form."""
    is_label = bool(((targets != 0).sum(axis=0) == 1).all() and (targets.max(axis=0) == 1).all())
    compact = targets.argmax(axis=0).astype(np.int32) if is_label else np.ascontiguousarray(targets)
    return CellRows(compact, len(targets), None if (weights == 1).all() else np.ascontiguousarray(weights))


def split_chunk(chunk: Any, group_of: Indices, encoder: Encoder, reads_columns: bool) -> dict[int, Any]:
    """Encoded rows of each group of cells; `group_of` (m,) is negative for rows of weight zero."""
    return {} if (group_of < 0).all() else _split(encode_rows(chunk, encoder, reads_columns), group_of)


def split_group(pieces: list[Any], cell_of: Indices) -> dict[int, Any]:
    """Rows of each cell of a group, from pieces in the order of the chunks."""
    return _split(stack(pieces), cell_of)


def _split(inputs: Any, number_of: Indices) -> dict[int, Any]:
    """Rows grouped by their numbers, in the original order; rows with a negative number are left out."""
    order = np.argsort(number_of, kind="stable")
    numbers, starts = np.unique(number_of[order], return_index=True)
    groups = np.split(order, starts[1:])
    return {int(number): inputs[rows] for number, rows in zip(numbers, groups, strict=True) if number >= 0}


def encode_rows(chunk: Any, encoder: Encoder, reads_columns: bool) -> Any:
    """Encoded inputs of the rows of a chunk, as in a fit."""
    table = as_table(chunk, reads_columns)
    if table is None:
        form: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        table = check_array(chunk, ensure_all_finite="allow-nan", **form)
    return encoder.transform(table)


def fit_cell(pieces: list[Any], rows: CellRows, recipe: CellRecipe) -> FitResult:
    """Fit a cell to its rows, which are given in pieces in the order of the chunks."""
    with own_threads(1):  # a worker runs one task in each of its threads
        return recipe.fit(stack(pieces), rows.read_targets(), rows.read_weights())


def predict_chunk(model: Any, method: str, chunk: Any, empty: Array) -> Array:
    """Predictions for a chunk by a method of a fitted classifier; `empty` for a chunk without rows."""
    return getattr(model, method)(chunk) if len(chunk) else empty
