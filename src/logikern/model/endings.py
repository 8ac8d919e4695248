"""How the fit of a loaded model ended, and the records of its search."""

import dataclasses
from typing import Any

import numpy as np

from logikern.model.neighbourhoods import Approximation
from logikern.numerics.outcome import NewtonStep, Outcome
from logikern.selection.judgement import Verdict
from logikern.selection.search import Record


def check_ending(found: dict[str, Any]) -> None:
    """How the fit ended, and the records behind `explain`."""
    _require(isinstance(found.get("plan_", ""), str), "its plan is not text")
    _require(isinstance(found.get("outcome_"), Outcome), "it does not say how its fit ended")
    _check_records(found.get("trace_"), NewtonStep | Record, "its trace is not a list of records")
    _check_records(found.get("newton_trace_"), NewtonStep, "its steps are not a list of Newton steps")
    _check_records(found.get("verdicts_", ()), Verdict, "its verdicts are not a list of records")
    if found.get("approximation_") is not None:
        _check_records((found["approximation_"],), Approximation, "its approximation has the wrong type")
    _require(is_number(found.get("criterion_value_"), float), "its criterion has no value")
    _require(is_number(found.get("n_iter_"), int), "it does not say how many steps its fit took")


def _check_records(records: Any, kind: Any, complaint: str) -> None:
    """A tuple of records whose fields have their declared types."""
    _require(isinstance(records, tuple) and all(isinstance(record, kind) for record in records), complaint)
    for record in records:
        for field in dataclasses.fields(record):
            value = getattr(record, field.name, None)
            _require(isinstance(value, str) if field.type is str else is_number(value, field.type), complaint)


def is_number(value: Any, kind: Any) -> bool:
    """Whether a value is of this kind: an integer, a boolean, or, for float, any real number."""
    allowed = {int: (int, np.integer), bool: (bool, np.bool_), float: (int, float, np.integer, np.floating)}[kind]
    return isinstance(value, allowed)


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
