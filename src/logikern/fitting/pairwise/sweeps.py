"""The ascent of one weighting in the dual: sweeps over its points, and how far they have come."""

from dataclasses import dataclass, field

import numpy as np

from logikern.fitting.pairwise.extrapolation import extrapolate
from logikern.fitting.pairwise.joint_rows import JointRows
from logikern.fitting.pairwise.loops import compiled
from logikern.fitting.pairwise.state import DualState
from logikern.fitting.problem import max_norm
from logikern.fitting.units import residual_sizes, usual_weights
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Array, Indices, Outcome

# Points whose rows are computed together, and passes over them while these rows are at hand: what a block does to
# itself is cheap, next to what it takes to tell all others.
BLOCK = 256
PASSES = 10
# Points that have no more of the gap than this, all together, are left alone as long as the gap falls by a fifth.
SETTLED = 0.01
STEADY = 0.8
# Sweeps whose moves are combined.
DEPTH = 5


@dataclass(eq=False)
class SweepState:
    """A state on its way up.

    Parameters
    ----------
    state : DualState
    fresh : bool, default=True
        Whether the latents are those of the dual, not carried along.
    """

    state: DualState
    fresh: bool = True
    gaps: Array | None = None  # what each point has of the gap
    gap: float = np.inf
    last_gap: float = np.inf
    loss: float = np.inf
    norm: float = np.inf  # of the gradient, in the units of Newton's method
    refreshed_at: float = np.inf  # the norm when latents were last recomputed from the dual
    n_sweeps: int = 0
    # Of the last few sweeps, (DEPTH, C, n) each.
    moves: Array = field(default_factory=lambda: np.zeros(0))
    images: Array = field(default_factory=lambda: np.zeros(0))
    outcome: Outcome | None = None

    def measure(self) -> None:
        """Loss, gradient and gap at the latents as they are."""
        state = self.state
        loss, gradient = Softmax().loss_and_gradient(state.latent[None], state.targets, state.weights[None])
        sizes = residual_sizes(gradient, usual_weights(state.weights[None]))
        self.norm = float((max_norm(gradient + state.dual) / sizes)[0])
        self.loss = float(loss[0] + 0.5 * np.vdot(state.dual, state.latent))
        self.gaps = state.gaps()
        self.gap = float(self.gaps.sum())

    def unsettled(self) -> Indices:
        """Points that have nearly all of the gap; where it does not fall, all that have weight."""
        if self.gaps is None or self.gap > STEADY * self.last_gap:
            return np.flatnonzero(self.state.weights > 0)
        order = np.argsort(-self.gaps)
        total = np.cumsum(self.gaps[order])
        return order[: 1 + int(np.searchsorted(total, (1.0 - SETTLED) * total[-1]))]

    def sweep(self, rows: JointRows, points: Indices) -> None:
        """Visit points in the order given, block by block, then combine this sweep with those before it."""
        state, own = self.state, self.n_sweeps % DEPTH
        if not self.n_sweeps:
            self.moves, self.images = np.zeros((2, DEPTH, *state.dual.shape))
        self.moves[own], self.images[own] = -state.dual, -state.latent
        for start in range(0, len(points), BLOCK):
            _visit(state, rows, points[start : start + BLOCK])
        state.settle()
        self.moves[own] += state.dual
        self.images[own] += state.latent
        self.n_sweeps += 1
        # The first sweep comes from the edge, where shares are zero, and tells nothing of those that follow.
        if self.n_sweeps > 1:
            coefficients = extrapolate(state, self.moves, self.images)
            state.settle()
            # What is remembered is the whole way, not the sweep alone.
            self.moves[own] += np.tensordot(coefficients, self.moves, 1)
            self.images[own] += np.tensordot(coefficients, self.images, 1)
        self.last_gap, self.fresh = self.gap, False


def _visit(state: DualState, rows: JointRows, points: Indices) -> None:
    """Solve a block of points among themselves, and tell the others."""
    block = rows.block(points)
    log_shares, dual, latent = (
        np.ascontiguousarray(array[:, points].T) for array in (state.log_shares, state.dual, state.latent)
    )
    compiled()(block.kernels, rows.couplings, log_shares, dual, latent, state.weights[points], PASSES)
    change = dual.T - state.dual[:, points]
    state.log_shares[:, points], state.dual[:, points] = log_shares.T, dual.T
    rows.pass_on(block, change, state.latent)
