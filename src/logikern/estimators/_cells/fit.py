"""The final fit of large data: neighbourhood by neighbourhood, for several partitions of the points."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from logikern.estimators._cells.plan import FinalCells
from logikern.estimators._inputs.data import TrainingData
from logikern.fitting.problem import FitResult, Problem, Solver
from logikern.likelihoods.base import Likelihood
from logikern.model.neighbourhoods import Landmarks, LocalModels
from logikern.numerics.outcome import Array, Indices, NewtonStep
from logikern.numerics.parallel import for_each
from logikern.operators.choose import BlockLayout, Choice
from logikern.operators.neighbourhoods import Neighbourhoods
from logikern.operators.partition import Partition, divide, mean_metric
from logikern.structure.covariance import ClassCovariance
from logikern.structure.specification import Specification

NOTHING_YET = NewtonStep(0, 0.0, 0.0, 1.0, 0)


@dataclass(frozen=True, eq=False)
class CellRecipe:
    """Everything that the fit of a cell needs besides its rows."""

    operator: Choice
    make_solver: Callable[[], Solver]
    state: np.dtype
    specification: Specification
    likelihood: Likelihood

    def fit(self, points: Any, targets: Array, weights: Array) -> FitResult:
        """The fit to points (m, d) with targets (C, m) and weights (m,), without its latents."""
        own = self.operator.points(points, len(self.specification.kernels) > 1)
        return _without_latents(self.make_solver().fit(self.problem(self.specification.bind(own), targets, weights)))

    def problem(self, covariance: ClassCovariance, targets: Array, weights: Array) -> Problem:
        """The problem of some points in the precision of the plan."""
        targets = np.ascontiguousarray(targets.astype(self.state, copy=False))
        return Problem(covariance, self.likelihood, targets, weights[None].astype(self.state, copy=False))


# Starts the fits of all cells (rows of the training data) by a recipe, and returns a function that waits for the
# results. The last argument is called with each result as soon as it is known.
FitCells: TypeAlias = Callable[
    [CellRecipe, TrainingData, list[Indices], Callable[[FitResult], None]], Callable[[], list[FitResult]]
]


def fit_here(
    recipe: CellRecipe, data: TrainingData, cells: list[Indices], tell: Callable[[FitResult], None]
) -> Callable[[], list[FitResult]]:
    """Fit cells with the threads of this process, when the returned function is called."""

    def fit_cell(rows: Indices) -> FitResult:
        result = recipe.fit(data.points[rows], data.targets[:, rows], data.weights[rows])
        tell(result)
        return result

    return lambda: for_each(fit_cell, cells)


@dataclass(frozen=True, eq=False)
class CellFitter:
    """Fits a model to cells of the training points."""

    plan: FinalCells
    recipe: CellRecipe
    data: TrainingData
    fit_cells: FitCells = fit_here

    def fit(self, seed: int, callback: Callable[[NewtonStep], None]) -> tuple[LocalModels, FitResult]:
        """The fit of one partition; its result is in the order of the training points."""
        return self.begin(seed, callback)()

    def begin(self, seed: int, callback: Callable[[NewtonStep], None]) -> Callable[[], tuple[LocalModels, FitResult]]:
        """Start the fit of one partition; returns a function that waits for the result."""
        partition, cells = self.divide(seed, self.plan.size)
        order, edges = np.concatenate(cells), np.cumsum([0, *map(len, cells)])
        if self.plan.rank:
            return lambda: self._fit_coupled(partition, order, edges, seed, callback)
        progress = _Progress(callback)
        wait = self.fit_cells(self.recipe, self.data, cells, progress.tell)

        def finish() -> tuple[LocalModels, FitResult]:
            found = _together(wait())
            sums = np.add.reduceat(found.dual[0], edges[:-1], axis=1, dtype=np.float64)  # (C, n_cells)
            constants = self.recipe.specification.bias_variance * sums.T
            return LocalModels(partition, order, edges, found.dual[0], constants), _in_order(found, order)

        return finish

    def divide(self, seed: int, size: int) -> tuple[Partition, list[Indices]]:
        """Cells in the metric of the model."""
        points, kernels = self.data.points, self.recipe.specification.kernels
        weights = mean_metric(kernels, points.shape[1])
        return divide(points, weights, size, np.random.default_rng(seed))

    def _fit_coupled(
        self, partition: Partition, order: Indices, edges: Indices, seed: int, callback: Callable[[NewtonStep], None]
    ) -> tuple[LocalModels, FitResult]:
        """All cells in one problem, coupled by landmarks."""
        data, recipe, layout = self.data, self.recipe, BlockLayout(edges, self.plan.rank, seed)
        specification = recipe.specification
        points = recipe.operator.points(data.points[order], len(specification.kernels) > 1, layout)
        covariance = specification.bind(points)
        problem = recipe.problem(covariance, data.targets[:, order], data.weights[order])
        result = _without_latents(recipe.make_solver().fit(problem, callback=callback))
        dual = result.dual[0]
        constants = np.tile(specification.bias_variance * dual.sum(axis=1), (len(edges) - 1, 1))
        landmarks = _landmarks(covariance, specification, order, dual)
        return LocalModels(partition, order, edges, dual, constants, landmarks), _in_order(result, order)


def _landmarks(covariance: ClassCovariance, specification: Specification, order: Indices, dual: Array) -> Landmarks:
    """Coefficients at the landmarks for the points of each cell: the sum over all other cells."""
    inner = specification.mixing.adjoint(dual[None])[0]  # (P, n)
    coefficients, chosen = None, order[:0]
    for number, operator in enumerate(covariance.operators):
        assert isinstance(operator, Neighbourhoods) and operator.coupling is not None
        interpolation = operator.coupling.interpolation
        parts = np.stack([inner[:, own] @ interpolation[:, own].T for own in operator.block_slices])
        if coefficients is None:
            coefficients, chosen = np.zeros(parts.shape), order[operator.coupling.landmarks]
        users = covariance.assignment == number
        coefficients[:, users] = (parts.sum(axis=0) - parts)[:, users]
    assert coefficients is not None
    return Landmarks(chosen, coefficients)


class _Progress:
    """Reports every fitted cell as one step, from any thread."""

    def __init__(self, callback: Callable[[NewtonStep], None]):
        self.callback = callback
        self.lock = threading.Lock()
        self.last = NOTHING_YET

    def tell(self, result: FitResult) -> None:
        with self.lock:
            self.last = _next_step(self.last, result)
            self.callback(self.last)


def _next_step(last: NewtonStep, result: FitResult) -> NewtonStep:
    """The fit of one more cell as a step: losses and products add up, and the largest gradient counts."""
    loss = result.trace[-1].loss if result.trace else 0.0
    norm = max(last.gradient_norm, float(result.gradient_norm.max()))
    return NewtonStep(last.step + 1, last.loss + loss, norm, 1.0, last.products + result.n_products)


def _together(results: list[FitResult]) -> FitResult:
    """One result from fits to consecutive points; its trace is in the order of the points, not of completion."""
    failed = next((own for own in results if not own.outcome.converged), results[0])
    trace = tuple(accumulate(results, _next_step, initial=NOTHING_YET))[1:]
    return FitResult(
        np.concatenate([own.dual for own in results], axis=-1),
        np.concatenate([own.latent for own in results], axis=-1),
        np.max([own.gradient_norm for own in results], axis=0),
        failed.outcomes,
        trace,
        sum(own.n_products for own in results),
    )


def _without_latents(result: FitResult) -> FitResult:
    """The result without latents: a model needs only the dual, and latents would double memory and traffic."""
    return replace(result, latent=result.latent[..., :0].copy())


def _in_order(result: FitResult, order: Indices) -> FitResult:
    """The result with points in the order of the training data."""
    dual = np.empty_like(result.dual)
    dual[..., order] = result.dual
    return replace(result, dual=dual)
