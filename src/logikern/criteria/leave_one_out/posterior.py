"""The posterior covariance at one expansion, by dense factors."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.criteria.leave_one_out.groups import Groups
from logikern.fitting.newton.systems import add_null_coupling, scaled_covariance
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, row_tiles
from logikern.numerics.products import fold_gram, multiply
from logikern.numerics.symmetric import inverse_root, invert
from logikern.numerics.tiled_cholesky import for_each_block


@dataclass(frozen=True)
class PosteriorPolicy:
    """Numerical limits of the dense posterior."""

    # Divide by curvatures above this only: rounding errors of 1e-16 then stay below 1e-10.
    safe_curvature: float = 1e-5
    # Eigenvalues of E' R E below this, relative to the largest, belong to constants that the likelihood ignores.
    visible_constant: float = 1e-10
    row_tile: int = 256  # rows of a block that are multiplied at a time


DEFAULT_POLICY = PosteriorPolicy()


class GroupBlocks(NamedTuple):
    """Diagonal blocks of a batch of groups."""

    members: Indices  # (k, m)
    shrinkage: Array  # (k, F m, F m): blocks of P = (I + V' K~ V)^-1, zero off the range of the projector
    covariance: Array  # (k, F m, F m): blocks of Q


class Sensitivity(NamedTuple):
    """Derivatives of sum_g b_g' Q_gg a_g with respect to the curvature (`products`) and to K~ (`weights`)."""

    products: Array  # (F, n): sum_g (V' Q b_g) (V' Q a_g), entry by entry
    weights: list[Array]  # sum_g (T b_g) (T a_g)'


