"""Scales of inputs: unscaled, standardised, or ranks.

Distances between inputs compare columns in different units. Standardised inputs and ranks do not depend on the units;
ranks do not depend on the shape of a distribution either.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array, Indices

# An array or a sparse matrix of shape (n, d).
Inputs: TypeAlias = Any
SCALINGS = ("raw", "standard", "ranks")
# One over the standard deviation of a uniform distribution on [0, 1].
RANK_SPREAD = 12**0.5


@dataclass(frozen=True)
class ScalingPolicy:
    """Size of a scaling."""

    # Values of an input whose ranks are kept. Ranks between them are off by less than 1 / most_knots.
    most_knots: int = 1000


DEFAULT_POLICY = ScalingPolicy()


class Scaling(ABC):
    """A separate map for each input, learned on training rows."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of the scaling in `SCALINGS`."""

    @abstractmethod
    def transform(self, inputs: Inputs) -> Inputs:
        """Scaled inputs (n, d) of inputs (n, d)."""


@dataclass(frozen=True)
class Unscaled(Scaling):
    """Unscaled inputs."""

    @property
    def kind(self) -> str:
        return "raw"

    def transform(self, inputs: Inputs) -> Inputs:
        return inputs


@dataclass(frozen=True, eq=False)
class Standardised(Scaling):
    """(x - shift) / scale, or x / scale for sparse inputs, whose zeros stay zeros."""

    shift: Array  # (d,)
    scale: Array  # (d,)

    @property
    def kind(self) -> str:
        return "standard"

    def transform(self, inputs: Inputs) -> Inputs:
        if is_sparse(inputs):
            return sparse.csr_array(inputs @ sparse.diags_array(1 / self.scale))
        # Halves are exact, and their differences do not overflow.
        return (0.5 * inputs - 0.5 * self.shift) / (0.5 * self.scale)


@dataclass(frozen=True, eq=False)
class Ranked(Scaling):
    """Share of training values below x, plus half the share equal to x; linear between training values.

    Shares are centred and scaled to a variance of about one, like standardised inputs.
    """

    # (d,): inputs are divided by these, the largest magnitudes in training, so that differences do not overflow.
    units: Array
    # (m,): training values of all inputs in these units, one input after the other, and their ranks.
    knots: Array
    ranks: Array
    # (d + 1,): where the knots of each input begin. An input without knots is not changed.
    starts: Indices

    @property
    def kind(self) -> str:
        return "ranks"

    def transform(self, inputs: Inputs) -> Inputs:
        if is_sparse(inputs):
            raise ValueError(
                "Scaling by ranks needs a dense array, but `X` is sparse, and its ranks would not be sparse. Use "
                "inputs='standard', or a dense array."
            )
        ranked = np.array(inputs, dtype=np.float64)
        for place in np.flatnonzero(np.diff(self.starts)):
            own = slice(self.starts[place], self.starts[place + 1])
            shares = np.interp(ranked[:, place] / self.units[place], self.knots[own], self.ranks[own])
            ranked[:, place] = RANK_SPREAD * (shares - 0.5)
        return ranked


def learn_scaling(
    kind: str,
    inputs: Inputs,
    is_level: Array,
    policy: ScalingPolicy = DEFAULT_POLICY,
    weights: Array | None = None,
) -> Scaling:
    """Learn a scaling of the given kind from training inputs.

    Parameters
    ----------
    kind : {"raw", "standard", "ranks"}
    inputs : array or sparse matrix of shape (n, d)
        "ranks" needs an array.
    is_level : boolean array of shape (d,)
        Which inputs are 0 or 1: levels and indicators. They keep these values.
    policy : ScalingPolicy
    weights : array of shape (n,) or None, default=None
        Positive weights of the rows; None means equal weights. A weight of 2 counts as two equal rows.
    """
    if kind == "raw":
        return Unscaled()
    n_rows = inputs.shape[0]
    shares = np.full(n_rows, 1 / n_rows) if weights is None else weights / weights.sum()
    if kind == "standard":
        return _standardised(inputs, np.asarray(is_level, dtype=bool), shares)
    if kind != "ranks":
        raise ValueError(f"`inputs` must be one of {list(SCALINGS)}, but is {kind!r}.")
    if is_sparse(inputs):
        raise ValueError(
            "Scaling by ranks needs a dense array, but `X` is sparse, and its ranks would not be sparse. Use "
            "inputs='standard', or a dense array."
        )
    return _ranked(inputs, np.asarray(is_level, dtype=bool), shares, policy)


