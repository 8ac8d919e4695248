"""Decisions with the smallest expected loss, with the option to abstain (Chow, 1970)."""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from logikern.decisions.cases import Labels, as_numbers, as_probabilities
from logikern.numerics.outcome import Array, Indices, Mask
from logikern.structure.tree import as_labels

REJECTED = -1

# None is the zero-one loss.
Loss: TypeAlias = Array | Callable[[Any, Any], float] | None


@dataclass(frozen=True, eq=False)
class DecisionResult:
    """The decision for each case.

    Attributes
    ----------
    decisions : integer array of shape (n,)
        Row of the loss matrix (the class, unless the matrix has other decisions); -1 for rejected cases.
    expected_loss : array of shape (n,)
        Expected loss of the decision, or the cost of rejection. Its mean is the risk of the rule.
    rejected : boolean array of shape (n,)
    """

    decisions: Indices
    expected_loss: Array
    rejected: Mask


def loss_matrix(loss: Loss, classes: Labels) -> Array:
    """loss[d, c], the loss of deciding d when the truth is c, (D, C); `loss` and `classes` as in `decide`."""
    labels = as_labels(classes).tolist()
    if loss is None:
        return 1.0 - np.eye(len(labels))
    if callable(loss):
        return _check_losses([[loss(decision, truth) for truth in labels] for decision in labels], len(labels))
    return _check_losses(reorder_frame(loss, labels, labels), len(labels))


def reorder_frame(loss: Any, decisions: Sequence[Any], truths: Sequence[Any]) -> Any:
    """The values of a frame with rows and columns in the order of the labels; other losses unchanged.

    Columns must be named after the classes. Rows keep their order if they are not the classes.
    """
    columns, rows = (_names(loss, axis) for axis in ("columns", "index"))
    classes = set(truths)
    if columns is None or list(truths) == list(range(len(truths))) and set(columns) != classes:
        return loss  # without names
    if len(columns) != len(truths) or set(columns) != classes:
        strange = next((name for name in columns if name not in classes), None)
        what = f"there are {len(columns)} columns" if strange is None else f"one is named {strange!r}"
        raise ValueError(
            f"The columns of a `loss` frame must be named after the {len(truths)} classes, but {what}. "
            "Rename them, or pass an array in the order of the classes."
        )
    values = as_numbers(loss, "loss")[:, _places(columns, truths)]
    if rows is None or len(rows) != len(decisions) or set(rows) != set(decisions):
        return values
    return values[_places(rows, decisions)]


def _places(names: list[Any], labels: Sequence[Any]) -> list[int]:
    place = {name: number for number, name in enumerate(names)}
    return [place[label] for label in labels]


def _names(frame: Any, axis: str) -> list[Any] | None:
    """Names of the rows or columns of a frame; None if they are only numbered, or without a frame."""
    if getattr(frame, "columns", None) is None or getattr(frame, axis, None) is None:
        return None
    names = list(getattr(frame, axis))
    return None if names == list(range(len(names))) else names


def expected_losses(probabilities: Array, loss: Loss = None, classes: Labels | None = None) -> Array:
    """sum_c p(c) loss[d, c] for each case and each decision d, (n, D); parameters as in `decide`."""
    probabilities = as_probabilities(probabilities, "probabilities")
    if loss is None:
        return np.maximum(1.0 - probabilities, 0.0)
    return probabilities @ loss_matrix(loss, _labels(classes, probabilities.shape[1])).T


def decide(
    probabilities: Array,
    loss: Loss = None,
    reject_cost: float | None = None,
    classes: Labels | None = None,
) -> DecisionResult:
    """The decision with the smallest expected loss for each case, or rejection.

    This is argmin_d sum_c p(c) loss[d, c], or rejection if the minimum exceeds `reject_cost`: Chow (1970), "On
    optimum recognition error and reject tradeoff". Ties go to the first decision.
    `predict_decisions` takes a model and its inputs instead of probabilities.

    Parameters
    ----------
    probabilities : array of shape (n, C)
        Each row is a distribution over the classes.
    loss : None, array of shape (D, C) or callable, default=None
        None is the zero-one loss, for which the best decision is the most probable class. In an array, **rows are
        decisions and columns are true classes**: loss[d, c] is the loss of deciding d when the truth is c, so
        deciding class 0 when class 1 is true costs loss[0, 1]. Decisions need not be classes, so the number of
        decisions D may differ from C. If the rows or columns of a frame are named after the classes, they are matched
        by name. A callable loss(decision_label, true_label) is called for every pair of classes. Losses must be
        finite and non-negative.
    reject_cost : float, default=None
        Cost of abstaining, on the scale of the losses. For the zero-one loss it is the tolerated error probability.
        None means that no case is rejected.
    classes : sequence of length C, default=None
        Labels of the columns, for a callable loss or a frame; None means the numbers 0 to C - 1.

    Examples
    --------
    Deciding 0 when the truth is 1 costs ten times as much as the reverse.

    >>> decided = decide([[0.95, 0.05], [0.8, 0.2]], loss=[[0, 10], [1, 0]])
    >>> decided.decisions.tolist()
    [0, 1]
    """
    _refuse_model(probabilities)
    probabilities = as_probabilities(probabilities, "probabilities")
    expected = expected_losses(probabilities, loss, classes)
    # 1 - p may round to equal values for different p.
    best = probabilities.argmax(axis=1) if loss is None else expected.argmin(axis=1)
    return reject(best, np.take_along_axis(expected, best[:, None], axis=1)[:, 0], reject_cost)


