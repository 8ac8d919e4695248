"""The plan of a fit: everything that "auto" leaves open, decided once from parameters, data and resources."""

from dataclasses import dataclass

from logikern.estimators._callbacks import SearchLength
from logikern.estimators._inputs.alternatives import Alternative
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.splits import GivenRows
from logikern.estimators._memory import Resources
from logikern.estimators._parameters import Parameters
from logikern.estimators._search_plan import SearchPlan, plan_growth, plan_search
from logikern.estimators._solver_plan import SolverPlan, plan_solver
from logikern.selection.refinement import spread
from logikern.structure.specification import Specification
from logikern.structure.tying import Tying


@dataclass(frozen=True, eq=False)
class FitPlan:
    """All decisions about a fit."""

    alternatives: tuple[Alternative, ...]  # the models that the search may begin with; one if nothing is searched
    search: SearchPlan | None  # None for fixed hyperparameters
    solvers: dict[Tying, SolverPlan]  # for every model that the search may end with
    resources: Resources

    @property
    def start(self) -> Specification:
        """The model that the search begins with, or the final model."""
        return self.alternatives[0].start

    @property
    def search_length(self) -> SearchLength:
        """The maximum length of the search."""
        if self.search is None:
            return SearchLength()
        own = self.search.length
        return own._replace(n_stages=own.n_stages + len(self.alternatives) - 1)

    def solver_for(self, specification: Specification) -> SolverPlan:
        """How the final fit of a model is solved."""
        return self.solvers[specification.tying]

    def __str__(self) -> str:
        kernel, bias = self.start.kernels[0], self.start.bias_variance
        names = "; ".join(own.name for own in self.alternatives if own.name)
        lines = [
            f"Start: kernel {kernel!r}, bias variance {bias:g}.",
            *([f"First models: {names}."] if names else []),
            f"Search: {self.search or 'none; hyperparameters are fixed.'}",
            *_final_fits(self.solvers),
            f"Resources: {self.resources}.",
        ]
        return "\n".join(lines)


def _final_fits(solvers: dict[Tying, SolverPlan]) -> list[str]:
    """A line for each way to solve the final fit; if there are several, each says for which number of kernels."""
    found: dict[str, int] = {}
    for tying, solver in solvers.items():
        found.setdefault(str(solver), tying.n_kernels)
    if len(found) == 1:
        return [f"Final fit: {told}" for told in found]
    return [f"Final fit with {n} kernel{'s' if n > 1 else ''}: {told}" for told, n in found.items()]


def resolve(
    parameters: Parameters,
    data: TrainingData,
    alternatives: tuple[Alternative, ...],
    given: GivenRows,
    resources: Resources,
) -> FitPlan:
    """Decide everything that the parameters leave open. Raises an error if memory is too small.

    `alternatives[0]` must be the alternative that needs the most memory: the plan is made for it. `given` has the
    rows as passed to `fit`, for splitters.
    """
    start = alternatives[0].start
    if parameters.criterion is None:
        solvers = _plan_solvers(parameters, data, start, [start.tying], resources)
        return FitPlan(alternatives, None, solvers, resources)
    growth = plan_growth(parameters, data, start)
    tyings = [start.tying, *(tying for _, tying in growth.tyings)]
    solvers = _plan_solvers(parameters, data, start, tyings, resources)
    search = plan_search(parameters, data, start, growth, given, resources)
    return FitPlan(alternatives, search, solvers, resources)


def _plan_solvers(
    parameters: Parameters, data: TrainingData, start: Specification, tyings: list[Tying], resources: Resources
) -> dict[Tying, SolverPlan]:
    seed = parameters.draw_seed()
    return {tying: plan_solver(parameters, data, spread(start, tying), resources, seed) for tying in tyings}
