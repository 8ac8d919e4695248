"""Neighbouring positions: the kernel of a window, from shifts of the kernel of single positions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


@dataclass(frozen=True, eq=False)
class Window:
    """k(s, t) = sum_d w_d k(x_(s+d), x_(t+d)) between positions s and t, with w_0 = 1.

    With T_d the matrix that takes the value at position s + d of the same chain, or zero if there is no such
    position, the matrix of the window is sum_d w_d T_d K T_d', and T_d' = T_(-d). The functions are sums of
    independent functions of each neighbour.

    Parameters
    ----------
    edges : integer array of shape (S + 1,)
        Chain s has the positions from edges[s] to edges[s + 1].
    weights : tuple of 2 r floats
        w_d of the offsets d = -r .. -1, 1 .. r.
    """

    edges: Indices
    weights: tuple[float, ...]

    @cached_property
    def steps(self) -> tuple[tuple[int, float], ...]:
        """Offsets and their weights, the position itself first."""
        reach = len(self.weights) // 2
        others = [step for step in range(-reach, reach + 1) if step]
        return (0, 1.0), *zip(others, self.weights, strict=True)

    @cached_property
    def _chain_of(self) -> Indices:
        return np.repeat(np.arange(len(self.edges) - 1), np.diff(self.edges))

    def has(self, step: int) -> Array:
        """Whether a chain has a position `step` after each of its positions, (n,)."""
        moved = np.arange(len(self._chain_of)) + step
        inside = (moved >= 0) & (moved < len(moved))
        return inside & (self._chain_of[np.where(inside, moved, 0)] == self._chain_of)

    def take(self, values: Array, step: int) -> Array:
        """T_step values: the values `step` positions later in the same chain, or zero; (..., n) -> (..., n)."""
        return np.where(self.has(step), np.roll(values, -step, axis=-1), values.dtype.type(0))

    def spread(self, per_class: Array) -> Array:
        """T_d' of functions (B, C, n) for all offsets d, as one batch (offsets * B, C, n)."""
        return np.concatenate([self.take(per_class, -step) for step, _ in self.steps])

    def gather(self, images: Array) -> Array:
        """sum_d w_d T_d of a batch (offsets * B, C, n), as `spread` makes it: (B, C, n)."""
        parts = np.split(images, len(self.steps))
        total = np.zeros(parts[0].shape, images.dtype)
        for part, (step, weight) in zip(parts, self.steps, strict=True):
            total += images.dtype.type(weight) * self.take(part, step)
        return total


class WindowGradient(NamedTuple):
    """Derivatives of a contraction in the logarithms of all hyperparameters of the covariance of a window."""

    single: CovarianceGradient
    weights: Array  # (2 r,)


@dataclass(frozen=True, eq=False)
class WindowCovariance:
    """The covariance of all class functions at all positions, each of which sees its neighbours.

    Constants of classes are added once, not for each neighbour.

    Parameters
    ----------
    single : ClassCovariance
        The covariance of single positions.
    window : Window
    stored : ClassCovariance or None, default=None
        The same covariance with stored matrices of the whole window. None multiplies shifted functions by the
        matrices of single positions, whose time is proportional to the number of offsets.
    """

    single: ClassCovariance
    window: Window
    stored: ClassCovariance | None = None

    @property
    def n_points(self) -> int:
        return self.single.n_points

    @property
    def _without_bias(self) -> ClassCovariance:
        return replace(self.single, bias_variance=0.0)

    def matmul(self, per_class: Array) -> Array:
        """K~ times each member of the batch, (B, C, n) -> (B, C, n)."""
        if self.stored is not None:
            return self.stored.matmul(per_class)
        return self._finish(per_class, self._without_bias.matmul(self.window.spread(per_class)))

    def accurate_matmul(self, per_class: Array) -> Array:
        """`matmul` with kernel values computed in float64; the result is float64."""
        per_class = per_class.astype(np.float64, copy=False)
        return self._finish(per_class, self._without_bias.accurate_matmul(self.window.spread(per_class)))

    def _finish(self, per_class: Array, images: Array) -> Array:
        constants = self.single.bias_variance * per_class.sum(axis=-1, keepdims=True)
        return self.window.gather(images) + constants.astype(images.dtype)

    def contract_gradient(self, left: Array, right: Array) -> WindowGradient:
        """d/d log h of sum left . (K~ right), left and right (B, C, n)."""
        found = list(self._contract_steps(left, right))
        kernels = tuple(np.sum(parts, axis=0) for parts in zip(*(own.kernels for own in found), strict=True))
        variances = np.sum([own.variances for own in found], axis=0)
        single = CovarianceGradient(kernels, variances, found[0].bias_variance)
        # All variances together scale the part of an offset as its weight does.
        return WindowGradient(single, np.array([own.variances.sum() for own in found[1:]]))

    def _contract_steps(self, left: Array, right: Array) -> Iterator[CovarianceGradient]:
        for step, weight in self.window.steps:
            own = self._without_bias if step else self.single
            yield own.contract_gradient(weight * self.window.take(left, -step), self.window.take(right, -step))
