"""A model that grows as far as the criterion says it should."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from logikern.criteria.base import count_cases
from logikern.kernels.base import Kernel, leaves
from logikern.kernels.parameters import RATES
from logikern.kernels.stationary import DistanceKernel
from logikern.numerics.outcome import Array, Indices
from logikern.selection.inheritance import inherit_curvature, trace_parameters
from logikern.selection.policy import USUAL
from logikern.selection.prior import NestedPrior, NormalPrior
from logikern.selection.search import Effort, Found, SearchData, SearchLog, Task, free_parameters, minimise
from logikern.structure.mixing import Mixing
from logikern.structure.specification import Specification
from logikern.structure.tying import Tying, ever_finer, tie


@dataclass(frozen=True)
class Verdict:
    """What a stage tried and what came of it.

    Attributes
    ----------
    stage : str
    n_parameters : int
    value : float
        Criterion at its optimum.
    gain : float
        Mean loss that it saves against the model kept before, case by case; nan for the first.
    optimism : float
        Expected gain of as many more hyperparameters that only fit noise.
    noise : float
        Standard error of the gain.
    kept : bool
    """

    stage: str
    n_parameters: int
    value: float
    gain: float
    optimism: float
    noise: float
    kept: bool

    @property
    def fate(self) -> str:
        """What was decided, in words; a model that is asked for need not be better."""
        if not self.kept:
            return "not better"
        if np.isnan(self.gain):
            return "first model"
        return "better" if self.gain - self.optimism > self.noise else "asked for"

    def __str__(self) -> str:
        tried = f"{self.stage} ({self.n_parameters} hyperparameters): criterion {self.value:.4f}"
        if np.isnan(self.gain):
            return f"{tried}; {self.fate}."
        return f"{tried}, gain {self.gain:z.4f}, noise {self.noise:.4f}, chance {self.optimism:.4f}; {self.fate}."


@dataclass(frozen=True)
class Plan:
    """Which models are tried."""

    tyings: tuple[tuple[str, Tying], ...]  # in the order of growth
    # Whether a later model must beat the earlier one; otherwise the last is wanted, the others lead to it.
    compare: bool
    relevance: bool  # whether a rate per input is tried after them (`compare`), or wanted (not `compare`)
    n_inputs: int
    n_points: int  # that the model is for, of which the rungs are parts
    learn_bias: bool = False
    n_starts: int = 1
    grow_last: bool = False  # whether it is on the last rung that the first model grows, rather than on the first
    n_given: int = 1  # tyings that need not beat the one before; the last of them is the coarsest that may result
    columns: tuple[int, ...] | None = None  # column of every input; inputs of one column of a table share a rate

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the models that are tried, in their order."""
        return (*(name for name, _ in self.tyings), *(["rate per input"] * self.relevance))


@dataclass(frozen=True, eq=False)
class Learned:
    """What a search found, and the story of it."""

    specification: Specification
    value: float
    verdicts: tuple[Verdict, ...]


def plan_tyings(
    tying: str | dict | Sequence, mixing: Mixing, excluded: Collection[str] = ()
) -> tuple[tuple[str, Tying], ...]:
    """The path of growth: from one shared kernel to the tying asked for; "auto" tries all that are not excluded."""
    if isinstance(tying, str) and tying == "auto":
        path = {name: tie(name, mixing) for name in ever_finer(mixing) if name not in excluded}
    else:
        path = {"shared": tie("shared", mixing), tying if isinstance(tying, str) else "groups": tie(tying, mixing)}
    # Different names may mean the same model: a tree of one level has one variance per level. The first one stays.
    names = {own: name for name, own in reversed(path.items())}
    return tuple((name, own) for name, own in path.items() if names[own] == name)


