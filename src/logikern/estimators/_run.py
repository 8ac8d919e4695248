"""From the estimator's arguments to objects: names are looked up here, once."""

import contextlib
import copy
import logging
import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from logikern.estimators import _memory
from logikern.estimators._failures import refuse_failure
from logikern.estimators._inputs.arguments import (
    check_choice,
    check_flag,
    check_name,
    check_positive,
    check_whole,
    is_auto,
)
from logikern.estimators._inputs.data import TrainingData, make_kernel, parse_memory, parse_numbers
from logikern.estimators._inputs.weights import weight_unit
from logikern.fitting.footprint import NEWTON_ARRAYS, functions
from logikern.fitting.functional_cg import KernelGradient
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.free_bias import FreeBias
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.pairwise.joint_rows import MOST_COUPLINGS
from logikern.fitting.pairwise.solver import Smo
from logikern.fitting.preconditioning.adaptive import LowRankConditioning
from logikern.fitting.problem import FitResult, InterruptedFitError, Problem
from logikern.kernels import Kernel, KernelRows, reference_points
from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.softmax import Softmax
from logikern.model.defaults import default_rate, default_variance
from logikern.numerics.outcome import Array, NewtonStep, Outcome
from logikern.numerics.parallel import own_threads
from logikern.operators.choose import OPERATORS, Choice, choose
from logikern.structure.covariance import ClassCovariance
from logikern.structure.specification import Specification
from logikern.structure.tying import tie

# Below this many points factors are cheaper than the bookkeeping of conjugate gradients.
EXACT_UP_TO = 100
# And of the squared loss, which takes one of them.
EXACT_UP_TO_WHERE_QUADRATIC = 1500
EXACT_TOLERANCE = 1e-10
# Classes times points from which pairwise training of one kernel is faster than Newton's method
# (letter in benchmarks/solvers.py); with a hierarchy as well (imclef07a in benchmarks/hierarchy_cost.py).
PAIRS_FROM = 200_000
FREE_BIAS_TOLERANCE = 1e-8
# Of conjugate gradients so many steps are allowed where one of Newton's would be.
GRADIENT_STEPS = 100
# And so many sweeps.
SWEEPS = 20
# Of the memory allowed, the parts that the preconditioner and kept kernel rows may take.
CONDITIONING_SHARE = 0.15
ROWS_SHARE = 0.3

# Of the memory allowed, the part that coefficients and latents may take in double precision where "auto" decides.
STATE_SHARE = 0.5
# A tolerance below this is not for single precision.
FINEST_SINGLE = 1e-5

# More threads than any machine has cores: beyond the range of the libraries that start them.
MOST_THREADS = 100_000

logger = logging.getLogger("logikern")


def check(estimator: Any) -> None:
    """Refuse arguments of a classifier that make no sense, before any work."""
    check_name("state_precision", estimator.state_precision, ("auto", "single", "double"))
    check_fit(estimator, ("cv", "loo", "auto"), tuple(_SOLVERS))
    check_choice("sharpen", estimator.sharpen)
    check_flag("one_vs_rest", estimator.one_vs_rest)
    if np.isinf(estimator.bias_variance) and estimator.hierarchy is not None:
        raise ValueError(
            "`bias_variance` is infinite, which a hierarchy does not allow. Use a large finite value such as 1e4."
        )


def check_fit(estimator: Any, criteria: tuple[str, ...], solvers: tuple[str, ...] | None = None) -> None:
    """Refuse what makes no sense for any estimator; unless told, all solvers but that of classes alone will do."""
    check_name("solver", estimator.solver, solvers or tuple(name for name in _SOLVERS if name != "smo"))
    check_name("operator", estimator.operator, ("auto", *OPERATORS))
    check_name("precision", estimator.precision, ("auto", "single", "double"))
    check_positive("tol", estimator.tol)
    check_whole("max_iter", estimator.max_iter, 1)
    bias = estimator.bias_variance
    if not isinstance(bias, numbers.Real) or not bias >= 0:
        raise ValueError(
            f"`bias_variance` must be a number that is not negative, but is {bias!r}. Pass 0 to leave constants out."
        )
    _check_search(estimator, criteria)
    if np.isinf(bias):
        _check_free_bias(estimator)
    if not isinstance(estimator.verbose, numbers.Integral) or estimator.verbose < 0:
        raise ValueError(f"`verbose` must be a whole number of at least 0, but is {estimator.verbose!r}.")
    n_jobs = estimator.n_jobs
    counts = isinstance(n_jobs, numbers.Integral) and (n_jobs == -1 or 1 <= n_jobs <= MOST_THREADS)
    if n_jobs is not None and not counts:
        raise ValueError(f"`n_jobs` must be None, -1 or a positive number up to {MOST_THREADS}, but is {n_jobs!r}.")
    check_random_state(estimator.random_state)
    parse_memory(estimator.memory_limit)


