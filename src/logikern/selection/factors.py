"""The search for factors that classes share."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from logikern.numerics.outcome import Array
from logikern.selection.policy import USUAL
from logikern.selection.search import Effort, Found, SearchData, SearchLog, Task, free_parameters, minimise
from logikern.structure.coupling import Coupling
from logikern.structure.specification import Specification

AUTO = 0  # the data decide the number of factors


@dataclass(frozen=True, eq=False)
class FactorStage:
    """The settings of a search for factors."""

    n_factors: int  # or `AUTO`
    learn_bias: bool
    task: Callable[[Specification], Task]


def find_factors(before: Found, rung: SearchData, stage: FactorStage, effort: Effort, log: SearchLog) -> Found | None:
    """The best coupling of a model, from the directions in which the criterion falls; None if it finds nothing."""
    probe = with_factors(before.specification, np.zeros((before.specification.mixing.n_classes, 1)))
    once, free = replace(effort, max_evaluations=1), free_parameters(probe, stage.learn_bias)
    known = minimise(probe, free, rung, once, stage.task(probe), log)
    if known is None or log.stopped:
        return None
    directions, slopes = steepest_directions(known.gradient.mixing)
    loadings = first_loadings(directions, slopes, stage.n_factors)
    if not loadings.size:
        return None
    candidate = with_factors(before.specification, loadings)
    free = free_parameters(candidate, stage.learn_bias)
    curvature = insert_curvature(before.inverse_hessian, candidate.mixing_places, slopes)
    ceiling = known.objective if stage.n_factors == AUTO else np.inf
    own = replace(effort, ceiling=ceiling)
    return minimise(candidate, free, rung, own, stage.task(candidate), log, curvature)


def describe_factors(stage: str, specification: Specification) -> str:
    """The name of a stage with the number of factors that it found."""
    n_factors = specification.mixing.parameters.size // specification.mixing.n_classes
    return f"{stage}, {n_factors} factor{'' if n_factors == 1 else 's'}"


def with_factors(specification: Specification, loadings: Array) -> Specification:
    """The same model with coupled classes."""
    return replace(specification, mixing=Coupling(loadings))


def steepest_directions(by_matrix: Array) -> tuple[Array, Array]:
    """Directions b in which the criterion falls at B = 0, the steepest first: vectors (C, k) and slopes (k,) >= 0.

    Without factors, A = (I + B B')^(1/2) has no first-order term in B, so the gradient in B is zero. A column b
    changes A by b b' / 2, and the criterion by b' G b / 2 with G the derivative in A: the eigenvectors of its
    negative eigenvalues are the directions to begin with. A function that all classes share changes nothing, and is
    left out.
    """
    n_classes = len(by_matrix)
    centre = np.eye(n_classes) - 1.0 / n_classes
    values, vectors = np.linalg.eigh(centre @ (0.5 * (by_matrix + by_matrix.T)) @ centre)
    falling = values < -1e-9 * np.abs(values).max()  # what all classes share has slope zero, up to rounding
    return vectors[:, falling], -values[falling]


def first_loadings(directions: Array, slopes: Array, n_factors: int) -> Array:
    """Loadings B with which a search begins, (C, q); no columns if the criterion falls in no direction.

    Without a given number there is a factor for each direction that is nearly as steep as the steepest.
    """
    if n_factors == AUTO:
        near = np.count_nonzero(slopes >= USUAL.factor_share * slopes.max(initial=0.0))
        n_factors = min(int(near), USUAL.most_factors)
    kept = slice(0, n_factors)
    found = directions[:, kept] * np.sqrt(slopes[kept] / slopes[:1] * len(directions))
    return np.asarray(USUAL.scale_of_loadings(found.size) * found)


def insert_curvature(inverse_hessian: Array | None, places: slice, slopes: Array) -> Array | None:
    """The inverse Hessian of a model without factors, with rows for loadings at `places`.

    A first step enlarges the steepest factor by half. None if the curvature in the other parameters is not known.
    """
    if inverse_hessian is None:
        return None
    size, n_new = len(inverse_hessian), places.stop - places.start
    others = np.r_[0 : places.start, places.stop : size + n_new]
    found = np.eye(size + n_new) * (0.5 / slopes[0])
    found[np.ix_(others, others)] = inverse_hessian
    return found
