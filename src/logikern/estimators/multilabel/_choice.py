"""The structure of the labels: the user's, or the better one of two."""

from dataclasses import dataclass
from typing import Any

from logikern.estimators._callbacks import log
from logikern.estimators._checkpoint import checkpoint_of
from logikern.estimators.multilabel._comparison import StructureComparison, compare_structures
from logikern.estimators.multilabel._structures import (
    STRUCTURES,
    FittedStructure,
    GivenLabels,
    inherit_inputs,
    obstacle_to_joint,
)

_UNTRIED = "The joint structure was not tried, because the fit was interrupted."
_UNCOMPARED = "The joint structure is not used, because its comparison with independent labels was interrupted."


@dataclass(frozen=True, eq=False)
class Choice:
    """The structure that is used, and why."""

    name: str
    fitted: FittedStructure
    comparison: StructureComparison | None = None
    obstacle: str = ""  # why structures were not compared
    interrupted: bool = False


def fit_structure(name: str, settings: dict[str, Any], given: GivenLabels) -> FittedStructure:
    """Learn the hyperparameters of a structure, and fit it."""
    log(settings["verbose"] >= 1, "structure of the labels: %s", name)
    return STRUCTURES[name](settings, given)


def fit_given(name: str, settings: dict[str, Any], given: GivenLabels) -> Choice:
    """The structure that the user chose."""
    fitted = fit_structure(name, settings, given)
    return Choice(name, fitted, interrupted=fitted.classifier.interrupted_)


def choose_structure(settings: dict[str, Any], given: GivenLabels, seed: int) -> Choice:
    """Independent labels or the joint structure, whichever has the smaller held-out loss."""
    obstacle, checkpoint = obstacle_to_joint(given.table), settings["checkpoint"]
    own = settings | {"checkpoint": checkpoint_of(checkpoint, "independent")}
    independent = fit_structure("independent", own, given)
    interrupted = independent.classifier.interrupted_
    if obstacle or interrupted:
        return Choice("independent", independent, None, obstacle or _UNTRIED, interrupted)
    own = inherit_inputs(settings, independent.classifier, given) | {"checkpoint": checkpoint_of(checkpoint, "joint")}
    joint = fit_structure("joint", own, given)
    interrupted, fits = joint.classifier.interrupted_, {"independent": independent, "joint": joint}
    try:
        comparison = compare_structures(fits, given, settings["cv"], seed)
    except KeyboardInterrupt:
        # A second interruption always ends the fit. Without a search, so does the first.
        if settings["on_interrupt"] != "keep" or settings["criterion"] is None or interrupted:
            raise
        return Choice("independent", independent, None, _UNCOMPARED, True)
    return Choice(comparison.best, fits[comparison.best], comparison, "", interrupted)
