"""A model that grows in stages, as long as the criterion improves."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from logikern.kernels.parameters import RATES
from logikern.selection.comparison import Comparison
from logikern.selection.factors import FactorStage, describe_factors, find_factors
from logikern.selection.inheritance import inherit_curvature, trace_parameters
from logikern.selection.judgement import Verdict, paired_gain
from logikern.selection.parts import gain_without_parts
from logikern.selection.policy import USUAL
from logikern.selection.prior import NestedPrior, NormalDeviations, NormalPrior, PartedPrior, StudentDeviations
from logikern.selection.refinement import (
    extrapolate_rates,
    has_single_rates,
    shift_variances,
    spread,
    with_relevance,
)
from logikern.selection.search import Effort, Found, SearchData, SearchLog, Task, free_parameters, minimise
from logikern.structure.mixing import Mixing
from logikern.structure.specification import Specification
from logikern.structure.tying import Tying, ever_finer, tie

Tyings = tuple[tuple[str, Tying], ...]

RELEVANCE = "rate per column"
COUPLING = "coupling"


@dataclass(frozen=True, eq=False)
class FirstModel:
    """One of the models with which growth may begin: a kernel on inputs of some scale."""

    name: str  # shown to users
    start: Specification  # one kernel for all classes, at hyperparameters estimated from the data
    # Points and criterion of a rung, from few points to many, for a search that continues from a specification.
    rung: Callable[[int, Specification], SearchData]
    # The start of a search, given the best model so far and its start; None if this model cannot be expected to win.
    origin: Callable[[Specification, Specification], Specification | None]


@dataclass(frozen=True)
class Plan:
    """Which models are tried."""

    tyings: Tyings  # from coarse to fine
    # Whether a later model must beat the earlier one; otherwise the last one is final, and the others lead to it.
    compare: bool
    relevance: bool  # whether a rate per column follows: as a candidate with `compare`, otherwise as the final model
    n_inputs: int
    n_points: int  # points of the final fit, of which the rungs are subsets
    learn_bias: bool = False
    n_starts: int = 1
    grow_last: bool = False  # whether the first model grows on the last rung instead of the first
    n_given: int = 1  # tyings that need not beat the previous one; the last of them is the coarsest that may result
    at_density: bool = False  # whether the rungs are as dense as all points, which then need no other rates
    columns: tuple[int, ...] | None = None  # column of every input; inputs of one column of a table share a rate
    # Number of factors that classes may share, kept in any case; `AUTO` if they must be better, None without factors.
    n_factors: int | None = None

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the models that may be tried, in order."""
        given, simple, costly = ([name for name, _ in own] for own in self.steps)
        return (*given, *[COUPLING] * (self.n_factors is not None), *simple, *[RELEVANCE] * self.relevance, *costly)

    @property
    def steps(self) -> tuple[Tyings, Tyings, Tyings]:
        """The tyings that need not be better, then those with one kernel, then those with several kernels."""
        last = self.n_given if self.compare else len(self.tyings)
        given, others = self.tyings[:last], self.tyings[last:]
        simple = tuple((name, tying) for name, tying in others if tying.n_kernels == 1)
        return given, simple, tuple((name, tying) for name, tying in others if tying.n_kernels > 1)


@dataclass(frozen=True, eq=False)
class Learned:
    """The result of a search, and how it was found."""

    specification: Specification
    value: float
    verdicts: tuple[Verdict, ...]
    first: FirstModel  # from which it grew
    rung: SearchData  # where it was learned last


def plan_tyings(tying: str | dict | Sequence, mixing: Mixing, excluded: Collection[str] = ()) -> Tyings:
    """The path of growth from one shared kernel to the requested tying; "auto" tries all that are not excluded."""
    if isinstance(tying, str) and tying == "auto":
        path = {name: tie(name, mixing) for name in ever_finer(mixing) if name not in excluded}
    else:
        path = {"shared": tie("shared", mixing), tying if isinstance(tying, str) else "groups": tie(tying, mixing)}
    # Different names may mean the same model: a tree of one level has one variance per level. The first one stays.
    names = {own: name for name, own in reversed(path.items())}
    return tuple((name, own) for name, own in path.items() if names[own] == name)


