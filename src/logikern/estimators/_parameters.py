"""The arguments of an estimator as one record, checked before any work begins."""

import numbers
import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from logikern.encoding.roles import list_chosen
from logikern.encoding.scaling import SCALINGS
from logikern.estimators._cells.settings import NAME as NEIGHBOURHOODS
from logikern.estimators._cells.settings import NeighbourhoodSettings, check_neighbourhoods, is_divided
from logikern.estimators._inputs.arguments import (
    check_choice,
    check_flag,
    check_name,
    check_path,
    check_positive,
    check_whole,
    is_auto,
    is_number,
    suggest,
)
from logikern.estimators._names.criteria import CRITERIA
from logikern.estimators._names.solvers import SOLVERS
from logikern.fitting.problem import Solver
from logikern.operators.choose import OPERATORS

LEARN = "learn"  # as `hierarchy`
TYINGS_TO_LEARN = ("auto", "shared", "scaled", "separate")
PRECISIONS = ("auto", "single", "double")
# Thread libraries do not accept larger numbers.
MOST_THREADS = 100_000
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


@dataclass(frozen=True, eq=False, kw_only=True)
class Parameters:
    """Arguments as passed; arguments that a regressor does not have keep their defaults.

    Parameters
    ----------
    owner : str
        Name of the estimator's class, for error messages.
    memory_limit : float or None
        In bytes.
    others :
        See `KernelLogisticClassifier`.
    """

    owner: str
    kernel: Any
    categorical_features: Any
    inputs: str
    hierarchy: Any = None
    label_kernel: Any = None
    coupling: Any = None
    tying: Any
    rate: Any
    variance: Any
    bias_variance: Any
    criterion: Any
    cv: Any
    ard: bool | str
    learn_bias: bool
    sharpen: bool | str = False
    one_vs_rest: bool = False
    search_size: int | str | None
    optimizer: str
    n_starts: int
    max_time: float | None
    checkpoint: Any
    on_interrupt: str
    solver: str | Solver
    operator: Any
    precision: str
    state_precision: str = "double"
    tol: float
    max_iter: int
    class_weight: Any = None
    memory_limit: float | None
    n_jobs: Any
    random_state: Any
    verbose: Any

    @property
    def grows(self) -> bool:
        """Whether the search decides how classes share kernels; `tying` may be a list or an array as well."""
        return is_auto(self.tying)

    @property
    def divides(self) -> bool:
        """Whether the user requests neighbourhoods."""
        return is_divided(self.operator)

    @property
    def products(self) -> Any:
        """How kernel products are computed, in a neighbourhood or on all points."""
        return "auto" if self.divides else self.operator

    @property
    def learns_tree(self) -> bool:
        """Whether a hierarchy of the classes is learned."""
        return isinstance(self.hierarchy, str) and self.hierarchy == LEARN

    @property
    def is_bias_free(self) -> bool:
        """Whether constants have no penalty."""
        return bool(self.bias_variance == np.inf)

    def draw_seed(self) -> int:
        """The next seed from `random_state`."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))


def read_parameters(estimator: Any) -> Parameters:
    """Arguments of a classifier or regressor, unchecked except for `memory_limit`."""
    given = estimator.get_params(deep=False)
    own = {field.name: given[field.name] for field in fields(Parameters) if field.name in given}
    return Parameters(
        **own | {"owner": type(estimator).__name__, "memory_limit": parse_memory(given["memory_limit"])}
    )


def check_classification(parameters: Parameters) -> None:
    """Reject invalid arguments of a classifier, before any work."""
    check_name("state_precision", parameters.state_precision, PRECISIONS)
    _check(parameters, (*CRITERIA, "auto"), [name for name in SOLVERS if name != "free bias"])
    check_choice("sharpen", parameters.sharpen)
    check_flag("one_vs_rest", parameters.one_vs_rest)
    _check_structure(parameters)


def _check_structure(parameters: Parameters) -> None:
    """Reject structures of classes that exclude each other, and settings that they exclude."""
    _check_coupling(parameters)
    structures = {name: getattr(parameters, name) for name in ("hierarchy", "label_kernel", "coupling")}
    named = [name for name, value in structures.items() if value is not None]
    if len(named) > 1:
        raise ValueError(
            f"`{named[0]}` and `{named[1]}` both say how classes are related, so only one of them can be set. Set "
            "the other to None."
        )
    if named and parameters.is_bias_free:
        what = "a hierarchy" if named[0] == "hierarchy" else f"`{named[0]}`"
        raise ValueError(
            f"`bias_variance` is infinite, which {what} does not allow. Use a large finite value such as 1e4."
        )
    if parameters.learns_tree and (parameters.criterion is None or callable(parameters.criterion)):
        raise ValueError(
            f"`hierarchy='learn'` compares a tree with independent classes by a criterion, but `criterion` is "
            f"{parameters.criterion!r}. Use criterion='cv' or 'loo', or pass a known hierarchy."
        )
    if parameters.learns_tree and not (isinstance(parameters.tying, str) and parameters.tying in TYINGS_TO_LEARN):
        raise ValueError(
            f"With hierarchy='learn', `tying` must be one of {list(TYINGS_TO_LEARN)}, which are valid with and "
            f"without a tree, but is {parameters.tying!r}."
        )
    if named and (named[0] != "hierarchy" or parameters.learns_tree) and parameters.one_vs_rest:
        raise ValueError(
            f"`one_vs_rest` is True, but `{named[0]}` couples classes, which are then fitted together. Use "
            f"one_vs_rest=False, or {named[0]}=None."
        )


def _check_coupling(parameters: Parameters) -> None:
    """Reject invalid numbers of factors, and settings with which factors cannot be learned."""
    coupling, criterion = parameters.coupling, parameters.criterion
    if coupling is None:
        return
    if not is_auto(coupling) and not (is_number(coupling, numbers.Integral) and coupling >= 1):
        raise ValueError(f"`coupling` must be 'auto', a number of factors or None, but is {coupling!r}.")
    if criterion is None or callable(criterion):
        raise ValueError(
            f"`coupling` is learned by the gradient of a criterion, but `criterion` is {criterion!r}. Use "
            "criterion='cv' or 'loo', or `label_kernel` for a known coupling."
        )
    if parameters.optimizer != "quasi-newton":
        raise ValueError(
            f"`coupling` has too many parameters for optimizer={parameters.optimizer!r}. Use 'quasi-newton'."
        )


def check_regression(parameters: Parameters) -> None:
    """Reject invalid arguments of a regressor; pairwise coordinate ascent and neighbourhoods are for classes only."""
    if is_auto(parameters.kernel):
        raise ValueError(
            "`kernel` is 'auto', but only classifiers compare kernels. Name a kernel, such as 'gaussian'."
        )
    if parameters.divides:
        raise ValueError(
            f"`operator` is {parameters.operator!r}, but only classifiers can be fitted in neighbourhoods. "
            "Use operator='auto' and fewer rows."
        )
    _check(parameters, tuple(reversed(CRITERIA)), [name for name in SOLVERS if name not in ("smo", "free bias")])


def _check(parameters: Parameters, criteria: tuple[str, ...], solvers: Collection[str]) -> None:
    if not isinstance(parameters.solver, Solver):
        check_name("solver", parameters.solver, ("auto", *solvers), "or a Solver")
    if isinstance(parameters.operator, NeighbourhoodSettings):
        check_neighbourhoods(parameters.operator)
    elif not callable(parameters.operator):
        names = ("auto", *OPERATORS, NEIGHBOURHOODS)
        other = "or NeighbourhoodSettings, or a function that makes an operator"
        check_name("operator", parameters.operator, names, other)
    list_chosen(parameters.categorical_features)
    check_name("inputs", parameters.inputs, ("auto", *SCALINGS))
    check_name("precision", parameters.precision, PRECISIONS)
    check_positive("tol", parameters.tol)
    check_whole("max_iter", parameters.max_iter, 1)
    bias = parameters.bias_variance
    if not is_number(bias) or not bias >= 0:
        raise ValueError(f"`bias_variance` must be a non-negative number, but is {bias!r}. Pass 0 to omit biases.")
    _check_search(parameters, criteria)
    if parameters.is_bias_free:
        _check_free_bias(parameters)
    check_running(parameters.verbose, parameters.n_jobs, parameters.random_state)


def check_running(verbose: Any, n_jobs: Any, random_state: Any) -> None:
    """Reject invalid values of `verbose` and `n_jobs`, and invalid seeds."""
    if not isinstance(verbose, numbers.Integral) or verbose < 0:
        raise ValueError(f"`verbose` must be an integer of at least 0, but is {verbose!r}.")
    counts = is_number(n_jobs, numbers.Integral) and (n_jobs == -1 or 1 <= n_jobs <= MOST_THREADS)
    if n_jobs is not None and not counts:
        raise ValueError(f"`n_jobs` must be None, -1 or a positive number up to {MOST_THREADS}, but is {n_jobs!r}.")
    check_random_state(random_state)


def _check_search(parameters: Parameters, criteria: tuple[str, ...]) -> None:
    criterion = parameters.criterion
    named = isinstance(criterion, str) and criterion in criteria
    if not (criterion is None or named or callable(criterion)):
        raise ValueError(
            f"`criterion` must be {', '.join(map(repr, criteria))} or None (fixed hyperparameters), or a function "
            f"that makes a Criterion, but is {criterion!r}.{suggest(criterion, criteria)}"
        )
    check_name("optimizer", parameters.optimizer, ("quasi-newton", "nelder-mead"))
    if isinstance(parameters.cv, numbers.Integral) and parameters.cv < 2:
        raise ValueError(f"`cv` must be at least 2 folds, a splitter or splits, but is {parameters.cv!r}.")
    check_choice("ard", parameters.ard)
    check_flag("learn_bias", parameters.learn_bias)
    if parameters.search_size is not None and not is_auto(parameters.search_size):
        check_whole("search_size", parameters.search_size, 10, "'auto', None (all rows) or ")
    check_whole("n_starts", parameters.n_starts, 1)
    if parameters.max_time is not None:
        check_positive("max_time", parameters.max_time)
    check_name("on_interrupt", parameters.on_interrupt, ("raise", "keep"))
    check_path("checkpoint", parameters.checkpoint)


def _check_free_bias(parameters: Parameters) -> None:
    """Only dense factors support constants without a penalty."""
    wrong = {
        f"criterion={parameters.criterion!r}": parameters.criterion not in ("loo", "auto", None),
        f"solver={parameters.solver!r}": parameters.solver not in ("auto", "exact"),
        f"operator={parameters.operator!r}": parameters.operator not in ("auto", "dense"),
        "learn_bias=True": bool(parameters.learn_bias),
    }
    for setting in [setting for setting, found in wrong.items() if found]:
        raise ValueError(
            f"`bias_variance` is infinite, which {setting} does not allow. Use criterion='loo' or None with the "
            "exact solver, or a large finite value such as 1e4."
        )


def parse_memory(limit: Any) -> float | None:
    """Bytes from a number or from text like "500MB" and "1.5 GB"."""
    if limit is None:
        return None
    if is_number(limit):
        value = float(limit)
    else:
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)i?b?\s*", str(limit).lower())
        value = float(match[1]) * _UNITS[match[2]] if match else float("nan")
    if not 0 < value < np.inf:
        raise ValueError(
            f"`memory_limit` must be a number of bytes or text such as '500MB' or '2GB', but is {limit!r}."
        )
    return value