def _standardised(inputs: Inputs, kept: Array, shares: Array) -> Standardised:
    shift, scale = _sparse_moments(inputs, shares) if is_sparse(inputs) else _moments(inputs, shares)
    return Standardised(np.where(kept, 0.0, shift), np.where(kept | (scale == 0), 1.0, scale))


def _moments(inputs: Array, shares: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each input, (d,), under shares (n,) of the rows."""
    # Values are taken relative to the first row, so that a constant has no spread; halves do not overflow.
    origin = 0.5 * np.asarray(inputs[0], dtype=np.float64)
    around = 0.5 * inputs - origin
    units = _magnitudes(around)
    around /= units
    mean = shares @ around
    around -= mean
    return 2 * (origin + units * mean), 2 * units * np.sqrt(shares @ around**2)


def _sparse_moments(inputs: Inputs, shares: Array) -> tuple[Array, Array]:
    """No shift, and the standard deviation of each input, (d,)."""
    units = _magnitudes(inputs)
    relative = sparse.coo_array(inputs @ sparse.diags_array(1 / units))
    (rows, columns), values, n_inputs = relative.coords, relative.data, len(units)
    mean = np.bincount(columns, shares[rows] * values, n_inputs)
    # Centred before squaring: squares would lose a small spread around a large mean.
    around = np.bincount(columns, shares[rows] * (values - mean[columns]) ** 2, n_inputs)
    has_zeros = np.bincount(columns, minlength=n_inputs) < relative.shape[0]
    zeros = np.where(has_zeros, np.maximum(0.0, 1.0 - np.bincount(columns, shares[rows], n_inputs)), 0.0)
    lowest, highest = (np.asarray(end.todense()).ravel() for end in (relative.min(axis=0), relative.max(axis=0)))
    # The variance of a constant is only rounding.
    return np.zeros(n_inputs), units * np.sqrt(np.where(highest > lowest, around + zeros * mean**2, 0.0))


def _magnitudes(inputs: Inputs) -> Array:
    """The largest magnitude of each input, (d,); one where all values are zero."""
    if is_sparse(inputs):
        largest = np.asarray(abs(inputs).max(axis=0).todense(), dtype=np.float64).ravel()
    else:
        largest = np.maximum(np.max(inputs, axis=0), -np.min(inputs, axis=0)).astype(np.float64)
    return np.where(largest > 0, largest, 1.0)


def _ranked(inputs: Array, kept: Array, shares: Array, policy: ScalingPolicy) -> Ranked:
    units = _magnitudes(inputs)
    found = [
        (np.zeros(0), np.zeros(0))
        if kept[place]
        else _mid_ranks(inputs[:, place] / units[place], shares, policy.most_knots)
        for place in range(inputs.shape[1])
    ]
    starts = np.cumsum([0, *(len(knots) for knots, _ in found)])
    knots, ranks = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    return Ranked(units, knots, ranks, starts)


def _mid_ranks(values: Array, shares: Array, most_knots: int) -> tuple[Array, Array]:
    """Distinct values and their mid-ranks in [0, 1]; if there are many values, both ends and equal steps of rank."""
    distinct, places = np.unique(values, return_inverse=True)
    sums = np.bincount(places, weights=shares)
    ends = np.cumsum(sums)
    ranks = (ends - sums / 2) / ends[-1]  # exactly one half for a constant
    if len(distinct) > most_knots:
        wanted = np.linspace(ranks[0], ranks[-1], most_knots)
        kept = np.unique(np.clip(np.searchsorted(ranks, wanted), 0, len(ranks) - 1))
        return distinct[kept], ranks[kept]
    return distinct, ranks
