"""A fitted model of sequences: what prediction needs."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Indices
from logikern.sequences.chains import Chains, Posterior, infer

# Conditional probabilities of labels that are computed at a time.
TILE_ENTRIES = 2**23


@dataclass(frozen=True, eq=False)
class SequenceModel:
    """Functions of labels, and scores of pairs, first and last labels (C, C + 2)."""

    positions: FittedModel
    transitions: Array

    def fields(self, rows: Any, offsets: Indices) -> Iterator[tuple[Chains, Array, slice]]:
        """Chains and their fields in parts of bounded size, and their positions."""
        n_labels = self.positions.n_classes
        most = max(1, TILE_ENTRIES // n_labels**2)
        begin = 0
        while begin < len(offsets) - 1:
            end = max(begin + 1, int(np.searchsorted(offsets, offsets[begin] + most, side="right")) - 1)
            positions = slice(offsets[begin], offsets[end])
            chains = Chains(offsets[begin : end + 1] - offsets[begin], n_labels)
            yield chains, np.hstack([self.positions.latents(rows[positions]).T, self.transitions]), positions
            begin = end

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
