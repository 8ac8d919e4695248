"""Criteria by name, or by the user's function."""

from collections.abc import Callable
from typing import Any, NamedTuple

from logikern.criteria.base import Criterion, CriterionData
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.leave_one_out.criterion import LeaveOneOut
from logikern.criteria.noise import ProfiledNoise

MakeCriterion = Callable[[CriterionData], Criterion]


class CriterionKind(NamedTuple):
    """A criterion in words, and how it is made."""

    title: str
    make: MakeCriterion


def _cross_validation(given: CriterionData) -> Criterion:
    assert given.folds is not None
    return _profiled(
        given, CrossValidation(given.likelihood, given.targets, given.folds, given.solver, given.sharpen)
    )


def _leave_one_out(given: CriterionData) -> Criterion:
    own = (given.likelihood, given.targets, given.weights, given.solver, given.groups)
    return _profiled(given, LeaveOneOut(*own, sharpen=given.sharpen))


def _profiled(given: CriterionData, criterion: Criterion) -> Criterion:
    """Squared errors at their best noise variance."""
    return ProfiledNoise(criterion, len(given.targets)) if given.likelihood.is_quadratic else criterion


CRITERIA = {
    "cv": CriterionKind("cross-validation", _cross_validation),
    "loo": CriterionKind("leave-one-out", _leave_one_out),
}


def criterion_kind(criterion: Any, by_loo: bool) -> CriterionKind:
    """The criterion of a search: the user's function, or the criterion for a name or "auto"."""
    if callable(criterion):
        return CriterionKind(getattr(criterion, "__name__", type(criterion).__name__), criterion)
    return CRITERIA["loo" if by_loo else "cv"]