def learn(
    first_models: Sequence[FirstModel],
    plan: Plan,
    n_rungs: int,
    effort: Effort,
    log: SearchLog,
    random: np.random.Generator,
) -> Learned | None:
    """Grow the best first model on the first rung, then finish the kept model on the later, larger rungs.

    With `plan.grow_last`, the first model is learned on one rung after the other and grows on the last: if that is
    far larger, results on the first rung say little about it. `random` draws further starts.
    """
    last = replace(effort, relative_worth=3 * effort.relative_worth, small_steps=1)
    # Models that a later rung refines need not be searched to the end here.
    rough = replace(effort, relative_worth=USUAL.rough_worth * effort.relative_worth, small_steps=1)
    growth = _Growth(plan, last if plan.grow_last else rough if n_rungs > 1 else effort, log, first_models[0])
    growth.begin(random)
    for alternative in first_models[1:]:
        if growth.best is not None and not log.stopped:
            growth.compare(alternative)
    if growth.best is None:
        return None
    if plan.grow_last and not log.stopped:
        growth.approach(n_rungs)
    for name, candidate, is_given in growth.candidates():
        if log.stopped:
            break
        if candidate is None:
            growth.couple()
        else:
            growth.consider(name, candidate, is_given)
    if plan.grow_last:
        return growth.learned(shift_variances(growth.best.specification, growth.trend(plan.n_points)))
    return growth.finish(n_rungs, last)