class ExactPosterior:
    """Q = (K~^-1 + W)^-1 through the rows of Q V = K~ V P, with T = I - W Q = I - V (Q V)'.

    Let A = I + S K~ S, with the blocks of K~. Then P = A^-1 - L L' for the `bonds` L = A^-1 U N^(-1/2),
    N = U' A^-1 U, which null directions create between functions. So Q V = H - M L', with H = K~ S A^-1 the `own`
    part of each block, and the `reach` M = K~ S L. Where S is large enough to divide by, these are
    S^-1 (I - A^-1) and S^-1 (U N^(-1/2) - L); elsewhere they are products with K~.

    Internally, functions (F, n) are rows of the blocks that they belong to, (B, F n / B).

    Parameters
    ----------
    blocks : array of shape (F, n, n) or (1, F n, F n)
        The blocks of K~: one per function, or a single block if functions are coupled a priori.
    curvature : PointwiseCurvature
        With one weighting, and at least three functions if it has null directions.
    groups : Groups
    free_bias : bool, default=False
        Whether each function has a constant of infinite prior variance in addition to its block.
    policy : PosteriorPolicy
    """

    def __init__(
        self,
        blocks: Array,
        curvature: PointwiseCurvature,
        groups: Groups,
        free_bias: bool = False,
        policy: PosteriorPolicy = DEFAULT_POLICY,
    ):
        self.blocks = blocks
        self.policy = policy
        self.scale = curvature.scale[0].reshape(len(blocks), -1)
        self.null = None if curvature.null is None else curvature.null[0]
        self.groups = groups.repeat(self.scale.shape[1] // curvature.scale.shape[2])
        self.safe = self.scale**2 > policy.safe_curvature
        pairs = list(zip(blocks, self.scale, strict=True))
        inverses = for_each_block(lambda pair: invert(scaled_covariance(*pair)), pairs, len(blocks[0]))
        self.bonds, self.reach = self._tie(inverses)
        if free_bias:
            self._free_bias(inverses)
        shrinkages = [self._shrinkage(inverses, members) for members in self.groups.batches]

        def read(index: int) -> Array:
            # Free each inverse once it is read: there is one matrix per class.
            inverse, inverses[index] = inverses[index], np.empty((0, 0))
            return self._own(index, inverse)

        self.own = for_each(read, range(len(inverses)))
        self.batches = tuple(
            GroupBlocks(points, shrinkage, self._covariance(members))
            for points, members, shrinkage in zip(groups.batches, self.groups.batches, shrinkages, strict=True)
        )
        if self.null is None:
            self._absorb_bonds()

    def _tie(self, inverses: list[Array]) -> tuple[list[Array], list[Array]]:
        """Bonds and reach of each block, n columns each; if the curvature is diagonal, they have no columns."""
        if self.null is None:
            return [inverse[:, :0] for inverse in inverses], [inverse[:, :0] for inverse in inverses]
        n = self.null.shape[1]
        coupling = np.zeros((n, n))
        add_null_coupling(coupling, inverses, self.null)
        root = inverse_root(coupling)  # N^(-1/2)
        null = self.null.reshape(len(inverses), -1, n)

        def tie(index: int) -> tuple[Array, Array]:
            free = (null[index][:, :, None] * root).reshape(len(inverses[index]), -1)  # U N^(-1/2)
            bonds = multiply(inverses[index], free)
            free -= bonds
            return bonds, self._divide(index, free, bonds)

        bonds, reach = zip(*for_each_block(tie, range(len(inverses)), n), strict=True)
        return list(bonds), list(reach)

    def _own(self, index: int, inverse: Array) -> Array:
        """K S A^-1 = S^-1 (I - A^-1), in the memory of A^-1."""
        whole = inverse if not self.safe[index].all() else None
        free = np.negative(inverse, out=None if whole is not None else inverse)
        free.flat[:: len(free) + 1] += 1.0
        return self._divide(index, free, whole)

    def _divide(self, index: int, difference: Array, factor: Array | None) -> Array:
        """K S factor, in place: a difference divided by S where that is accurate, otherwise a product."""
        safe, scale = self.safe[index], self.scale[index]
        difference /= np.where(safe, scale, 1.0)[:, None]
        if factor is not None:
            unsafe = np.flatnonzero(~safe)
            for start in range(0, len(unsafe), self.policy.row_tile):
                rows = unsafe[start : start + self.policy.row_tile]
                difference[rows] = (self.blocks[index][rows] * scale) @ factor
        return difference

    def _free_bias(self, inverses: list[Array]) -> None:
        """One more bond for each constant E that the likelihood sees: the response has -R E (E' R E)^+ E' R."""
        tips = [bonds.T @ scale for bonds, scale in zip(self.bonds, self.scale, strict=True)]
        moved = [[-bonds @ tip for bonds in self.bonds] for tip in tips]  # P V' E
        for index, inverse in enumerate(inverses):
            moved[index][index] += inverse @ self.scale[index]
        pull = np.einsum("efn,fn->ef", moved, self.scale)  # E' R E
        values, vectors = np.linalg.eigh(pull)
        seen = values > self.policy.visible_constant * values.max()
        root = vectors[:, seen] / np.sqrt(values[seen])
        for index, scale in enumerate(self.scale):
            own = np.stack([row[index] for row in moved])  # (F, n)
            left = -(own * scale) @ self.blocks[index]  # T' E
            left[index] += 1.0
            self.bonds[index] = np.hstack([self.bonds[index], own.T @ root])
            self.reach[index] = np.hstack([self.reach[index], -left.T @ root])

    def _shrinkage(self, inverses: list[Array], members: Indices) -> Array:
        """Blocks of P."""
        blocks = -cross(self.bonds, members)
        for index, inverse in enumerate(inverses):
            blocks[:, index, :, index] += inverse[members[:, :, None], members[:, None, :]]
        return _square(blocks)

    def _covariance(self, members: Indices) -> Array:
        """Blocks of Q."""
        blocks = cross(self.reach, members)
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
        """Subtract the low-rank terms from the blocks.

        If the model has no null directions, these terms do not couple blocks, so Q V is block-diagonal.
        """
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
        """Derivatives of sum_g b_g' Q_gg a_g for b and a of shape (F, n)."""
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
        own, bonds, scale = self.own[index], self.bonds[index], self.scale[index]
        rows = [self.groups.add_up(own * function[:, None]) for function in pair]

        def finish(some: slice) -> Array:
            for row, tip in zip(rows, tips, strict=True):
                if tip.shape[1]:
                    row[some] -= tip[some] @ bonds.T
            products = np.einsum("gn,gn->n", rows[0][some], rows[1][some])
            for row in rows:
                row[some] *= -scale
            return products

        products = np.sum(for_each(finish, row_tiles(*rows[0].shape)), axis=0)
        places = self.groups.numbers, np.arange(len(self.groups.numbers))
        for row, function in zip(rows, pair, strict=True):
            row[places] += function
        return products, multiply(rows[0].T, rows[1])

    def _weigh_alone(self, index: int, product: Array) -> tuple[Array, Array]:
        """As `_weigh`, for single points without bonds: T diag(b a) T', with both halves computed at once."""
        size, signs = np.sqrt(np.abs(product)), np.sign(product)
        rows = self.own[index] * size[:, None]
        products = signs @ rows**2
        rows *= -self.scale[index]
        rows.flat[:: len(rows) + 1] += size
        return products, fold_gram(rows, signs)


def cross(tied: list[Array], members: Indices) -> Array:
    """Blocks of L L' for each group (k, m), between the blocks of K~, (k, B, m, B, m).

    `tied` has the rows of L that belong to each of the B blocks, (n, r).
    """
    n_groups, size = members.shape
    n_places, rank = len(tied) * size, tied[0].shape[1]
    blocks = np.empty((n_groups, n_places, n_places))

    def fill(some: slice) -> None:
        rows = np.stack([own[members[some]] for own in tied], axis=1)  # (k, B, m, r)
        rows = rows.reshape(len(rows), n_places, rank)
        np.matmul(rows, rows.swapaxes(1, 2), out=blocks[some])

    for_each(fill, row_tiles(n_groups, n_places * rank))
    return blocks.reshape(n_groups, len(tied), size, len(tied), size)


def _square(blocks: Array) -> Array:
    n_groups, n_functions, size = blocks.shape[:3]
    return blocks.reshape(n_groups, n_functions * size, n_functions * size)
