"""The posterior covariance at one expansion, by dense factors: what leaving points out needs of it."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk

from logikern.fitting.groups import Groups
from logikern.fitting.systems import add_null_coupling, scaled_covariance
from logikern.likelihoods.base import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.symmetric import invert

# A curvature above this may be divided by: rounding of 1e-16 then stays below 1e-10.
SAFE_CURVATURE = 1e-5
# Of the largest: a constant with less pull on the duals than this is one that the likelihood does not see.
VISIBLE_CONSTANT = 1e-10
# Rows of a block that are multiplied at a time.
ROW_TILE = 256
# Entries of all blocks that are gathered at a time.
CROSS_ENTRIES = 2**19


class GroupBlocks(NamedTuple):
    """Diagonal blocks that belong to a batch of groups.

    Attributes
    ----------
    members : integer array of shape (k, m)
    shrinkage : array of shape (k, F m, F m)
        Blocks of P = (I + V' K~ V)^-1, zero off the range of the projector.
    covariance : array of shape (k, F m, F m)
        Blocks of Q.
    """

    members: Indices
    shrinkage: Array
    covariance: Array


class Sensitivity(NamedTuple):
    """How sum_g b_g' Q_gg a_g varies: by the curvature through `products`, by K~ through `weights`.

    Attributes
    ----------
    products : array of shape (F, n)
        sum_g (V' Q b_g) (V' Q a_g), entry by entry.
    weights : list of arrays, one of the shape of each block
        sum_g (T b_g) (T a_g)'.
    """

    products: Array
    weights: list[Array]


class ExactPosterior:
    """Q = (K~^-1 + W)^-1 through the rows of Q V = K~ V P, with T = I - W Q = I - V (Q V)'.

    With A = I + S K~ S, whose blocks are those of K~, P = A^-1 - L L' for the `bonds`
    L = A^-1 U N^(-1/2), N = U' A^-1 U, that null directions tie between functions. So Q V = H - M L', with
    H = K~ S A^-1 each block's `own`, and the `reach` M = K~ S L. These are S^-1 (I - A^-1) and
    S^-1 (U N^(-1/2) - L) where S may be divided by, and products with K~ where it may not.

    Inside, functions (F, n) are rows of the blocks they belong to, (B, F n / B).

    Parameters
    ----------
    blocks : array of shape (F, n, n) or (1, F n, F n)
        The blocks of K~: one per function, or one of all that are coupled a priori.
    curvature : Curvature
        Of one weighting; of three functions or more if it has null directions.
    groups : Groups
    free_bias : bool, default=False
        Whether each function has a constant of infinite prior variance beside its own block.
    """

    def __init__(self, blocks: Array, curvature: Curvature, groups: Groups, free_bias: bool = False):
        self.blocks = blocks
        self.scale = curvature.scale[0].reshape(len(blocks), -1)
        self.null = None if curvature.null is None else curvature.null[0]
        self.groups = groups.repeat(self.scale.shape[1] // curvature.scale.shape[2])
        self.safe = self.scale**2 > SAFE_CURVATURE
        inverses = [invert(scaled_covariance(block, own)) for block, own in zip(blocks, self.scale, strict=True)]
        self.bonds, self.reach = self._tie(inverses)
        if free_bias:
            self._free_bias(inverses)
        shrinkages = [self._shrinkage(inverses, members) for members in self.groups.batches]
        # Each inverse is given up before the next one is read: there are as many matrices as classes.
        self.own = [self._own(index, inverses.pop(0)) for index in range(len(blocks))]
        self.batches = tuple(
            GroupBlocks(points, shrinkage, self._covariance(members))
            for points, members, shrinkage in zip(groups.batches, self.groups.batches, shrinkages, strict=True)
        )
        if self.null is None:
            self._absorb_bonds()

    def _tie(self, inverses: list[Array]) -> tuple[list[Array], list[Array]]:
        """Bonds and reach of each block, n columns each; none where the curvature is diagonal."""
        if self.null is None:
            return [inverse[:, :0] for inverse in inverses], [inverse[:, :0] for inverse in inverses]
        n = self.null.shape[1]
        null, coupling = self.null.reshape(len(inverses), -1, n), np.zeros((n, n))
        for inverse, own in zip(inverses, null, strict=True):
            add_null_coupling(coupling, inverse, own)
        lower = np.linalg.cholesky(coupling)
        root = solve_triangular(lower, np.eye(n), lower=True, check_finite=False).T  # N^(-1/2)
        del coupling, lower
        bonds, reach = [], []
        for index, inverse in enumerate(inverses):
            free = (null[index][:, :, None] * root).reshape(len(inverse), -1)  # U N^(-1/2)
            bonds.append(inverse @ free)
            free -= bonds[-1]
            reach.append(self._divide(index, free, bonds[-1]))
        return bonds, reach

    def _own(self, index: int, inverse: Array) -> Array:
        """K S A^-1 = S^-1 (I - A^-1), in the memory of A^-1."""
        whole = inverse if not self.safe[index].all() else None
        free = np.negative(inverse, out=None if whole is not None else inverse)
        free.flat[:: len(free) + 1] += 1.0
        return self._divide(index, free, whole)

    def _divide(self, index: int, difference: Array, factor: Array | None) -> Array:
        """K S factor, equal to S^-1 times a difference that is given; in place."""
        safe, scale = self.safe[index], self.scale[index]
        difference /= np.where(safe, scale, 1.0)[:, None]
        if factor is not None:
            unsafe = np.flatnonzero(~safe)
            for start in range(0, len(unsafe), ROW_TILE):
                rows = unsafe[start : start + ROW_TILE]
                difference[rows] = (self.blocks[index][rows] * scale) @ factor
        return difference

    def _free_bias(self, inverses: list[Array]) -> None:
        """One more bond for each constant E that the likelihood sees: -R E (E' R E)^+ E' R in the response."""
        tips = [bonds.T @ scale for bonds, scale in zip(self.bonds, self.scale, strict=True)]
        moved = [[-bonds @ tip for bonds in self.bonds] for tip in tips]  # P V' E
        for index, inverse in enumerate(inverses):
            moved[index][index] += inverse @ self.scale[index]
        pull = np.einsum("efn,fn->ef", moved, self.scale)  # E' R E
        values, vectors = np.linalg.eigh(pull)
        seen = values > VISIBLE_CONSTANT * values.max()
        root = vectors[:, seen] / np.sqrt(values[seen])
        for index, scale in enumerate(self.scale):
            own = np.stack([row[index] for row in moved])  # (F, n)
            left = -(own * scale) @ self.blocks[index]  # T' E
            left[index] += 1.0
            self.bonds[index] = np.hstack([self.bonds[index], own.T @ root])
            self.reach[index] = np.hstack([self.reach[index], -left.T @ root])

    def _shrinkage(self, inverses: list[Array], members: Indices) -> Array:
        """Blocks of P."""
        blocks = -_cross(self.bonds, members)
        for index, inverse in enumerate(inverses):
            blocks[:, index, :, index] += inverse[members[:, :, None], members[:, None, :]]
        return _square(blocks)

    def _covariance(self, members: Indices) -> Array:
        """Blocks of Q."""
        blocks = _cross(self.reach, members)
        for index, own in enumerate(self.own):
            blocks[:, index, :, index] += self._own_covariance(index, own, members)
        return _square(blocks)

    def _own_covariance(self, index: int, own: Array, members: Indices) -> Array:
        """Blocks of (K^-1 + S^2)^-1 = H S^-1 = K - H S K of one block, (k, m, m)."""
        safe, scale, block = self.safe[index], self.scale[index], self.blocks[index]
        found = own[members[:, :, None], members[:, None, :]] / np.where(safe, scale, 1.0)[members][:, None, :]
        for group, place in np.argwhere(~safe[members]):
            rows, column = members[group], block[members[group, place]]
            found[group, :, place] = column[rows] - own[rows] @ (scale * column)
        return found

    def _absorb_bonds(self) -> None:
        """Without null directions no bond leaves its block: Q V is its own."""
        for index, (own, bonds, reach) in enumerate(zip(self.own, self.bonds, self.reach, strict=True)):
            if bonds.shape[1]:
                own -= reach @ bonds.T
                self.bonds[index], self.reach[index] = bonds[:, :0], reach[:, :0]

    def respond(self, functions: Array) -> Array:
        """V' Q f, (F, n) -> (F, n)."""
        rows = functions.reshape(self.scale.shape)
        tip = sum(row @ reach for row, reach in zip(rows, self.reach, strict=True))
        found = [row @ own - bonds @ tip for row, own, bonds in zip(rows, self.own, self.bonds, strict=True)]
        return np.stack(found).reshape(functions.shape)

    def sensitivity(self, left: Array, right: Array) -> Sensitivity:
        """Of sum_g b_g' Q_gg a_g, where b and a of shape (F, n) are cut into groups."""
        shape = left.shape
        left, right = left.reshape(self.scale.shape), right.reshape(self.scale.shape)
        if self.null is None and self.groups.alone:
            found = [self._weigh_alone(index, left[index] * right[index]) for index in range(len(left))]
        else:
            tips = [self._tips(functions) for functions in (left, right)]
            found = [self._weigh(index, (left[index], right[index]), tips) for index in range(len(left))]
        products = np.stack([products for products, _ in found]).reshape(shape)
        return Sensitivity(products, [weights for _, weights in found])

    def _tips(self, functions: Array) -> Array:
        return self.groups.add_up(
            sum(reach * function[:, None] for reach, function in zip(self.reach, functions, strict=True))
        )

    def _weigh(self, index: int, pair: tuple[Array, Array], tips: list[Array]) -> tuple[Array, Array]:
        places = self.groups.numbers, np.arange(len(self.groups.numbers))
        rows = []
        for function, tip in zip(pair, tips, strict=True):
            rows.append(self.groups.add_up(self.own[index] * function[:, None]))
            if tip.shape[1]:
                rows[-1] -= tip @ self.bonds[index].T
        products = np.einsum("gn,gn->n", *rows)
        for row, function in zip(rows, pair, strict=True):
            row *= -self.scale[index]
            row[places] += function
        return products, rows[0].T @ rows[1]

    def _weigh_alone(self, index: int, product: Array) -> tuple[Array, Array]:
        """The same for points one by one and no bonds: T diag(b a) T', with its two halves in one."""
        size = np.sqrt(np.abs(product))
        rows = self.own[index] * size[:, None]
        signs = [sign for sign in (1.0, -1.0) if (sign * product > 0).any()]
        parts = [slice(None) if len(signs) < 2 else np.flatnonzero(sign * product > 0) for sign in signs]
        products = np.zeros(len(product))
        for sign, part in zip(signs, parts, strict=True):
            products += sign * np.einsum("ij,ij->j", rows[part], rows[part])
        rows *= -self.scale[index]
        rows.flat[:: len(rows) + 1] += size
        weights = np.zeros((len(product),) * 2, order="F")
        for sign, part in zip(signs, parts, strict=True):
            weights = dsyrk(2.0 * sign, rows[part].T, beta=1.0, c=weights, overwrite_c=1)
        weights.flat[:: len(weights) + 1] *= 0.5
        return products, weights.T


def _cross(tied: list[Array], members: Indices) -> Array:
    """Blocks of L L' between the blocks of K~ at the places of each group, (k, B, m, B, m), some groups at a time."""
    n_groups, size = members.shape
    side = len(tied) * size
    result = np.empty((n_groups, side, side))
    width = max(1, CROSS_ENTRIES // max(1, side * tied[0].shape[1]))
    for start in range(0, n_groups, width):
        some = slice(start, start + width)
        rows = np.stack([own[members[some]] for own in tied], axis=1).reshape(len(members[some]), side, -1)
        np.matmul(rows, rows.swapaxes(1, 2), out=result[some])
    return result.reshape(n_groups, len(tied), size, len(tied), size)


def _square(blocks: Array) -> Array:
    n_groups, n_functions, size = blocks.shape[:3]
    return blocks.reshape(n_groups, n_functions * size, n_functions * size)
