"""Conjugate gradients for a batch in lock-step: for linear systems, and as directions of a descent."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices, Mask
from logikern.numerics.parallel import for_each, point_tiles


class Image(NamedTuple):
    """The product of one application of the system, and a by-product worth keeping."""

    product: Array
    companion: Array


class CgResult(NamedTuple):
    """Solution x (B, C, n), the companion of x, and the number of applications."""

    solution: Array
    companion: Array
    n_products: int
    converged: Mask


def conjugate_gradient(
    apply: Callable[[Array, Indices], Image],
    precondition: Callable[[Array, Indices], Array],
    right_side: Array,
    small_enough: Callable[[Array, Indices, Array], Mask],
    max_products: int,
) -> CgResult:
    """Solve A_b x_b = r_b for each member b of the batch, from x = 0.

    The companion is linear in the argument of `apply` (for a Newton system it is
    K V p), so its value at x is accumulated along the way and costs no product.
    A converged member leaves the batch: its columns are no longer multiplied.

    Parameters
    ----------
    apply, precondition : callable
        Map arrays (members, C, n) and the member numbers to arrays of that shape.
    right_side : array of shape (B, C, n)
    small_enough : callable
        Maps residuals, member numbers and the decrease of r' A^-1 r, (members,), to booleans (members,).
    max_products : int
        Bound on the applications.
    """
    solution, companion = np.zeros_like(right_side), np.zeros_like(right_side)
    converged = np.zeros(len(right_side), dtype=bool)
    members = np.arange(len(right_side))
    residual = right_side.copy()
    direction = np.zeros_like(right_side)
    previous = np.ones(len(right_side))
    stuck = np.zeros(len(right_side), dtype=bool)
    gained = np.zeros(len(right_side))
    n_products = 0
    while True:
        done = small_enough(residual, members, gained[members])
        converged[members[done]] = True
        done |= stuck
        if done.any():
            keep = ~done
            members, residual = members[keep], residual[keep]
            direction, previous = direction[keep], previous[keep]
        if not members.size or n_products >= max_products:
            break
        conditioned = precondition(residual, members)
        strength = inner_products(residual, conditioned)
        _turn(direction, _columns(strength / previous, direction), conditioned)
        image = apply(direction, members)
        n_products += 1
        curvature = inner_products(direction, image.product)
        # Curvature that is not positive is rounding: stop this member.
        stuck = ~(np.isfinite(strength) & (curvature > 0))
        step = np.where(stuck, 0.0, strength / np.where(curvature > 0, curvature, 1.0))
        gained[members] += step * strength
        _move((solution, companion), members, _columns(step, direction), (direction, image.companion))
        _move((residual,), np.arange(len(members)), _columns(-step, direction), (image.product,))
        previous = np.where(strength > 0, strength, 1.0)
    return CgResult(solution, companion, n_products, converged)


class ConjugateDirections:
    """Directions of nonlinear conjugate gradients (Polak & Ribiere) in the metric of K~, for every weighting.

    A step is a gradient in that metric, or a preconditioned one such as the Newton step of a majoriser.

    Parameters
    ----------
    shape : tuple (B, C, n)
    dtype : numpy dtype
    restart_after : float, default=inf
        Steps after which the old direction is dropped.
    largest_overlap : float, default=inf
        Overlap of successive gradients above which the old direction is dropped as well.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype,
        restart_after: float = np.inf,
        largest_overlap: float = np.inf,
    ):
        self.restart_after, self.largest_overlap = restart_after, largest_overlap
        self.direction, self.image, self.descent = (np.zeros(shape, dtype) for _ in range(3))
        self.strength = np.zeros(shape[0])  # decrease of the loss along the last step; zero means restart
        self.age = np.zeros(shape[0], dtype=int)

    def turn(self, members: Indices, step: Array, image: Array, descent: Array) -> None:
        """Set direction and image of some members, from steps, their images under K~ and the negative gradient."""
        strength, before = _dot_products(descent, image), self.strength[members]
        overlap = _dot_products(take_members(self.descent, members), image)
        goes_on = (before > 0) & (self.age[members] < self.restart_after)
        if np.isfinite(self.largest_overlap):
            goes_on &= np.abs(overlap) < self.largest_overlap * strength
        factor = np.where(goes_on, np.maximum(0.0, strength - overlap) / np.where(before > 0, before, 1.0), 0.0)
        descends = strength + factor * _dot_products(descent, take_members(self.image, members)) > 0
        factor = np.where(descends, factor, 0.0)
        self.direction[members] = _columns(factor, step) * take_members(self.direction, members) + step
        self.image[members] = _columns(factor, image) * take_members(self.image, members) + image
        self.descent[members], self.strength[members] = descent, np.maximum(strength, 0.0)
        self.age[members] = np.where(factor > 0, self.age[members] + 1, 0)

    def restart(self, members: Indices, step: Array, image: Array) -> None:
        """Replace the last direction of some members by the step itself."""
        self.direction[members], self.image[members] = step, image


def _columns(factors: Array, functions: Array) -> Array:
    """One factor per member, in the shape and precision of functions."""
    return factors.astype(functions.dtype)[:, None, None]


def _turn(direction: Array, factors: Array, conditioned: Array) -> None:
    """direction = factors direction + conditioned."""

    def turn(points: slice) -> None:
        own = direction[..., points]
        own *= factors
        own += conditioned[..., points]

    for_each(turn, point_tiles(direction.shape))


def _move(places: tuple[Array, ...], members: Indices, steps: Array, ways: tuple[Array, ...]) -> None:
    """Each place[members] += steps way."""

    def move(points: slice) -> None:
        for place, way in zip(places, ways, strict=True):
            add(place[..., points], members, steps * way[..., points])

    for_each(move, point_tiles(ways[0].shape))


def inner_products(left: Array, right: Array) -> Array:
    """Sum of products of each member, (B, C, n) twice -> (B,); rows are added up in double precision."""

    def of_some(points: slice) -> Array:
        products = np.einsum("bcn,bcn->bc", left[..., points], right[..., points])
        return products.sum(axis=1, dtype=np.float64)

    return np.sum(for_each(of_some, point_tiles(left.shape)), axis=0)


def _dot_products(left: Array, right: Array) -> Array:
    """`inner_products`, computed by BLAS if it sums in double precision."""
    if left.dtype == np.float32:
        return inner_products(left, right)
    return np.array([np.vdot(*pair) for pair in zip(left, right, strict=True)])


def take_members(values: Array, members: Indices) -> Array:
    """values[members], without a copy if these are all members in order."""
    return values if is_everyone(members, len(values)) else values[members]


def is_everyone(members: Indices, n_batch: int) -> bool:
    """Whether these are all members of the batch, in order."""
    return len(members) == n_batch and bool((members == np.arange(n_batch)).all())


def add(total: Array, members: Indices, addend: Array) -> None:
    """total[members] += addend, in one pass if these are all members."""
    if is_everyone(members, len(total)):
        total += addend
    else:
        total[members] += addend
