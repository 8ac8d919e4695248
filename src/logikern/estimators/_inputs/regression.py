"""Numeric targets in units of their spread."""

from typing import Any, NamedTuple

import numpy as np

from logikern.estimators._inputs.data import (
    LARGEST_INPUT,
    CheckTogether,
    TrainingData,
    is_precomputed,
)
from logikern.estimators._inputs.labels import refuse_missing
from logikern.estimators._inputs.weights import sample_weights
from logikern.estimators._names.likelihoods import LIKELIHOODS
from logikern.estimators._parameters import Parameters
from logikern.kernels import training_points
from logikern.numerics.outcome import Array
from logikern.structure.mixing import Flat


class Numbers(NamedTuple):
    """Training data whose targets are (y - offset) / scale.

    A fit is linear in its targets, so the scale changes only the meaning of the tolerance. The offset is the prior
    mean of the constants of the model; a model without constants has offset zero.
    """

    data: TrainingData
    offset: Array  # (n_outputs,)
    scale: Array  # (n_outputs,)
    is_table: bool  # whether y had columns


def numbers(parameters: Parameters, check: CheckTogether, X: Any, y: Any, sample_weight: Any) -> Numbers:
    """Check inputs, targets and weights together."""
    if y is None:
        raise ValueError(f"{parameters.owner} requires y to be passed, but the target y is None. Pass numbers.")
    refuse_missing(y)
    names = getattr(y, "columns", None)
    try:
        np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"`y` must hold numbers, but is of type {np.asarray(y).dtype}. For classes use KernelLogisticClassifier."
        ) from None
    X, y, encoder = check(X, y, numbers_only=True)
    rows = np.asarray(y, dtype=float)
    _check_size(rows)
    table = rows[:, None] if rows.ndim == 1 else rows
    weights = sample_weights(X.shape[0], sample_weight)
    kept = np.flatnonzero(weights > 0)
    offset, scale = _spread(table[kept], weights[kept], centred=parameters.bias_variance > 0)
    points = training_points(X) if is_precomputed(parameters.kernel) else X
    data = TrainingData(
        points=points[kept],
        targets=np.ascontiguousarray(((table[kept] - offset) / scale).T),
        weights=weights[kept],
        classes=np.arange(table.shape[1]) if names is None else np.asarray(names),
        mixing=Flat(table.shape[1]),
        likelihood=LIKELIHOODS["numbers"](),
        labels=None,
        kept=kept,
        n_rows=len(table),
        encoder=encoder,
    )
    return Numbers(data, offset, scale, rows.ndim == 2)


def _check_size(y: Array) -> None:
    largest = float(np.abs(y).max(initial=0.0))
    if largest > LARGEST_INPUT:
        raise ValueError(
            f"`y` must not contain magnitudes above {LARGEST_INPUT:g}, but one is {largest:g}. Scale `y`."
        )


def _spread(table: Array, weights: Array, centred: bool) -> tuple[Array, Array]:
    """Weighted mean (or zero), and the root mean square around it (or one if that is zero)."""
    share = weights / weights.sum()
    offset = share @ table if centred else np.zeros(table.shape[1])
    centred_table = table - offset
    size = np.abs(centred_table).max(axis=0)
    # Squares of tiny numbers vanish, so numbers are divided by the largest first.
    relative = centred_table / np.where(size > 0, size, 1.0)
    scale = size * np.sqrt(share @ relative**2)
    # A constant column differs from its mean only by rounding.
    negligible = scale <= 1e-14 * np.abs(table).max(axis=0)
    return offset, np.where(negligible, 1.0, scale)
