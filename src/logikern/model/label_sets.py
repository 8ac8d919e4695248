"""Consistency of the label sets of a loaded multilabel classifier."""

from collections.abc import Callable
from typing import Any

import numpy as np

from logikern.model.audit import COMPARISON, INDEPENDENT, JOINT, LABEL_SPACE
from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Indices, Mask
from logikern.structure.forest import ROOT
from logikern.structure.loadings import LabelLoadings
from logikern.structure.mixing import Flat
from logikern.structure.taxonomy import column_parents

# The type of the fitted distribution, and how its classes share functions.
STRUCTURES: dict[Any, tuple[str, type]] = {
    "independent": (INDEPENDENT, Flat),
    "joint": (JOINT, Flat),
    "coupled": (JOINT, LabelLoadings),
}


def check_label_sets(found: dict[str, Any], check_classifier: Callable[[Any, int], None]) -> None:
    """Raise a ValueError if the attributes of a multilabel classifier contradict each other.

    Parameters
    ----------
    found : dict
        Its attributes; `classes_` are labels.
    check_classifier : callable
        Checks the inner classifier, which must have at least the given number of classes.
    """
    name = found.get("structure_")
    own: Any = found.get("_fitted")
    _require(isinstance(name, str) and name in STRUCTURES, "the structure of its labels is unknown")
    kind, mixing = STRUCTURES[name]
    _require(_name(own) == kind, "its distribution does not match the structure of its labels")
    _require(isinstance(found.get("_obstacle"), str), "the reason for its structure is not text")
    _check_comparison(found.get("comparison_"))
    shares = _check_shares(own.space, len(found["classes_"]))
    _check_parents(found, own.space, shares)
    seen = _check_seen(found.get("label_sets_"), shares, own.space.parents)
    check_classifier(own.classifier, 1 if kind == INDEPENDENT else 2)
    _require(type(own.classifier.model_.specification.mixing) is mixing, "its functions do not match its structure")
    if kind == INDEPENDENT:
        _check_independent(own, int(((shares > 0) & (shares < 1)).sum()))
    else:
        _check_joint(own, seen)


def _check_shares(space: Any, n_labels: int) -> Array:
    """Shares of rows that have each label, (L,), some of which vary."""
    shares = vars(space).get("shares") if _name(space) == LABEL_SPACE else None
    if not isinstance(shares, np.ndarray) or shares.dtype.kind != "f" or shares.shape != (n_labels,):
        raise ValueError("it does not have a share for each label")
    _require(bool(((shares >= 0) & (shares <= 1)).all()), "its shares of labels are not between 0 and 1")
    _require(bool(((shares > 0) & (shares < 1)).any()), "all its labels are constant")
    return shares


def _check_parents(found: dict[str, Any], space: Any, shares: Array) -> None:
    """Parents must be the same as in the hierarchy, and at least as frequent as their children."""
    parents, tree, labels = vars(space).get("parents"), found.get("tree_"), found["classes_"]
    is_list = isinstance(parents, np.ndarray) and parents.dtype.kind == "i" and parents.shape == shares.shape
    if parents is None or not is_list:
        raise ValueError("it does not have a parent for each label")
    expected = np.full(len(shares), ROOT)
    if tree is not None:
        _require(set(labels.tolist()) == set(tree.labels), "its labels are not the nodes of its hierarchy")
        expected = column_parents(tree, labels)
    _require(np.array_equal(parents, expected), "the parents of its labels do not match its hierarchy")
    frequent = (parents == ROOT) | (shares <= shares[parents])
    _require(bool(frequent.all()), "a label is more frequent than its parent")


def _check_seen(label_sets: Any, shares: Array, parents: Indices) -> Mask:
    """Sets of the varying labels of all training rows, (S, V)."""
    is_table = isinstance(label_sets, np.ndarray) and label_sets.dtype.kind == "i" and label_sets.ndim == 2
    if not is_table or label_sets.shape[1] != len(shares) or not np.isin(label_sets, (0, 1)).all():
        raise ValueError("its label sets are not indicators of its labels")
    _require(len(np.unique(label_sets, axis=0)) == len(label_sets) > 0, "a label set occurs twice")
    absent = (parents != ROOT) & (label_sets[:, parents] == 0)
    _require(not (absent & (label_sets == 1)).any(), "a label set lacks the parent of a label")
    varying = (shares > 0) & (shares < 1)
    _require(bool((label_sets[:, ~varying] == shares[~varying]).all()), "its label sets contradict constant labels")
    return np.asarray(label_sets[:, varying] == 1)


def _check_independent(own: Any, n_varying: int) -> None:
    model = own.classifier.model_
    _require(isinstance(model, FittedModel), "its independent labels are divided into neighbourhoods")
    _require(model.n_classes == n_varying, "it does not have a function for every label that varies")
    _require(model.specification.temperature.is_neutral, "it has independent labels, but also a temperature")
    _require(own.unseen_share == 1.0, "it has independent labels, but also a share of unseen sets")


def _check_joint(own: Any, seen: Mask) -> None:
    mixing = own.classifier.model_.specification.mixing
    _require(_are_sets(own.sets) and np.array_equal(own.sets, seen), "its label sets do not match its classes")
    numbers = own.classifier.classes_.tolist()
    _require(numbers == list(range(len(seen))), "its label sets do not match its classes")
    _require(
        isinstance(mixing, Flat) or np.array_equal(mixing.sets, seen), "its functions belong to other label sets"
    )
    share = own.unseen_share
    _require(isinstance(share, float) and 0.0 < share <= 1.0, "its share of unseen sets is not between 0 and 1")


def _check_comparison(comparison: Any) -> None:
    """None, or numbers."""
    if comparison is not None:
        _require(_name(comparison) == COMPARISON, "its comparison of structures has the wrong type")
        values = vars(comparison)
        losses = [values.get(name) for name in ("independent", "joint", "noise")]
        is_whole = type(values.get("n_rows")) is int
        _require(
            is_whole and all(isinstance(loss, float) for loss in losses),
            "its comparison of structures does not hold numbers",
        )


def check_loadings(mixing: LabelLoadings) -> None:
    """Raise a ValueError unless the classes are different label sets."""
    _require(_are_sets(mixing.sets), "its label sets are not a table of truth values")
    _require(len(np.unique(mixing.sets, axis=0)) == len(mixing.sets), "a label set occurs twice")


def _are_sets(sets: Any) -> bool:
    return isinstance(sets, np.ndarray) and sets.dtype == bool and sets.ndim == 2 and sets.size > 0


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
