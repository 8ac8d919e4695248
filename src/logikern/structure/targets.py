"""Targets as distributions over classes, (n_classes, n_points)."""

import numpy as np

from logikern.numerics.outcome import Array, Indices


def from_labels(labels: Indices, n_classes: int) -> Array:
    """Targets that are one at the class of each point and zero elsewhere."""
    targets = np.zeros((n_classes, len(labels)))
    targets[labels, np.arange(len(labels))] = 1.0
    return targets


def from_distributions(rows: Array, tolerance: float = 1e-6) -> Array:
    """Targets from rows (n_points, n_classes) that are distributions; sums may differ from 1 by the tolerance.

    Raises
    ------
    ValueError
        If a row is not a distribution; the message names the first such row.
    """
    rows = np.asarray(rows, dtype=float)
    negative = np.flatnonzero((rows < 0).any(axis=1))
    if negative.size:
        raise ValueError(
            f"`y` with {rows.shape[1]} columns must hold distributions over classes, "
            f"but row {negative[0]} has the negative value {rows[negative[0]].min():g}. "
            "Pass class labels, or probabilities."
        )
    totals = rows.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(totals - 1.0) <= tolerance))  # catches NaN as well
    if wrong.size:
        several = " For multilabel targets, use KernelMultilabelClassifier."
        raise ValueError(
            f"`y` with {rows.shape[1]} columns must hold distributions over classes, "
            f"but row {wrong[0]} sums to {totals[wrong[0]]:g}. "
            "Pass class labels as one column, or normalise the rows."
            f"{several if np.isin(rows, (0.0, 1.0)).all() else ''}"
        )
    return np.ascontiguousarray((rows / totals[:, None]).T)
