"""Whether the final fit is divided into neighbourhoods, and how large they are."""

from dataclasses import dataclass

from logikern.estimators import _memory
from logikern.estimators._cells.settings import NeighbourhoodSettings
from logikern.estimators._inputs.arguments import is_auto
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._memory import Resources
from logikern.estimators._parameters import Parameters
from logikern.kernels import DistanceKernel
from logikern.structure.specification import Specification


@dataclass(frozen=True)
class NeighbourhoodPolicy:
    """When "auto" divides the final fit.

    Parameters
    ----------
    exact_up_to : int, default=12_000
        Rows up to which one exact fit takes no longer than several partitions do.
    smallest : int, default=200
        Rows of a neighbourhood below which too little memory is an error.
    """

    exact_up_to: int = 12_000
    smallest: int = 200


USUAL = NeighbourhoodPolicy()


@dataclass(frozen=True)
class FinalCells:
    """The division of a final fit into neighbourhoods."""

    size: int
    rank: int
    n_partitions: int
    memory: float  # bytes for kernel values of each neighbourhood that is fitted at the same time

    def __str__(self) -> str:
        coupled = f"coupled by {self.rank} landmarks" if self.rank else "fitted apart"
        return f"{self.n_partitions} partitions into neighbourhoods of at most {self.size} rows, {coupled}"


def plan_cells(
    parameters: Parameters, data: TrainingData, model: Specification, resources: Resources
) -> FinalCells | None:
    """The division; None for an exact fit. Refused if the memory does not suffice, or the kernel has no distances."""
    operator, is_asked = parameters.operator, parameters.divides
    reason = _obstacle(parameters, data, model)
    if is_asked and reason:
        raise ValueError(f"`operator` divides the fit into neighbourhoods, but {reason}. Use operator='auto'.")
    is_large = len(data.weights) > USUAL.exact_up_to and is_auto(operator) and is_auto(parameters.solver)
    if reason or not (is_asked or is_large):
        return None
    settings = operator if isinstance(operator, NeighbourhoodSettings) else NeighbourhoodSettings()
    size = min(settings.size, len(data.weights))
    while True:
        needed = _memory.cells_need(data, model, size, settings.landmarks, settings.partitions)
        if needed.total <= resources.memory or size <= USUAL.smallest:
            break
        size = max(USUAL.smallest, size // 2)
    what = f"A fit to {len(data.weights)} rows in neighbourhoods of {size}"
    allowed = resources.require(what, needed.total, "pass fewer rows")
    return FinalCells(size, settings.landmarks, settings.partitions, needed.each + (allowed - needed.total) / 2)


def _obstacle(parameters: Parameters, data: TrainingData, model: Specification) -> str:
    """Why the fit cannot be divided, in words; empty if it can."""
    if not all(isinstance(kernel, DistanceKernel) for kernel in model.kernels):
        return f"neighbours need a kernel of distances, and `kernel` is {model.kernels[0]!r}"
    if data.labels is None:
        return "a regression is fitted whole"
    if parameters.is_bias_free:
        return "`bias_variance` is infinite"
    return ""
