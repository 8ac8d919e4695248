"""Checks of single arguments. Each raises a ValueError that says what was expected."""

import difflib
import numbers
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from logikern.structure.links import shown

# Names of our kernels, solvers and criteria in other libraries and papers.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "rbf": ("gaussian",),
    "se": ("gaussian",),
    "squared_exponential": ("gaussian",),
    "exponential": ("matern12",),
    "laplace": ("laplacian",),
    "matern": ("matern52",),
    "rq": ("rational_quadratic",),
    "poly": ("polynomial",),
    "dot_product": ("linear",),
    "newton_cg": ("newton",),
    "lbfgs": ("newton", "quasi-newton"),
    "bfgs": ("quasi-newton",),
    "cholesky": ("exact",),
    "cg": ("kcg",),
    "cross_validation": ("cv",),
    "kfold": ("cv",),
    "leave_one_out": ("loo",),
    "loocv": ("loo",),
    "float32": ("single",),
    "float64": ("double",),
}


def check_whole(argument: str, value: Any, least: int, other: str = "") -> None:
    """Raise unless the value is an integer of at least `least`; `other` says what else may be passed."""
    if not is_number(value, numbers.Integral) or value < least:
        raise ValueError(f"`{argument}` must be {other}an integer of at least {least}, but is {shown(value)}.")


def check_path(argument: str, value: Any) -> None:
    """Raise unless the value is a path or None."""
    if not (value is None or isinstance(value, str | os.PathLike)):
        raise ValueError(f"`{argument}` must be None or a path, but is {shown(value)}.")


def check_name(argument: str, value: Any, names: tuple[str, ...], other: str = "") -> None:
    """Raise unless the value is one of the names; `other` says what else may be passed."""
    if not (isinstance(value, str) and value in names):
        told = f"`{argument}` must be one of {list(names)}{other and f' {other}'}, but is {shown(value)}."
        raise ValueError(f"{told}{suggest(value, names)}")


def suggest(value: Any, names: Iterable[str]) -> str:
    """ " Did you mean ...?" with the name that was probably meant; empty if no name is similar."""
    known = [str(name) for name in names]  # members of an Enum have a different repr
    if not isinstance(value, str):
        return ""
    spelled = value.lower().replace("-", "_").replace(" ", "_")
    meant = [name for name in _SYNONYMS.get(spelled, ()) if name in known]
    plain = {name.replace("-", "_"): name for name in known}
    meant += [plain[near] for near in difflib.get_close_matches(spelled, plain, n=1)]
    return f" Did you mean {meant[0]!r}?" if meant else ""


def check_choice(argument: str, value: Any) -> None:
    """Raise unless the value is "auto", True or False."""
    if not (isinstance(value, bool | np.bool_) or is_auto(value)):
        raise ValueError(f"`{argument}` must be 'auto', True or False, but is {shown(value)}.")


def check_flag(argument: str, value: Any) -> None:
    """Raise unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"`{argument}` must be True or False, but is {shown(value)}.")


def is_number(value: Any, kind: type = numbers.Real) -> bool:
    """Whether the value is a number; True and False are not."""
    return isinstance(value, kind) and type(value) is not bool


def is_auto(value: Any) -> bool:
    """Whether a setting is "auto"; comparing an array with text would give an array."""
    return isinstance(value, str) and value == "auto"


def check_positive(argument: str, value: Any) -> None:
    """Raise unless the value is a positive finite number."""
    if not is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"`{argument}` must be a positive number, but is {shown(value)}.")