def learn(
    start: Specification,
    plan: Plan,
    rungs: Sequence[SearchData],
    effort: Effort,
    log: SearchLog,
    random: np.random.Generator,
) -> Learned | None:
    """Grow on the first rung, then finish what was kept on the later, larger ones.

    Or the first model is learned on one after the other, and grows on the last: where that is far larger, what is
    best on the first says little about it.

    The start has one shared kernel, at hyperparameters read off the data; `random` draws further starts.
    """
    last = replace(effort, relative_worth=3 * effort.relative_worth, small_steps=1)
    growth = _Growth(plan, rungs[0], last if plan.grow_last else effort, log, start)
    growth.begin(random)
    if growth.best is None:
        return None
    if plan.grow_last and not log.stopped:
        growth.approach(rungs[1:])
    for name, candidate, is_given in growth.candidates():
        if log.stopped:
            break
        growth.consider(name, candidate, is_given)
    best = growth.best
    if plan.grow_last:
        specification = shift_variances(best.specification, growth.trend(plan.n_points))
        return Learned(specification, best.value, tuple(growth.verdicts))
    specification = best.specification
    for rung in rungs[1:]:
        if log.stopped:
            break
        task = growth.task(f"finish on {rung.n_points} points", best.specification)
        free = free_parameters(best.specification, plan.learn_bias)
        best = minimise(best.specification, free, rung, last, task, log, best.inverse_hessian) or best
        specification = best.specification
        if not log.stopped:  # where a stage was stopped is no optimum to extrapolate from
            sizes = (rungs[0].n_points, rung.n_points, plan.n_points)
            specification = extrapolate_rates(growth.best.specification, best.specification, sizes)
    return Learned(specification, best.value, tuple(growth.verdicts))


def shift_variances(specification: Specification, shift: float) -> Specification:
    """The same with all log variances moved."""
    values = specification.log_parameters
    values[-1 - len(specification.variances) : -1] += shift
    return specification.with_log_parameters(values)


def extrapolate_rates(coarse: Specification, fine: Specification, sizes: tuple[int, int, int]) -> Specification:
    """The fine model with the rates that all points will want.

    More points resolve finer structure, so the best rates grow as a power of their number. The power is read off two
    searches, one for all rates: those of single classes are too noisy.

    Parameters
    ----------
    coarse, fine : Specification
        The same model, learned on few and on more points.
    sizes : tuple of int
        Points behind the coarse model, behind the fine one, and in all.
    """
    few, more, total = np.log(sizes)
    is_rate = np.array([role in RATES for kernel in fine.kernels for role in kernel.parameter_roles], dtype=bool)
    if not is_rate.any() or total <= more:
        return fine
    values = fine.log_parameters
    moved = (values - coarse.log_parameters)[: len(is_rate)][is_rate]
    power = np.clip(moved.mean() / (more - few), 0.0, USUAL.largest_power)
    values[: len(is_rate)][is_rate] += power * min(total - more, USUAL.longest_lever * (more - few))
    return fine.with_log_parameters(values)