def _check_search(estimator: Any, criteria: tuple[str, ...]) -> None:
    known = estimator.criterion is None or (isinstance(estimator.criterion, str) and estimator.criterion in criteria)
    if not known:
        raise ValueError(
            f"`criterion` must be {', '.join(map(repr, criteria))} or None (fixed hyperparameters), but is "
            f"{estimator.criterion!r}."
        )
    check_name("optimizer", estimator.optimizer, ("quasi-newton", "nelder-mead"))
    if isinstance(estimator.cv, numbers.Integral) and estimator.cv < 2:
        raise ValueError(f"`cv` must be at least 2 folds, a splitter or splits, but is {estimator.cv!r}.")
    check_choice("ard", estimator.ard)
    check_flag("learn_bias", estimator.learn_bias)
    if estimator.search_size is not None and not is_auto(estimator.search_size):
        check_whole("search_size", estimator.search_size, 10)
    check_whole("n_starts", estimator.n_starts, 1)
    if estimator.max_time is not None:
        check_positive("max_time", estimator.max_time)


def _check_free_bias(estimator: Any) -> None:
    """Constants without a penalty are there for dense factors alone."""
    wrong = {
        "criterion='cv'": estimator.criterion == "cv",
        f"solver={estimator.solver!r}": estimator.solver not in ("auto", "exact"),
        f"operator={estimator.operator!r}": estimator.operator not in ("auto", "dense"),
        "learn_bias=True": bool(estimator.learn_bias),
    }
    for setting, found in wrong.items():
        if found:
            _refuse_free_bias(setting)


def _refuse_free_bias(setting: str) -> None:
    raise ValueError(
        f"`bias_variance` is infinite, which {setting} does not allow. Use criterion='loo' or None with the "
        "exact solver, or a large finite value such as 1e4."
    )


def forget_fit(estimator: Any) -> None:
    """Remove what an earlier fit left: a fit that fails must not leave parts of two."""
    own = ("_training", "_left_out", "_seed")
    for name in [name for name in vars(estimator) if name in own or (name.endswith("_") and name[0] != "_")]:
        delattr(estimator, name)


def grows(estimator: Any) -> bool:
    """Whether the search decides how classes share kernels; `tying` may be a list or an array as well."""
    return isinstance(estimator.tying, str) and estimator.tying == "auto"


def specification(estimator: Any, data: TrainingData) -> Specification:
    """Kernels and variances, read off the data where they are not given.

    Where they are learned all classes share them at first, unless values are given for each.
    """
    learned = estimator.criterion is not None and (estimator.variance is None or np.ndim(estimator.variance) == 0)
    wanted = "shared" if grows(estimator) else estimator.tying
    tie(wanted, data.mixing)  # refused before any work
    tying = tie("shared" if learned else wanted, data.mixing)
    kernel = make_kernel(estimator.kernel, estimator.rate, lambda name: default_rate(name, data.points, data.weights))
    _check_diagonal(kernel, data)
    kernels = (kernel,) * tying.n_kernels
    return Specification(
        kernels,
        _variances(estimator, kernel, data, tying.n_variances),
        float(estimator.bias_variance),
        tying,
        data.tree,
    )


