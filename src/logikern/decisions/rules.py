"""Decisions of least expected loss, with the right to abstain (Chow, 1970)."""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from logikern.decisions.cases import as_numbers, as_probabilities
from logikern.numerics.outcome import Array, Indices, Mask
from logikern.structure.tree import as_labels

REJECTED = -1

# None is the zero-one loss.
Loss: TypeAlias = Array | Callable[[Any, Any], float] | None


@dataclass(frozen=True, eq=False)
class Decided:
    """What is decided for each case.

    Attributes
    ----------
    decisions : integer array of shape (n,)
        Row of the loss matrix, which is the class unless the matrix says otherwise; -1 where rejected.
    expected_loss : array of shape (n,)
        Of what is decided: the cost of rejection where rejected. Its mean is the risk of the rule.
    rejected : boolean array of shape (n,)
    """

    decisions: Indices
    expected_loss: Array
    rejected: Mask


def loss_matrix(loss: Loss, classes: Sequence[Any]) -> Array:
    """loss[d, c], the loss of deciding d when the truth is c, as an array of shape (D, C).

    Parameters
    ----------
    loss : None, array of shape (D, C) or callable
        As in `decide`.
    classes : sequence of length C
        What a callable is asked about.
    """
    labels = as_labels(classes).tolist()
    if loss is None:
        return 1.0 - np.eye(len(labels))
    if callable(loss):
        return _check_losses([[loss(decision, truth) for truth in labels] for decision in labels], len(labels))
    return _check_losses(in_order(loss, labels, labels), len(labels))


def in_order(loss: Any, decisions: Sequence[Any], truths: Sequence[Any]) -> Any:
    """A frame's losses with its rows and columns in the order of these labels, by its names; others as they are.

    Rows may be other decisions; columns are classes, and names of others are refused.
    """
    columns, rows = (_names(loss, axis) for axis in ("columns", "index"))
    classes = set(truths)
    if columns is None or list(truths) == list(range(len(truths))) and set(columns) != classes:
        return loss  # neither has names
    if len(columns) != len(truths) or set(columns) != classes:
        strange = next((name for name in columns if name not in classes), None)
        what = f"there are {len(columns)}" if strange is None else f"one is {strange!r}"
        raise ValueError(
            f"`loss` is a frame, whose columns must have the names of the {len(truths)} classes, but {what}. "
            "Name them so, or pass an array in the order of the classes."
        )
    values = as_numbers(loss, "loss")[:, _places(columns, truths)]
    if rows is None or len(rows) != len(decisions) or set(rows) != set(decisions):
        return values
    return values[_places(rows, decisions)]


def _places(names: list[Any], labels: Sequence[Any]) -> list[int]:
    place = {name: number for number, name in enumerate(names)}
    return [place[label] for label in labels]


def _names(frame: Any, axis: str) -> list[Any] | None:
    """What the rows or columns of a frame are called; None where they are only counted, or it is no frame."""
    if getattr(frame, "columns", None) is None or getattr(frame, axis, None) is None:
        return None
    names = list(getattr(frame, axis))
    return None if names == list(range(len(names))) else names


def expected_losses(probabilities: Array, loss: Loss = None, classes: Sequence[Any] | None = None) -> Array:
    """sum_c p(c) loss[d, c] for each case and each decision d, of shape (n, D).

    Parameters
    ----------
    probabilities : array of shape (n, C)
    loss : None, array of shape (D, C) or callable, default=None
        As in `decide`.
    classes : sequence of length C, default=None
        As in `decide`.
    """
    probabilities = as_probabilities(probabilities, "probabilities")
    if loss is None:
        return np.maximum(1.0 - probabilities, 0.0)
    return probabilities @ loss_matrix(loss, _labels(classes, probabilities.shape[1])).T