class _Growth:
    """The model kept so far, and the verdicts that led to it."""

    def __init__(self, plan: Plan, effort: Effort, log: SearchLog, first: FirstModel):
        self.plan = plan
        self.first = first
        self.rung = first.rung(0, first.start)
        self.effort = effort
        self.log = log
        self.best: Found | None = None
        self.verdicts: list[Verdict] = []
        self.path: list[tuple[float, float]] = []  # of the first model: log of the points, mean log variance
        self.is_growing = False  # whether the first model is settled
        self.comparison = Comparison(log)

    def begin(self, random: np.random.Generator) -> None:
        """The first model of the plan, from one or more starts."""
        name, start = self._named(self.first), self.first.start
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
            self.verdicts.append(Verdict(name, int(free.sum()), self.best.value, np.nan, np.nan, True, "first model"))
            self._mark()

    def _named(self, first: FirstModel) -> str:
        tying = self.plan.tyings[0][0]
        return f"{first.name}, {tying}" if first.name else tying

    def compare(self, alternative: FirstModel) -> None:
        """Switch to another first model if its criterion is lower."""
        assert self.best is not None
        before = self.first
        origin = alternative.origin(self.best.specification, before.start)
        if origin is None:
            return
        rung = alternative.rung(0, alternative.start)
        free = free_parameters(origin, self.plan.learn_bias)
        ceiling = self.best.objective
        effort = replace(
            self.effort, ceiling=ceiling, patience=USUAL.patience, far_above=ceiling + USUAL.excess * abs(ceiling)
        )
        self.first = alternative
        found = minimise(origin, free, rung, effort, self.task(self._named(alternative), origin), self.log)
        self.first = before
        if found is None:
            return
        criterion = rung.criterion
        gain, noise = paired_gain(self.best.losses, found.losses, criterion.loss_weights, criterion.loss_points)
        kept = found.objective < self.best.objective
        fate = "better" if kept else "not better"
        fate += " with the prior" * (kept != (found.value < self.best.value))
        name = self._named(alternative)
        self.verdicts.append(Verdict(name, int(free.sum()), found.value, gain, noise, kept, fate))
        if kept:
            self.best, self.first, self.rung = found, alternative, rung
            self.path.clear()
            self._mark()

    def approach(self, n_rungs: int) -> None:
        """Learn the first model on more and more points, each time from values extrapolated from earlier rungs."""
        place = max(number for number, verdict in enumerate(self.verdicts) if verdict.kept)
        name = self.verdicts[place].stage
        for number in range(1, n_rungs):
            if self.best is None:
                break
            rung = self.first.rung(number, self.best.specification)
            origin = shift_variances(self.best.specification, self.trend(rung.n_points))
            free = free_parameters(origin, self.plan.learn_bias)
            task = self.task(f"{name} on {rung.n_points} rows", origin)
            found = minimise(origin, free, rung, self.effort, task, self.log, self.best.inverse_hessian)
            if found is None:
                break
            self.best = found
            self.rung = rung
            self.verdicts[place] = replace(self.verdicts[place], value=found.value)
            if self.log.stopped:
                self.path.clear()  # a stopped stage has no optimum to extrapolate from
                break
            self._mark()

    def _mark(self) -> None:
        assert self.best is not None
        mean = float(np.mean(np.log(self.best.specification.variances)))
        self.path.append((float(np.log(self.rung.n_points)), mean))

    def trend(self, n_points: int) -> float:
        """The expected change of log variances from the last rung to `n_points` points, from the last two rungs."""
        if len(self.path) < 2:
            return 0.0
        (few, before), (more, now) = self.path[-2:]
        power = np.clip((now - before) / (more - few), -USUAL.largest_variance_power, USUAL.largest_variance_power)
        return float(power * min(np.log(n_points) - more, USUAL.longest_lever * (more - few)))

    def candidates(self) -> Iterator[tuple[str, Specification | None, bool]]:
        """Each next model, from the optimum of the model kept before it, and whether it is kept in any case.

        None stands for coupled classes. They come before the models that must be better: with few rows per class,
        what classes share is easier to learn than what sets them apart. Models with several kernels come last, and
        only without rates of columns: with both there would be too many parameters. When they came before the
        rates, on 24 fits to tables, they were kept twice, and then no rates of columns were.
        """
        assert self.best is not None
        given, simple, costly = self.plan.steps
        for name, tying in given[1:]:
            yield name, spread(self.best.specification, tying), True
        if self.plan.n_factors is not None:
            yield COUPLING, None, self.plan.n_factors > 0
        for name, tying in simple:
            yield name, spread(self.best.specification, tying), False
        before = self.best
        if self.plan.relevance and has_single_rates(before.specification):
            candidate = with_relevance(before.specification, self.plan.n_inputs, self.plan.columns)
            yield RELEVANCE, candidate, not self.plan.compare
        if self.best is not before:
            return
        for name, tying in costly:
            yield name, spread(self.best.specification, tying), False

    def task(self, name: str, specification: Specification) -> Task:
        """A stage and its prior, centred at the values estimated from the data.

        In a finer model, the mean of the parameters that come from one parameter keeps the prior of that parameter.
        Deviations have a prior of their own.
        """
        start, learn_bias = self.first.start, self.plan.learn_bias
        free, loadings = free_parameters(specification, learn_bias), specification.mixing.parameters
        centre = spread(start, specification.tying)
        centre = replace(centre, mixing=specification.mixing.with_parameters(np.zeros_like(loadings)))
        if len(centre.log_parameters) != len(specification.log_parameters):
            centre = with_relevance(centre, self.plan.n_inputs, self.plan.columns)
        roles = [role for kernel in start.kernels for role in kernel.parameter_roles]
        n_rates = max(own.parameter_roles.count(RATES[1]) for own in specification.kernels)
        # With many rows, chance has little effect on rates: the data decide how far they spread.
        of_column = USUAL.relevance_scale if self.plan.at_density else USUAL.scale_of_rates(n_rates)
        of_columns = StudentDeviations(of_column, USUAL.relevance_degrees)
        of_classes = NormalDeviations(USUAL.deviation_scale)
        deviations = [of_columns if role in RATES and n_rates else of_classes for role in roles]
        n_variances, n_bias = len(start.variances), int(free_parameters(start, learn_bias)[-1])
        scale = [USUAL.kernel_scale] * len(roles) + [USUAL.variance_scale] * n_variances
        scale += [USUAL.kernel_scale] * n_bias
        shift = np.zeros(len(scale))
        if self.best is not None and self.is_growing:
            # More parameters overfit the folds; a variance that grew with them would make the model overconfident.
            places = slice(len(roles), len(roles) + n_variances)
            scale[places] = [USUAL.grown_variance_scale] * n_variances
            shift[places] = np.mean(np.log(self.best.specification.variances)) - np.mean(np.log(start.variances))
        deviations += [of_classes] * (n_variances + n_bias)
        is_loading = np.isin(np.arange(len(free)), np.r_[specification.mixing_places])[free]
        origins = trace_parameters(start, specification)[free][~is_loading]
        nested = NestedPrior(NormalPrior(np.array(scale), shift), origins, tuple(deviations))
        if not loadings.size:
            return Task(name, nested, centre.log_parameters)
        of_loadings = NormalPrior(USUAL.scale_of_loadings(loadings.size))
        return Task(name, PartedPrior(is_loading, of_loadings, nested), centre.log_parameters)

    def consider(self, name: str, candidate: Specification, is_given: bool) -> None:
        """Search, and keep the result if its gain over the model so far exceeds the noise, or if it was requested."""
        assert self.best is not None
        self.is_growing = True
        free = free_parameters(candidate, self.plan.learn_bias)
        hurdle = 0.0 if is_given else USUAL.hurdle * abs(self.best.value)
        inherited = inherit_curvature(self.best.inverse_hessian, self.best.specification, candidate, free)
        effort, task = replace(self.effort, hurdle=hurdle), self.task(name, candidate)
        found = minimise(candidate, free, self.rung, effort, task, self.log, inherited, self.best)
        if found is not None:
            self._decide(name, found, is_given, len(candidate.kernels) > len(self.best.specification.kernels))

    def couple(self) -> None:
        """Search for factors that classes share, and keep them if they gain on rows that did not choose them."""
        assert self.best is not None and self.plan.n_factors is not None
        self.is_growing = True
        is_given = self.plan.n_factors > 0
        best, judged = self.best, None
        found = self._find_factors(self.rung, COUPLING)
        if found is None:
            if not self.log.stopped:
                self.verdicts.append(Verdict(COUPLING, 0, best.value, 0.0, 0.0, False, "not better"))
            return

        def learn(rung: SearchData, number: int) -> Specification | None:
            own = self._find_factors(rung, f"{COUPLING}, fold {number + 1} held out")
            return None if own is None else own.specification

        if not is_given and self.rung.unseen is None and found.value < best.value:
            # Rows that chose the factors cannot judge them.
            judged = gain_without_parts(self.rung, best.specification, learn, self.log) or (0.0, 0.0, 0)
        name = describe_factors(COUPLING, found.specification)
        self._decide(name, found, is_given, True, judged)

    def _find_factors(self, rung: SearchData, name: str) -> Found | None:
        assert self.best is not None and self.plan.n_factors is not None
        stage = FactorStage(self.plan.n_factors, self.plan.learn_bias, partial(self.task, name))
        return find_factors(self.best, rung, stage, self.effort, self.log)

    def _decide(
        self,
        name: str,
        found: Found,
        is_given: bool,
        costs_more: bool,
        judged: tuple[float, float, int] | None = None,
    ) -> None:
        """Keep the result of a stage if its gain is large enough, or if it was requested."""
        assert self.best is not None
        judged = self.comparison.gain(self.rung, self.best, found, costs_more) if judged is None else judged
        gain, noise, n_unseen = judged
        gains = gain > noise * (USUAL.structure_errors if costs_more else 1.0)
        free = free_parameters(found.specification, self.plan.learn_bias)
        fate = "better" if gains else "requested" if is_given else "not better"
        kept = gains or is_given
        self.verdicts.append(Verdict(name, int(free.sum()), found.value, gain, noise, kept, fate, n_unseen))
        if kept:
            self.best = found
        if kept and self.log.stopped:
            self.path.clear()  # a stopped stage has no optimum to extrapolate from

    def finish(self, n_rungs: int, effort: Effort) -> Learned:
        """Continue the search for the kept model on more points."""
        assert self.best is not None
        coarse, n_points = self.best.specification, self.rung.n_points
        specification = coarse
        if not self.plan.at_density:
            # Rates of denser points are far from the rates of a random subset, and take more evaluations.
            effort = replace(effort, max_evaluations=min(effort.max_evaluations, USUAL.most_on_more_points))
        for number in range(1, n_rungs):
            if self.log.stopped:
                break
            self.rung = self.first.rung(number, self.best.specification)
            task = self.task(f"finish on {self.rung.n_points} rows", self.best.specification)
            free = free_parameters(self.best.specification, self.plan.learn_bias)
            start, known = self.best.specification, self.best.inverse_hessian
            self.best = minimise(start, free, self.rung, effort, task, self.log, known) or self.best
            specification = self.best.specification
            # A stopped stage has no optimum to extrapolate from.
            if not (self.log.stopped or self.plan.at_density):
                sizes = (n_points, self.rung.n_points, self.plan.n_points)
                specification = extrapolate_rates(coarse, self.best.specification, sizes)
        return self.learned(specification)

    def learned(self, specification: Specification) -> Learned:
        """The result, with hyperparameters for all points."""
        assert self.best is not None
        return Learned(specification, self.best.value, tuple(self.verdicts), self.first, self.rung)