class _Growth:
    """The model kept so far, and the verdicts that led to it."""

    def __init__(self, plan: Plan, rung: SearchData, effort: Effort, log: SearchLog, start: Specification):
        self.plan = plan
        self.start = start
        self.rung = rung
        self.effort = effort
        self.log = log
        self.best: Found | None = None
        self.verdicts: list[Verdict] = []
        self.path: list[tuple[float, float]] = []  # of the first model: log of the points, mean log variance

    def begin(self, random: np.random.Generator) -> None:
        """The first model of the plan, from one or more starts."""
        name, start = self.plan.tyings[0][0], self.start
        free = free_parameters(start, self.plan.learn_bias)
        for number in range(self.plan.n_starts):
            origin = start
            if number:
                shift = USUAL.start_spread * random.standard_normal(len(free)) * free
                origin = start.with_log_parameters(start.log_parameters + shift)
            found = minimise(origin, free, self.rung, self.effort, self.task(name, start), self.log)
            if found is not None and (self.best is None or found.objective < self.best.objective):
                self.best = found
            if self.log.stopped:
                break
        if self.best is not None:
            self.verdicts.append(Verdict(name, int(free.sum()), self.best.value, np.nan, 0.0, np.nan, True))
            self._mark()

    def approach(self, rungs: Sequence[SearchData]) -> None:
        """Learn the first model on more and more points, each time from where those before point to."""
        for rung in rungs:
            if self.best is None:
                break
            origin = shift_variances(self.best.specification, self.trend(rung.n_points))
            name, free = self.verdicts[0].stage, free_parameters(origin, self.plan.learn_bias)
            task = self.task(f"{name} on {rung.n_points} points", origin)
            found = minimise(origin, free, rung, self.effort, task, self.log, self.best.inverse_hessian)
            if found is None:
                break
            self.best = found
            self.rung = rung
            self.verdicts[0] = replace(self.verdicts[0], value=found.value)
            if self.log.stopped:
                self.path.clear()  # where it was stopped is no optimum, from which anything would follow
                break
            self._mark()

    def _mark(self) -> None:
        assert self.best is not None
        mean = float(np.mean(np.log(self.best.specification.variances)))
        self.path.append((float(np.log(self.rung.n_points)), mean))

    def trend(self, n_points: int) -> float:
        """By how much log variances will change from the last rung to so many points, by the last two rungs."""
        if len(self.path) < 2:
            return 0.0
        (few, before), (more, now) = self.path[-2:]
        power = np.clip((now - before) / (more - few), -USUAL.largest_variance_power, USUAL.largest_variance_power)
        return float(power * min(np.log(n_points) - more, USUAL.longest_lever * (more - few)))

    def candidates(self) -> Iterator[tuple[str, Specification, bool]]:
        """Each next model, from the optimum of the one kept before it, and whether it is wanted in any case."""
        assert self.best is not None
        given = self.best.specification
        for number, (name, tying) in enumerate(self.plan.tyings[1:], start=1):
            is_given = not self.plan.compare or number < self.plan.n_given
            yield name, spread(self.best.specification, tying), is_given
            given = self.best.specification if is_given else given
        if self.plan.relevance and _has_single_rates(self.best.specification):
            # A rate per input refines the least fine tying that the user accepts.
            finer = with_relevance(given, self.plan.n_inputs, self.plan.columns)
            yield "rate per input", finer, not self.plan.compare

    def task(self, name: str, specification: Specification) -> Task:
        """A stage and its prior, centred at the values read off the data.

        In a finer tying the mean of parameters that were one keeps the prior of that one; only deviations from the
        mean are charged in addition. Rates of inputs are pulled far below those of the data.
        """
        kernels = specification.kernels
        roles = [role if leaves(own) == [own] else "" for own in kernels for role in own.parameter_roles]
        is_rate = np.array(roles) == RATES[1]
        centre = spread(self.start, specification.tying)
        if not is_rate.any():
            scale = self._scale(self.start, USUAL.kernel_scale, USUAL.variance_scale)
            origins = trace_parameters(self.start, specification)
            free = free_parameters(specification, self.plan.learn_bias)
            return Task(name, NestedPrior(NormalPrior(scale), origins[free], scale), centre.log_parameters)
        if _has_single_rates(centre):
            centre = with_relevance(centre, self.plan.n_inputs, self.plan.columns)
        # With all rates pulled down a variance would rise without end to make up for them.
        of_kernels = np.where(is_rate, USUAL.relevance_scale, USUAL.kernel_scale)
        scale = self._scale(specification, of_kernels, USUAL.variance_scale_beside_relevance)
        pulled = np.zeros(len(scale))
        pulled[: len(is_rate)][is_rate] = USUAL.relevance_centre
        return Task(name, NormalPrior(scale, pulled), centre.log_parameters)

    def _scale(self, specification: Specification, of_kernels: float | Array, of_others: float) -> Array:
        """Standard deviations of all free log parameters, those of kernels first."""
        scale = np.full(int(free_parameters(specification, self.plan.learn_bias).sum()), of_others)
        scale[: sum(len(kernel.log_parameters) for kernel in specification.kernels)] = of_kernels
        return scale

    def consider(self, name: str, candidate: Specification, is_given: bool) -> None:
        """Search, compare case by case with the model kept so far, and keep the better one, or what is given.

        A parameter without effect still lowers a minimised criterion, by about half a unit of log likelihood over
        all held-out cases (Wilks): without this charge a rate for each of many inputs always seems to win.
        """
        assert self.best is not None
        free = free_parameters(candidate, self.plan.learn_bias)
        before = free_parameters(self.best.specification, self.plan.learn_bias)
        criterion = self.rung.criterion
        optimism = 0.5 * (int(free.sum()) - int(before.sum())) / criterion.n_cases
        effort = self.effort if is_given else replace(self.effort, hurdle=USUAL.hurdle * optimism)
        inherited = inherit_curvature(self.best.inverse_hessian, self.best.specification, candidate, free)
        task = self.task(name, candidate)
        found = minimise(candidate, free, self.rung, effort, task, self.log, inherited, self.best)
        if found is None:
            return
        gain, noise = paired_gain(self.best.losses, found.losses, criterion.loss_weights, criterion.loss_points)
        kept = is_given or gain - optimism > noise
        self.verdicts.append(Verdict(name, int(free.sum()), found.value, gain, optimism, noise, kept))
        if kept:
            self.best = found
        if kept and self.log.stopped:
            self.path.clear()  # the variances found are not those of an optimum: nothing follows from them


