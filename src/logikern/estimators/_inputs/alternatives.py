"""First models of a search: kernels and scales of the inputs, at hyperparameters estimated from the data."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.encoding.encoder import with_scaling
from logikern.encoding.scaling import Scaling, learn_scaling
from logikern.estimators._inputs.data import TrainingData, compares_scalings
from logikern.estimators._inputs.start import start_specification
from logikern.estimators._parameters import Parameters
from logikern.kernels import Gaussian, GaussianLaplacian, Kernel, Laplacian
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array
from logikern.structure.specification import Specification

AUTO, LINEAR = "auto", "linear"
# Kernels that "auto" compares: the first one contains the others.
KERNELS = ("gaussian_laplacian", "gaussian", "laplacian")
TITLES = {
    "gaussian_laplacian": "Gaussian + Laplacian",
    "raw": "unscaled",
    "standard": "standardised",
    "ranks": "ranks",
}


@dataclass(frozen=True)
class AlternativePolicy:
    """Which kernels and scales "auto" compares."""

    # More than `wide` sparse inputs with less than this share of nonzero entries are like word counts: a linear
    # kernel suffices.
    wide: int = 1000
    filled: float = 0.05
    # Unscaled numbers are compared as well if there are at least `common_inputs` and most of their ranges agree
    # within this factor: they share a unit, as pixels do. Otherwise the choice of units would decide.
    common_inputs: int = 8
    common_spread: float = 4.0


USUAL = AlternativePolicy()


@dataclass(frozen=True, eq=False)
class Alternative:
    """A first model: its name, the scale of its inputs, and the start of its hyperparameters."""

    name: str
    scaling: Scaling | None  # None leaves the points unchanged
    start: Specification

    def points(self, points: Any) -> Any:
        """Points of this model."""
        return points if self.scaling is None else self.scaling.transform(points)

    def view(self, data: TrainingData) -> TrainingData:
        """The training data as this model sees them."""
        if self.scaling is None or data.encoder is None:
            return data
        return replace(data, points=self.points(data.points), encoder=with_scaling(data.encoder, self.scaling))


def list_alternatives(parameters: Parameters, data: TrainingData) -> tuple[Alternative, ...]:
    """The first models that a search compares; one if kernel and scale are given, or without a search."""
    kernels = _kernels(parameters, data)
    # Rare words would have large values if they were standardised.
    is_text = isinstance(kernels[0], str) and kernels[0] == LINEAR
    is_open = compares_scalings(parameters) and not is_text
    scalings: list[Scaling | None] = list(_scalings(data)) if is_open else [None]
    pairs = [(kernels[0], scalings[0])]
    pairs += [(kernel, scalings[0]) for kernel in kernels[1:]]
    pairs += [(kernels[0], scaling) for scaling in scalings[1:]]
    found = []
    for kernel, scaling in pairs:
        words = [_title(kernel)] * (len(kernels) > 1)
        words += [TITLES[scaling.kind]] if scaling is not None and len(scalings) > 1 else []
        own = Alternative(", ".join(words), scaling, None)  # type: ignore[arg-type]
        start = start_specification(replace(parameters, kernel=kernel), own.view(data))
        found.append(replace(own, start=start))
    return tuple(found)


def _title(kernel: Any) -> str:
    return TITLES.get(kernel, kernel.capitalize()) if isinstance(kernel, str) else type(kernel).__name__


def _kernels(parameters: Parameters, data: TrainingData) -> tuple[Any, ...]:
    """Kernels to compare: several for "auto", otherwise the given kernel."""
    if not isinstance(parameters.kernel, str) or parameters.kernel != AUTO:
        return (parameters.kernel,)
    points = data.points
    if is_sparse(points) and points.shape[1] > USUAL.wide:
        n_entries = points.shape[0] * points.shape[1]
        if points.count_nonzero() < USUAL.filled * n_entries:
            return (LINEAR,)
    if parameters.criterion is None or parameters.rate is not None:
        return ("gaussian",)
    return KERNELS


def _scalings(data: TrainingData) -> Iterator[Scaling | None]:
    """Scales of the inputs to compare; levels of categories are not scaled."""
    assert data.encoder is not None
    is_level = data.encoder.is_level
    if is_level.all():
        yield None
        return
    kinds = ["standard"]
    if not is_sparse(data.points):
        kinds += ["ranks"]
        kinds += ["raw"] * _have_common_unit(data.points[:, ~is_level])
    for kind in kinds:
        yield learn_scaling(kind, data.points, is_level, weights=data.weights)


def _have_common_unit(inputs: Array) -> bool:
    if inputs.shape[1] < USUAL.common_inputs:
        return False
    ranges = np.ptp(inputs, axis=0)
    low, high = np.quantile(ranges[ranges > 0], [0.25, 1.0]) if ranges.any() else (1.0, 1.0)
    return bool(high <= USUAL.common_spread * low)


def carry_over(start: Specification, best: Specification, best_start: Specification) -> Specification | None:
    """The start of the search for a first model: its own start, shifted by the change of the best model so far.

    One correlation alone starts from its part of a mean of both, if that part has the greater weight. None otherwise:
    on 31 tables with three splits, the other correlation lowered the criterion three times, by at most 1.5 %.

    Parameters
    ----------
    start : Specification
        Start of the model.
    best, best_start : Specification
        The best model so far, and its start.
    """
    kernel, other = start.kernels[0], best.kernels[0]
    if type(kernel) is type(other) and len(kernel.log_parameters) == len(other.log_parameters):
        after, before = best.log_parameters, best_start.log_parameters
        # An infinite bias variance has not moved.
        moved = np.subtract(after, before, out=np.zeros(len(after)), where=after != before)
        return start.with_log_parameters(start.log_parameters + moved)
    if not isinstance(kernel, Gaussian | Laplacian):
        return start
    parts = _greater_parts(best.kernels)
    return replace(start, kernels=parts, variances=best.variances) if type(kernel) in map(type, parts) else None


def _greater_parts(kernels: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    """The correlation that has the greater weight in means of both, for each of them; empty for other kernels."""
    means = [kernel for kernel in kernels if isinstance(kernel, GaussianLaplacian)]
    if len(means) < len(kernels):
        return ()
    kind, place = (Laplacian, 1) if np.mean(np.log([mean.share for mean in means])) > 0 else (Gaussian, 0)
    return tuple(kind(rate=mean.metric_rates(mean.rate)[place]) for mean in means)