def _check_diagonal(kernel: Kernel, data: TrainingData) -> None:
    """k(x, x) tells a kernel that is none, and inputs too large for it, at the cost of one pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = np.asarray(kernel.diagonal(data.points), dtype=float)
    wrong = np.flatnonzero(~((diagonal >= -1e-8 * diagonal.max(initial=0.0)) & (diagonal < np.inf)))
    if wrong.size:
        raise ValueError(
            f"A kernel must be finite and positive semidefinite, but k(x, x) is {diagonal[wrong[0]]:g} for row "
            f"{data.kept[wrong[0]]} of `X`. Scale the inputs, or correct the kernel."
        )


def _variances(estimator: Any, kernel: Any, data: TrainingData, n_variances: int) -> tuple[float, ...]:
    given = estimator.variance
    if given is None:
        whole = default_variance(kernel, data.points, data.weights)
        # A search starts from the same model whatever the unit of small weights.
        unit = 1.0 if estimator.criterion is None else weight_unit(data.weights)
        return (whole / (unit * _path_length(data)),) * n_variances
    values = (given,) * n_variances if isinstance(given, numbers.Real) else parse_numbers("variance", given)
    if len(values) != n_variances:
        raise ValueError(
            f"`variance` must be one number or one per variance of the model, but has {len(values)} values "
            f"where tying={estimator.tying!r} has {n_variances}."
        )
    for value in values:
        check_positive("variance", value)
    return tuple(map(float, values))


def _path_length(data: TrainingData) -> float:
    """How many latent functions a class function is the sum of, on average."""
    if data.tree is None:
        return 1.0
    return float(data.tree.latent_depths[data.tree.leaf_latents].mean())


def choice(estimator: Any, chosen: Specification, data: TrainingData, dtype: np.dtype) -> Choice:
    """How products are computed; refused where the memory does not suffice."""
    # Factors of few points gain no time from single precision, and conjugate gradients lose twice the steps by it.
    unrounded = {"exact": True, "kcg": estimator.precision == "auto"}
    name = final_solver_name(estimator, chosen, data)
    double = unrounded.get(name, False)
    by_rows = name == "smo" and estimator.operator == "auto"
    result = choose(
        chosen.kernels,
        data.points,
        "dense" if np.isinf(estimator.bias_variance) else "tiled" if by_rows else estimator.operator,
        "double" if double else estimator.precision,
        room_for(estimator, chosen, data, dtype),
        _memory.fit_matrices(chosen.kernels[0], data, len(chosen.kernels)),
    )
    if by_rows:
        return replace(result, reason="Rows of the kernel matrix are computed as pairwise training needs them.")
    if result.name == "tiled" and estimator.operator == "auto":
        logger.info(result.reason)
    return result


def draw_seed(estimator: Any) -> int:
    """The next seed from `random_state`."""
    return int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))


def room_for(estimator: Any, chosen: Specification, data: TrainingData, dtype: np.dtype) -> float:
    """Bytes for kernel values and preconditioner of the final fit of a specification."""
    size = _memory.size_of(data, chosen.tying, itemsize=dtype.itemsize)
    return _memory.room_for_fit(estimator, data, final_solver_name(estimator, chosen, data), size, chosen.kernels[0])


def _newton(estimator: Any, memory: float) -> Newton:
    seed = draw_seed(estimator)
    conditioning = LowRankConditioning(memory=CONDITIONING_SHARE * memory, seed=seed)
    return Newton(float(estimator.tol), Budget(newton=int(estimator.max_iter)), conditioning, seed=seed)


def _exact(estimator: Any, memory: float) -> Exact:
    # Newton converges quadratically: the digits beyond `tol` cost one more step.
    return Exact(min(float(estimator.tol), EXACT_TOLERANCE), Budget(newton=int(estimator.max_iter)))


def _kernel_gradient(estimator: Any, memory: float) -> KernelGradient:
    steps = GRADIENT_STEPS * int(estimator.max_iter)
    return KernelGradient(float(estimator.tol), Budget(newton=steps, products=2 * steps))


def _smo(estimator: Any, memory: float) -> Smo:
    sweeps = SWEEPS * int(estimator.max_iter)
    budget = Budget(newton=sweeps, products=2 * sweeps)
    return Smo(float(estimator.tol), budget=budget, memory=ROWS_SHARE * memory, seed=draw_seed(estimator))


_SOLVERS: dict[str, Callable[[Any, float], Any]] = {
    "auto": _newton,
    "newton": _newton,
    "exact": _exact,
    "kcg": _kernel_gradient,
    "smo": _smo,
}


def final_solver(estimator: Any, chosen: Specification, data: TrainingData, memory: float) -> Any:
    """The solver of that name; "auto" goes by size."""
    if np.isinf(estimator.bias_variance):
        return FreeBias(min(float(estimator.tol), FREE_BIAS_TOLERANCE), Budget(newton=int(estimator.max_iter)))
    return _SOLVERS[final_solver_name(estimator, chosen, data)](estimator, memory)


def final_solver_name(estimator: Any, chosen: Specification, data: TrainingData) -> str:
    """The name for the fit to all points, where pairwise training may pay as well."""
    name = solver_name(estimator, len(data.weights), data.likelihood)
    plain = isinstance(data.likelihood, Softmax) and estimator.operator == "auto"
    if name != "auto" or not plain or len(chosen.kernels) > 1 or len(data.classes) ** 2 > MOST_COUPLINGS:
        return name
    many = len(data.classes) * len(data.weights) >= PAIRS_FROM
    return "smo" if many and chosen.kernels[0].features(data.points[:1]) is None else name


def solver_name(estimator: Any, n_points: int, likelihood: Likelihood) -> str:
    """The name, with "auto" decided."""
    if np.isinf(estimator.bias_variance):
        return "exact"
    # Labels that are completed in every step take many steps: the digits beyond `tol` cost more than all others.
    largest = EXACT_UP_TO_WHERE_QUADRATIC if likelihood.is_quadratic else EXACT_UP_TO
    coupled = getattr(estimator, "hierarchy", None) is not None  # one matrix for all classes together
    few = n_points <= largest and likelihood.majoriser is likelihood and not coupled
    return "exact" if estimator.solver == "auto" and few else estimator.solver


def refitting_solver(bias_variance: float, tolerance: float, memory: float, seed: int) -> Any:
    """The solver for many fits to nearly the same rows, with a preconditioner of so many bytes."""
    if np.isinf(bias_variance):
        return FreeBias(tolerance)
    return Newton(tolerance, conditioning=LowRankConditioning(memory=memory, seed=seed), seed=seed)


def threads(n_jobs: int | None) -> contextlib.AbstractContextManager[None]:
    """A context with at most that many threads; None and -1 take as many as the BLAS is allowed."""
    return own_threads(None if n_jobs == -1 else n_jobs)


def state_dtype(estimator: Any, data: TrainingData) -> np.dtype:
    """Of coefficients and latents: single on request, or where many classes of many rows would not fit."""
    if data.labels is None:
        return np.dtype(np.float64)  # of numbers there are few outputs
    double = functions(_memory.size_of(data, tie("shared", data.mixing)), NEWTON_ARRAYS)
    large = double > STATE_SHARE * _memory.allowed(estimator).n_bytes
    single = estimator.state_precision == "single" or (
        estimator.state_precision == "auto" and large and estimator.tol >= FINEST_SINGLE
    )
    return np.dtype(np.float32 if single else np.float64)


class Solved(NamedTuple):
    """A fit with the covariance that it was made with."""

    result: FitResult
    covariance: ClassCovariance


def solve(
    estimator: Any,
    chosen: Specification,
    data: TrainingData,
    dtype: np.dtype,
    watch: Callable[[NewtonStep], None],
    dual: Array | None = None,
) -> Solved:
    """Fit the model of a specification, from a dual (C, n) if given; how products are computed is kept."""
    how = choice(estimator, chosen, data, dtype)
    covariance = chosen.bind(how.points(data.points, len(chosen.kernels) > 1))
    targets, weights = data.targets.astype(dtype, copy=False), data.weights[None].astype(dtype, copy=False)
    problem = Problem(covariance, data.likelihood, targets, weights)
    method = final_solver(estimator, chosen, data, how.memory)
    try:
        result = method.fit(problem, callback=watch) if dual is None else method.resume(problem, dual[None], watch)
    except InterruptedFitError as interruption:
        if not estimator.verdicts_ or not interruption.result.trace or not interruption.result.dual.any():
            raise
        result = interruption.result  # what the search found would be lost
    ended = result.outcome.converged or result.outcome is Outcome.INTERRUPTED
    if estimator.solver == "auto" and isinstance(method, Smo) and not ended:
        # The user did not choose this solver, so another one continues where it stopped.
        other = copy.copy(estimator)
        other.solver = "newton"
        onward = result.dual[0] if np.isfinite(result.dual).all() else dual
        solved = solve(other, chosen, data, dtype, watch, onward)
        estimator.operator_ = other.operator_
        return solved._replace(result=solved.result.after(result))
    refuse_failure(result, chosen.kernels[0], data.points)
    estimator.operator_ = how.reason
    return Solved(result, covariance)


def stored_points(data: TrainingData) -> Any:
    """What of the training points prediction needs: of a given kernel matrix only their places."""
    return reference_points(data.kept) if isinstance(data.points, KernelRows) else data.points
