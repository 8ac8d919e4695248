"""Whether the final fit is divided into neighbourhoods, and how large they are."""

import math
from dataclasses import dataclass, replace

from logikern.estimators import _memory
from logikern.estimators._cells.settings import NeighbourhoodSettings
from logikern.estimators._inputs.arguments import is_auto
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._memory import CellsNeed, Resources
from logikern.estimators._parameters import Parameters
from logikern.kernels import DistanceKernel
from logikern.model.neighbourhoods import Approximation
from logikern.structure.specification import Specification


@dataclass(frozen=True)
class NeighbourhoodPolicy:
    """When "auto" divides the final fit.

    Parameters
    ----------
    exact_up_to : int, default=12_000
        Rows up to which one exact fit takes no longer than several partitions do.
    undivided_up_to, largest_loss : int and float, default=20_000, 0.05
        If neighbourhoods of twice the size lower the held-out loss by more than the share `largest_loss`, data of up
        to `undivided_up_to` rows are fitted as a whole, and larger data in neighbourhoods of twice the size. The
        share is 0.16 on letter, where one exact fit has log loss 0.062 and neighbourhoods have 0.080, and 0.02 on
        covtype, where the mean of several partitions is better than one exact fit.
    smallest : int, default=200
        Smallest number of rows to which neighbourhoods are reduced if memory is short; if that is too much, fitting
        raises an error.
    check_share : float, default=0.25
        Time of the check before the fit, relative to the fit: neighbourhoods are compared at a size that allows it.
    check_work : float, default=8.0
        Time of the check, in units of the fit of one neighbourhood of the compared size. The check takes two
        neighbourhoods of twice this size and holds out a fifth of their rows. Each of them takes one fit to 1.6 times
        the rows of the unit, and two fits to 0.8 times the rows of the unit. The time of a fit grows with the square
        of its rows, so the sum is 2 (1.6^2 + 2 * 0.8^2) = 7.7, which is rounded up.
    fewest_checked : int, default=100
        Rows of a neighbourhood below which there is no check.
    """

    exact_up_to: int = 12_000
    undivided_up_to: int = 20_000
    largest_loss: float = 0.05
    smallest: int = 200
    check_share: float = 0.25
    check_work: float = 8.0
    fewest_checked: int = 100


USUAL = NeighbourhoodPolicy()


@dataclass(frozen=True)
class FinalCells:
    """The division of a final fit into neighbourhoods."""

    size: int
    rank: int
    n_partitions: int
    memory: float  # bytes for kernel values of each neighbourhood that is fitted at the same time
    checked: int = 0  # rows of the neighbourhoods in the check before the fit; 0 for no check
    larger: "FinalCells | None" = None  # replaces this one if its neighbourhoods are too small
    largest_loss: float = USUAL.largest_loss  # share of the held-out loss by which larger ones may be better

    def is_too_small(self, found: Approximation | None) -> bool:
        """Whether a comparison shows that larger neighbourhoods are much better."""
        return found is not None and found.gain > max(found.noise, self.largest_loss * found.loss)

    def __str__(self) -> str:
        partitions = f"{self.n_partitions} partition{'' if self.n_partitions == 1 else 's'}"
        landmarks = f"coupled by {self.rank} landmarks" if self.rank else "without landmarks"
        return f"neighbourhoods of at most {self.size} rows, in {partitions}, {landmarks}"


def plan_cells(
    parameters: Parameters, data: TrainingData, model: Specification, resources: Resources
) -> FinalCells | None:
    """The division; None for an exact fit. Raises an error if memory is too small or the request is impossible."""
    operator, is_asked = parameters.operator, parameters.divides
    reason = _obstacle(parameters, data, model)
    if is_asked and reason:
        raise ValueError(f"`operator` divides the fit into neighbourhoods, but {reason}. Use operator='auto'.")
    is_large = len(data.weights) > USUAL.exact_up_to and is_auto(operator) and is_auto(parameters.solver)
    if reason or not (is_asked or is_large):
        return None
    settings = operator if isinstance(operator, NeighbourhoodSettings) else NeighbourhoodSettings()

    def need(size: int) -> CellsNeed:
        return _memory.cells_need(data, model, size, settings.landmarks, settings.partitions)

    size = min(settings.size, len(data.weights))
    while not resources.allow(need(size).total) and size > USUAL.smallest:
        size = max(USUAL.smallest, size // 2)
    needed = need(size)
    what = f"A fit to {len(data.weights)} rows in neighbourhoods of {size}"
    allowed = resources.require(what, needed.total, "pass fewer rows")
    checked = _checked_size(len(data.weights), size, settings.partitions)
    if checked and not resources.allow(need(2 * checked).total):
        checked = 0
    found = FinalCells(size, settings.landmarks, settings.partitions, needed.share(allowed), checked)
    doubled = min(2 * size, len(data.weights))
    is_whole = len(data.weights) <= USUAL.undivided_up_to
    if is_asked or not checked or is_whole or not resources.allow(need(doubled).total):
        return found
    return replace(found, larger=replace(found, size=doubled, memory=need(doubled).share(allowed), checked=0))


def _checked_size(n_rows: int, size: int, n_partitions: int) -> int:
    """Size of the neighbourhoods that a check compares with twice that size; 0 if there is no check."""
    if size >= n_rows:
        return 0
    affordable = math.sqrt(USUAL.check_share * n_partitions * n_rows * size / USUAL.check_work)
    checked = min(size, n_rows // 2, int(affordable))
    return checked if checked >= USUAL.fewest_checked else 0


def _obstacle(parameters: Parameters, data: TrainingData, model: Specification) -> str:
    """Why the fit cannot be divided, in words; empty if it can."""
    if not all(isinstance(kernel, DistanceKernel) for kernel in model.kernels):
        return f"neighbourhoods need a distance-based kernel, and `kernel` is {model.kernels[0]!r}"
    if data.likelihood.has_separate_functions:
        return f"{'a regression' if data.labels is None else 'a model of independent labels'} is fitted as a whole"
    if parameters.is_bias_free:
        return "`bias_variance` is infinite"
    if not (isinstance(parameters.solver, str) and parameters.solver in ("auto", "newton")):
        return f"`solver` is {parameters.solver!r}, and each neighbourhood is fitted by Newton's method"
    return ""
