"""A criterion that is averaged over several neighbourhoods of the data, each of which is fitted separately."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from logikern.criteria.base import Criterion, Evaluation, unusable
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.numerics.temperature import Temperature
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


@dataclass(frozen=True, eq=False)
class SeveralNeighbourhoods(Criterion):
    """The mean held-out loss over independent parts of the points, which share all hyperparameters.

    A whole neighbourhood is as dense as the full data, so its optimal hyperparameters suit the full data. A random
    subset of the same size is sparser and favours longer length scales. Parts are evaluated in parallel. If a
    temperature is learned, each part learns its own, and their geometric mean is reported.
    """

    criteria: tuple[Criterion, ...]  # one for each part of the covariance
    edges: Indices  # (n_parts + 1,): part b has points edges[b] to edges[b + 1] - 1

    @property
    def loss_weights(self) -> Array:
        return np.concatenate([criterion.loss_weights for criterion in self.criteria])

    @property
    def loss_points(self) -> Indices:
        starts = zip(self.criteria, self.edges[:-1], strict=True)
        return np.concatenate([criterion.loss_points + start for criterion, start in starts])

    @property
    def partition(self) -> Any:
        return tuple(criterion.partition for criterion in self.criteria)

    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        parts, slices = covariance.parts, [slice(*pair) for pair in pairwise(self.edges.tolist())]

        def evaluate_part(number: int) -> Evaluation:
            own = None if start is None else np.ascontiguousarray(start[..., slices[number]])
            return self.criteria[number].evaluate(parts[number], own, tolerance)

        found = for_each(evaluate_part, range(len(parts)))
        sizes = np.diff(self.edges)
        n_products = round(float(np.average([own.n_products for own in found], weights=sizes)))
        failed = next((own for own in found if not own.usable), None)
        if failed is not None:
            return unusable(failed.outcome, n_products)
        totals = np.array([criterion.loss_weights.sum() for criterion in self.criteria])
        shares = totals / totals.sum()
        duals = [own.dual for own in found if own.dual is not None]
        return Evaluation(
            value=float(shares @ [own.value for own in found]),
            gradient=_mean([own.gradient for own in found], shares),
            losses=np.concatenate([own.losses for own in found]),
            state=np.concatenate([own.state for own in found], axis=-1),
            outcome=found[0].outcome,
            n_products=n_products,
            method=found[0].method,
            temperature=_mean_temperature([own.temperature for own in found], shares),
            dual=np.concatenate(duals, axis=-1) if len(duals) == len(found) else None,
        )


def _mean_temperature(found: list[Temperature], shares: Array) -> Temperature:
    logs = np.log([(own.certain, own.uncertain) for own in found])  # (n_parts, 2)
    certain, uncertain = np.exp(shares @ logs).tolist()
    return Temperature(certain, uncertain)


def _mean(gradients: list[CovarianceGradient], shares: Array) -> CovarianceGradient:
    scaled = [gradient.scaled(share) for gradient, share in zip(gradients, shares, strict=True)]
    kernels = zip(*(own.kernels for own in scaled), strict=True)
    return CovarianceGradient(
        tuple(np.sum(own, axis=0) for own in kernels),
        np.sum([own.variances for own in scaled], axis=0),
        float(np.sum([own.bias_variance for own in scaled])),
        np.sum([own.mixing for own in scaled], axis=0),
    )
