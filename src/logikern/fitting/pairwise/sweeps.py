"""Pairwise ascent of one weighting: sweeps over its points, and the progress of the duality gap."""

from dataclasses import dataclass, field

import numpy as np

from logikern.fitting.pairwise.extrapolation import extrapolate
from logikern.fitting.pairwise.joint_rows import JointRows
from logikern.fitting.pairwise.loops import compiled
from logikern.fitting.pairwise.policy import POLICY, PairwisePolicy
from logikern.fitting.pairwise.state import DualState
from logikern.fitting.problem import max_norm
from logikern.fitting.units import residual_sizes, usual_weights
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Array, Indices


@dataclass(eq=False)
class SweepState:
    """The dual of one weighting between sweeps."""

    state: DualState
    dtype: np.dtype  # of the dual that is returned
    policy: PairwisePolicy = POLICY
    fresh: bool = True  # whether the latents are recomputed from the dual rather than updated
    gaps: Array | None = None  # each point's contribution to the gap
    gap: float = np.inf
    last_gap: float = np.inf
    loss: float = np.inf
    norm: float = np.inf  # norm of the gradient, in the units of Newton's method
    n_sweeps: int = 0
    # Changes of the last few sweeps, (depth, C, n) each.
    moves: Array = field(default_factory=lambda: np.zeros(0))
    images: Array = field(default_factory=lambda: np.zeros(0))

    def measure(self) -> None:
        """Loss, gradient and gap at the current latents."""
        state = self.state
        loss, gradient = Softmax().loss_and_gradient(state.latent[None], state.targets, state.weights[None])
        sizes = residual_sizes(max_norm(gradient), usual_weights(state.weights[None]), self.dtype)
        self.norm = float((max_norm(gradient + state.dual) / sizes)[0])
        self.loss = float(loss[0] + 0.5 * np.vdot(state.dual, state.latent))
        self.gaps = state.gaps()
        self.gap = float(self.gaps.sum())

    def active_points(self) -> Indices:
        """Points that account for nearly all of the gap; all points with weight if the gap does not fall."""
        if self.gaps is None or self.gap > self.policy.steady * self.last_gap:
            return np.flatnonzero(self.state.weights > 0)
        order = np.argsort(-self.gaps)
        total = np.cumsum(self.gaps[order])
        return order[: 1 + int(np.searchsorted(total, (1.0 - self.policy.skipped_gap) * total[-1]))]

    def sweep(self, rows: JointRows, points: Indices) -> None:
        """Visit points in the order given, block by block, then extrapolate from the last sweeps."""
        state, policy = self.state, self.policy
        own = self.n_sweeps % policy.depth
        if not self.n_sweeps:
            self.moves, self.images = np.zeros((2, policy.depth, *state.dual.shape))
        self.moves[own], self.images[own] = -state.dual, -state.latent
        for start in range(0, len(points), policy.block):
            _solve_block(state, rows, points[start : start + policy.block], policy.passes)
        state.renormalise()
        self.moves[own] += state.dual
        self.images[own] += state.latent
        self.n_sweeps += 1
        # The first sweep comes from the boundary, where shares are zero, and says nothing about the following ones.
        if self.n_sweeps > 1:
            coefficients = extrapolate(state, self.moves, self.images, policy)
            state.renormalise()
            # The stored move includes the extrapolation.
            self.moves[own] += np.tensordot(coefficients, self.moves, 1)
            self.images[own] += np.tensordot(coefficients, self.images, 1)
        self.last_gap, self.fresh = self.gap, False


def _solve_block(state: DualState, rows: JointRows, points: Indices, n_passes: int) -> None:
    """Solve a block of points among themselves, and update the latents of all."""
    block = rows.block(points)
    log_shares, dual, latent = (
        np.ascontiguousarray(array[:, points].T) for array in (state.log_shares, state.dual, state.latent)
    )
    compiled()(block.kernels, rows.couplings, log_shares, dual, latent, state.weights[points], n_passes)
    change = dual.T - state.dual[:, points]
    state.log_shares[:, points], state.dual[:, points] = log_shares.T, dual.T
    rows.update_latents(block, change, state.latent)
