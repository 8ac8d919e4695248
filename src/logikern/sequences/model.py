"""A fitted sequence model: what prediction needs."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from logikern.model.fitted import TILE_ENTRIES as KERNEL_ENTRIES
from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Indices
from logikern.operators.expansion import KernelExpansion, tiles_of
from logikern.sequences.chains import Chains, Posterior, infer
from logikern.sequences.window import Window

# Conditional probabilities of labels that are computed at a time.
TILE_ENTRIES = 2**23


@dataclass(frozen=True, eq=False)
class SequenceModel:
    """Functions of labels, and scores of pairs, first and last labels (C, C + 2)."""

    positions: FittedModel
    transitions: Array
    window: tuple[float, ...] = ()  # weights of neighbours at offsets -r .. -1, 1 .. r
    edges: Indices | None = None  # of the training sequences; needed for a window

    def fields(self, rows: Any, offsets: Indices) -> Iterator[tuple[Chains, Array, slice]]:
        """Chains and their fields in parts of bounded size, and their positions."""
        n_labels = self.positions.n_classes
        most = max(1, TILE_ENTRIES // n_labels**2)
        begin = 0
        while begin < len(offsets) - 1:
            end = max(begin + 1, int(np.searchsorted(offsets, offsets[begin] + most, side="right")) - 1)
            positions = slice(offsets[begin], offsets[end])
            chains = Chains(offsets[begin : end + 1] - offsets[begin], n_labels)
            yield chains, self.field(rows[positions], chains), positions
            begin = end

    def field(self, rows: Any, chains: Chains) -> Array:
        """Scores of labels at the positions of whole sequences, and of pairs, first and last labels."""
        return np.hstack([self._latents(rows, chains), self.transitions])

    def _latents(self, rows: Any, chains: Chains) -> Array:
        """Functions of labels at the positions of whole sequences, (C, n)."""
        if not self.window:
            return self.positions.latents(rows).T
        each = np.concatenate(
            [
                self._functions_of_neighbours(part)
                for part in tiles_of(rows, self.positions.n_compared, KERNEL_ENTRIES)
            ],
            axis=-1,
        )
        return Window(chains.offsets, self.window).gather(each)[0] + self.positions.constants[:, None]

    def _functions_of_neighbours(self, rows: Any) -> Array:
        """The functions of single positions that the window sums, (offsets, C, n), from one kernel matrix."""
        own, shifted = self.positions.specification, self._shifted_dual
        outer = np.empty((len(shifted), len(own.tying.kernel_of), rows.shape[0]))
        for number, kernel in enumerate(own.kernels):
            users = np.array(own.tying.kernel_of) == number
            coefficients = shifted[:, users].reshape(-1, shifted.shape[-1])
            values = KernelExpansion(kernel, self.positions.points, coefficients).at(rows)
            outer[:, users] = values.reshape(len(shifted), -1, rows.shape[0])
        return own.mixing.forward(outer * own.latent_variances[:, None])

    @cached_property
    def _shifted_dual(self) -> Array:
        """T_d' of the dual for all offsets d, for each latent function, (offsets, P, n)."""
        assert self.edges is not None
        shifted = Window(self.edges, self.window).spread(self.positions.dual[None])
        return self.positions.specification.mixing.adjoint(shifted)

    def posteriors(self, rows: Any, offsets: Indices) -> Iterator[Posterior]:
        """The distribution of labels, in parts of bounded size."""
        return (infer(chains, field) for chains, field, _ in self.fields(rows, offsets))

    def marginals(self, rows: Any, offsets: Indices) -> Array:
        """Probabilities of labels at every position, (n, C)."""
        return np.concatenate([posterior.marginals for posterior in self.posteriors(rows, offsets)])

    def best_labels(self, rows: Any, offsets: Indices) -> Indices:
        """The most probable labels of each sequence, (n,)."""
        return np.concatenate([chains.best_labels(field) for chains, field, _ in self.fields(rows, offsets)])

    def draw(self, rows: Any, offsets: Indices, n: int, random: np.random.RandomState) -> Indices:
        """Labels drawn from their distribution, (n, n_positions)."""
        return np.hstack([posterior.draw(n, random) for posterior in self.posteriors(rows, offsets)])

    def log_likelihoods(self, rows: Any, offsets: Indices, labels: Indices) -> Array:
        """Log probability of the labels of each sequence, (S,)."""
        parts = self.fields(rows, offsets)
        scores = [
            chains.scores_of(field, labels[positions]) - infer(chains, field).log_partition
            for chains, field, positions in parts
        ]
        return np.concatenate(scores)

    def __getstate__(self) -> dict[str, Any]:
        """The state for a file, without anything that can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