def paired_gain(before: Array, after: Array, weights: Array, points: Indices) -> tuple[float, float]:
    """Weighted mean of the losses saved, and its standard error; losses of the same point are one case.

    All arguments have shape (n_losses,).
    """
    counts = np.bincount(points)
    total = float(weights.sum())
    gain = float(weights @ (before - after)) / total
    deviations = np.bincount(points, weights=weights * (before - after - gain)) / total
    of_points = np.bincount(points, weights=weights) / np.maximum(counts, 1)
    present = counts > 0
    variance = float(np.sum(deviations[present] ** 2 / of_points[present]))
    # Bessel's correction n / (n - 1), bounded for next to one case.
    return gain, float(np.sqrt(variance / max(1.0 - 1.0 / count_cases(weights, points), 0.5)))


def spread(specification: Specification, tying: Tying) -> Specification:
    """The same functions under a finer tying: each class keeps its kernel and its variance."""
    kernels: list[Kernel | None] = [None] * tying.n_kernels
    variances = [1.0] * tying.n_variances
    for number, (kernel, variance) in enumerate(zip(tying.kernel_of, tying.variance_of, strict=True)):
        kernels[kernel] = specification.kernels[specification.tying.kernel_of[number]]
        variances[variance] = specification.variances[specification.tying.variance_of[number]]
    return replace(
        specification,
        kernels=tuple(kernel for kernel in kernels if kernel is not None),
        variances=tuple(variances),
        tying=tying,
    )


def with_relevance(
    specification: Specification, n_inputs: int, columns: tuple[int, ...] | None = None
) -> Specification:
    """The same kernels with a rate for each input, or for each column that several inputs encode.

    Parameters
    ----------
    specification : Specification
    n_inputs : int
    columns : tuple of int or None, default=None
        Column of every input; None gives each input a rate of its own. Columns that a kernel names take precedence.
    """
    kernels = tuple(
        kernel.spread_rate(n_inputs, columns)
        for kernel in specification.kernels
        if isinstance(kernel, DistanceKernel) and isinstance(kernel.rate, float)
    )
    return replace(specification, kernels=kernels)


def _has_single_rates(specification: Specification) -> bool:
    return all(
        isinstance(kernel, DistanceKernel) and RATES[0] in kernel.parameter_roles for kernel in specification.kernels
    )