def _refuse_model(probabilities: Any) -> None:
    if isinstance(probabilities, BaseEstimator):
        raise ValueError(
            f"`probabilities` must hold numbers, but is a model of type {type(probabilities).__name__}. "
            "Pass what `predict_proba` returns, or use `predict_decisions(model, X)` with the model and its inputs."
        )


def reject(decisions: Indices, expected_loss: Array, reject_cost: float | None) -> DecisionResult:
    """Reject the decisions whose expected loss exceeds `reject_cost`."""
    if reject_cost is None:
        return DecisionResult(decisions, expected_loss, np.zeros(len(decisions), dtype=bool))
    _check_cost(reject_cost)
    rejected = expected_loss > reject_cost
    expected_loss = np.where(rejected, reject_cost, expected_loss)
    return DecisionResult(np.where(rejected, REJECTED, decisions), expected_loss, rejected)


def to_labels(decided: DecisionResult, labels: Labels, reject_label: Any = None) -> Array:
    """The label of each decision.

    Parameters
    ----------
    decided : DecisionResult
        The result of `decide`.
    labels : sequence of length D
        The labels of the decisions: the classes, unless the rows of the loss matrix are other decisions.
    reject_label : object, default=None
        Label of rejected cases; must differ from all labels. If it has the same type as the labels (text or
        integers), the result has this type too; otherwise, the result is an array of objects.
    """
    names = np.asarray(labels)
    last = decided.decisions.max(initial=REJECTED)
    if names.ndim != 1 or last >= len(names):
        raise ValueError(
            f"`labels` must hold a label for each decision, but has shape {names.shape!r}, so decision "
            f"{last} has no label. Pass one label for each row of the loss matrix."
        )
    if reject_label in names.tolist():
        raise ValueError(
            f"`reject_label` must differ from the labels, but {reject_label!r} is one of them. Pass a label "
            "that marks rejected cases only."
        )
    stand_in = np.asarray(reject_label)
    alike = stand_in.ndim == 0 and stand_in.dtype.kind == names.dtype.kind
    answer = np.empty(len(decided.decisions), np.result_type(names.dtype, stand_in.dtype) if alike else object)
    answer[~decided.rejected] = names[decided.decisions[~decided.rejected]]
    for place in np.flatnonzero(decided.rejected):  # one at a time, because a label may be a tuple
        answer[place] = reject_label
    return answer


def _labels(classes: Labels | None, n_classes: int) -> Labels:
    if classes is None:
        return range(n_classes)
    if len(classes) != n_classes:
        raise ValueError(
            f"`classes` must hold a label for each of the {n_classes} columns of `probabilities`, "
            f"but has {len(classes)}."
        )
    return classes


def _check_losses(losses: Any, n_classes: int) -> Array:
    matrix = as_numbers(losses, "loss")
    if matrix.ndim != 2 or matrix.shape[1] != n_classes or not len(matrix):
        raise ValueError(
            f"`loss` must have a row per decision and a column per true class, shape (n_decisions, {n_classes}), "
            f"but has shape {matrix.shape!r}. loss[d, c] is the loss of deciding d when the truth is c."
        )
    wrong = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
    if len(wrong):
        decision, truth = wrong[0].tolist()
        raise ValueError(
            f"`loss` must be finite and non-negative, but deciding {decision} when the truth is {truth} costs "
            f"{matrix[decision, truth]:g}. If the values are gains, subtract them from the largest gain. "
            "Instead of infinity, pass a number larger than all others."
        )
    return matrix


def _check_cost(reject_cost: Any) -> None:
    if isinstance(reject_cost, bool) or not isinstance(reject_cost, numbers.Real) or not float(reject_cost) >= 0:
        raise ValueError(f"`reject_cost` must be None or a non-negative number, but is {reject_cost!r}.")