def decide(
    probabilities: Array,
    loss: Loss = None,
    reject_cost: float | None = None,
    classes: Sequence[Any] | None = None,
) -> Decided:
    """argmin_d sum_c p(c) loss[d, c], or rejection where even that minimum exceeds the cost of rejection.

    Chow (1970), "On optimum recognition error and reject tradeoff". Among equal decisions the first is taken.

    Parameters
    ----------
    probabilities : array of shape (n, C)
        Rows are distributions over the classes.
    loss : None, array of shape (D, C) or callable, default=None
        None is the zero-one loss: the most probable class is decided. Of an array, **rows are decisions and
        columns are true classes**: loss[d, c] is the loss of deciding d when the truth is c, so that missing
        class 1 by deciding class 0 costs loss[0, 1]. Decisions need not be classes: D may differ from C. Rows and
        columns of a frame go by their names, where these are the classes. A callable
        loss(decision_label, true_label) is asked about every pair of classes. Losses are finite and not negative.
    reject_cost : float, default=None
        What abstaining costs, on the scale of the losses; under the zero-one loss, the error that is tolerated. None
        never abstains.
    classes : sequence of length C, default=None
        Labels to ask a callable loss about; None stands for 0, ..., C - 1.

    Examples
    --------
    Deciding 0 when the truth is 1 costs ten times as much as the reverse.

    >>> decided = decide([[0.95, 0.05], [0.8, 0.2]], loss=[[0, 10], [1, 0]])
    >>> decided.decisions.tolist()
    [0, 1]
    """
    probabilities = as_probabilities(probabilities, "probabilities")
    expected = expected_losses(probabilities, loss, classes)
    # The rounding of 1 - p may hide which p is larger.
    best = probabilities.argmax(axis=1) if loss is None else expected.argmin(axis=1)
    return reject(best, np.take_along_axis(expected, best[:, None], axis=1)[:, 0], reject_cost)


def reject(decisions: Indices, expected_loss: Array, reject_cost: float | None) -> Decided:
    """The decisions, or none where their expected loss exceeds the cost of that.

    Parameters
    ----------
    decisions : integer array of shape (n,)
    expected_loss : array of shape (n,)
    reject_cost : float or None
        As in `decide`.
    """
    if reject_cost is None:
        return Decided(decisions, expected_loss, np.zeros(len(decisions), dtype=bool))
    _check_cost(reject_cost)
    rejected = expected_loss > reject_cost
    return Decided(np.where(rejected, REJECTED, decisions), np.where(rejected, reject_cost, expected_loss), rejected)


def to_labels(decided: Decided, labels: Sequence[Any], reject_label: Any = None) -> Array:
    """The label of each decision.

    Parameters
    ----------
    decided : Decided
    labels : sequence of length D
        The label of each decision: the classes, unless the loss matrix has other rows.
    reject_label : object, default=None
        What stands where a case is rejected; none of the labels. Where it is of the labels' kind (a text among
        texts, an integer among integers) the result is an array of that kind, otherwise of objects.
    """
    names = np.asarray(labels)
    last = decided.decisions.max(initial=REJECTED)
    if names.ndim != 1 or last >= len(names):
        raise ValueError(
            f"`labels` must hold a label for each decision, but has shape {names.shape!r}, and decision {last} "
            "occurs. Pass one label for each row of the loss matrix."
        )
    if reject_label in names.tolist():
        raise ValueError(
            f"`reject_label` must differ from the labels, but {reject_label!r} is one of them, and rejected cases "
            "could not be told from it. Pass another."
        )
    stand_in = np.asarray(reject_label)
    alike = stand_in.ndim == 0 and stand_in.dtype.kind == names.dtype.kind
    answer = np.empty(len(decided.decisions), np.result_type(names.dtype, stand_in.dtype) if alike else object)
    answer[~decided.rejected] = names[decided.decisions[~decided.rejected]]
    for place in np.flatnonzero(decided.rejected):  # one by one: a tuple is a label, not a sequence of them
        answer[place] = reject_label
    return answer


def _labels(classes: Sequence[Any] | None, n_classes: int) -> Sequence[Any]:
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
            f"`loss` must be finite and not negative, but deciding {decision} when the truth is {truth} costs "
            f"{matrix[decision, truth]:g}. Of gains, pass the largest gain minus the gain; instead of infinity, a "
            "number larger than all others."
        )
    return matrix


def _check_cost(reject_cost: Any) -> None:
    if isinstance(reject_cost, bool) or not isinstance(reject_cost, numbers.Real) or not float(reject_cost) >= 0:
        raise ValueError(f"`reject_cost` must be a number that is not negative, or None, but is {reject_cost!r}.")
