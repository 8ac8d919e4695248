"""The weight of each row: its sample weight times its class weight."""

import numbers
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.structure.links import shown
from logikern.structure.taxonomy import subtree_sums
from logikern.structure.tree import Tree, as_labels


def weigh_rows(
    class_weight: Any,
    labels: Indices,
    classes: Array,
    sample_weight: Any,
    tree: Tree | None = None,
    may_vanish: bool = False,
) -> Array:
    """Sample weights times class weights, (n,). Raises an error if all are zero, unless `may_vanish`.

    Labels are positions in `classes`, or in the labels of a tree if some label is an inner node.
    """
    weights = sample_weights(len(labels), sample_weight, may_vanish)
    if class_weight is None:
        return weights
    if isinstance(class_weight, str) and class_weight == "balanced":
        n_labels = len(classes) if tree is None else len(tree.labels)
        of_labels = _balanced(np.bincount(labels, weights=weights, minlength=n_labels), tree)
    else:
        of_labels = _given(class_weight, labels, classes if tree is None else as_labels(tree.labels))
    weights *= of_labels[labels]
    return weights


def sample_weights(n_rows: int, sample_weight: Any, may_vanish: bool = False, unit: str = "row") -> Array:
    """One weight per row, finite and non-negative; not all may be zero, unless `may_vanish`.

    `unit` is the word for a row in messages.
    """
    if sample_weight is None or isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, 1.0 if sample_weight is None else sample_weight)
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"`sample_weight` must hold numbers, but is {shown(sample_weight)}. Pass one weight for each {unit}."
        ) from None
    if weights.shape != (n_rows,):
        raise ValueError(
            f"`sample_weight` must have shape ({n_rows},), but has {weights.shape!r}. Pass one weight for each "
            f"{unit}."
        )
    wrong = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if wrong.size:
        raise ValueError(
            f"`sample_weight` must be finite and non-negative, but is {weights[wrong[0]]:g} at {unit} {wrong[0]}. "
            "Weights multiply the log likelihood of a point; use weight 0 to ignore a point."
        )
    if not (weights.any() or may_vanish):
        raise ValueError("`sample_weight` is zero for every point, so there is nothing to learn from.")
    return weights


def weight_unit(weights: Array) -> float:
    """The weight that counts as one row in a search: 1, or the typical weight sum w^2 / sum w if that is smaller.

    A weight of two counts as two rows. Small weights, such as weights that sum to one, are relative: in this unit
    they sum to (sum w)^2 / sum w^2 rows, the effective sample size of Kish (1965). The model is the same if weights
    are multiplied, and variances divided, by the same number.
    """
    largest = float(weights.max())
    share = weights / largest
    return min(1.0, largest * float(share @ share / share.sum()))


def _balanced(present: Array, tree: Tree | None) -> Array:
    """Class weights that balance the labels that occur, from the total weight of each label's rows.

    An inner node with labelled descendants is not a class of its own; its weight is their mean.
    """
    occurs = present > 0
    if tree is not None:
        occurs &= subtree_sums(present, tree) == present
    rows, labels = np.where(occurs, present, 0.0), occurs.astype(float)
    share = rows.sum() / occurs.sum()
    if tree is not None:
        rows, labels = subtree_sums(rows, tree), subtree_sums(labels, tree)
    return np.where(rows > 0, share * labels / np.where(rows > 0, rows, 1.0), 1.0)


def _given(class_weight: Any, labels: Indices, names: Array) -> Array:
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"`class_weight` must be None, 'balanced' or a dict from class to weight, but is {class_weight!r}."
        )
    # scikit-learn's function does not accept tuples as labels. Like it, this one rejects unknown names only if some
    # class lacks a weight.
    known = dict.fromkeys(names.tolist())
    unweighted = [name for name in names[np.unique(labels)].tolist() if name not in class_weight]
    strangers = [name for name in class_weight if name not in known]
    if unweighted and strangers:
        raise ValueError(
            f"`class_weight` has {strangers[0]!r}, which is not a class, and no weight for {unweighted[0]!r}. Use "
            "the labels in `y`."
        )
    values = np.array([class_weight.get(name, 1.0) for name in known], dtype=np.float64)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"`class_weight` must hold finite, non-negative weights, but is {class_weight!r}.")
    return values
