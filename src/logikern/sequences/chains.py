"""The labels of chains: a conditional random field given the scores of labels at positions and of pairs of labels."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import TILES, for_each
from logikern.sequences import loops


@dataclass(frozen=True, eq=False)
class Chains:
    """Positions of chains, and the layout of everything that is scored.

    A field of shape (C, n + C + 2) has the scores of C labels at n positions, of pairs of successive labels (column n
    + j has the pairs that end in label j), of first and of last labels. The log score of labels y is the inner
    product of the field with their counts, so latents, duals, gradients and counts are all fields.

    Parameters
    ----------
    offsets : integer array of shape (S + 1,)
        Chain s has the positions from offsets[s] to offsets[s + 1]; no chain is empty.
    n_labels : int
    """

    offsets: Indices
    n_labels: int

    @property
    def n_chains(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_positions(self) -> int:
        return int(self.offsets[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a field."""
        return self.n_labels, self.n_positions + self.n_labels + 2

    @cached_property
    def chain_of(self) -> Indices:
        """The chain of each position, (n,)."""
        return np.repeat(np.arange(self.n_chains), np.diff(self.offsets))

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Ranges of chains with about equal numbers of positions, for threads; the same for any number of threads."""
        enough = self.n_positions * self.n_labels**2 // TILES.fewest_entries
        n_parts = int(np.clip(enough, 1, TILES.partial_sums))
        goals = self.n_positions * np.arange(1, n_parts) // n_parts
        edges = [0, *np.searchsorted(self.offsets, goals).tolist(), self.n_chains]
        return tuple(slice(begin, end) for begin, end in pairwise(edges) if begin < end)

    def edges_of(self, part: slice) -> Indices:
        """Offsets of a range of chains."""
        return self.offsets[part.start : part.stop + 1]

    def split(self, field: Array) -> tuple[Array, Array]:
        """Scores (n, C), which include the scores of first and last labels, and scores of pairs (C, C)."""
        n = self.n_positions
        scores = np.ascontiguousarray(field[:, :n].T, dtype=np.float64)
        scores[self.offsets[:-1]] += field[:, -2]
        scores[self.offsets[1:] - 1] += field[:, -1]
        return scores, np.ascontiguousarray(field[:, n:-2], dtype=np.float64)

    def join(self, per_place: Array, pairs: Array) -> Array:
        """The adjoint of `split`."""
        field, n = np.empty(self.shape), self.n_positions
        field[:, :n], field[:, n:-2] = per_place.T, pairs
        field[:, -2] = per_place[self.offsets[:-1]].sum(axis=0)
        field[:, -1] = per_place[self.offsets[1:] - 1].sum(axis=0)
        return field

    def count(self, labels: Indices, weights: Array) -> Array:
        """The counts of labels (n,) as a field, with a weight for each chain."""
        per_place, pairs = np.zeros((self.n_positions, self.n_labels)), np.zeros((self.n_labels, self.n_labels))
        each = weights[self.chain_of]
        per_place[np.arange(self.n_positions), labels] = each
        later = np.delete(np.arange(self.n_positions), self.offsets[:-1])
        np.add.at(pairs, (labels[later - 1], labels[later]), each[later])
        return self.join(per_place, pairs)

    def scores_of(self, field: Array, labels: Indices) -> Array:
        """The log score of labels (n,) for each chain, (S,)."""
        scores, transition = self.split(field)
        each = scores[np.arange(self.n_positions), labels]
        each[1:] += transition[labels[:-1], labels[1:]]
        # No pair ends at a first position.
        inner = self.offsets[1:-1]
        each[inner] -= transition[labels[inner - 1], labels[inner]]
        return np.add.reduceat(each, self.offsets[:-1])

    def best_labels(self, field: Array) -> Indices:
        """The most probable labels of each chain, (n,)."""
        best, came = (
            np.empty(self.n_positions, dtype=np.intp),
            np.empty((self.n_positions, self.n_labels), dtype=np.intp),
        )
        scores, find = self.split(field), loops.compiled(loops.find_best_labels)
        for_each(lambda part: find(*scores, self.edges_of(part), best, came), self.parts)
        return best


class Posterior(NamedTuple):
    """The distribution of the labels of chains as Markov chains."""

    chains: Chains
    first: Array  # (S, C): probabilities of first labels
    conditional: Array  # (n, C, C): probabilities of labels after each previous label; undefined at first positions
    marginals: Array  # (n, C)
    log_partition: Array  # (S,)

    def expect(self, weights: Array) -> Array:
        """Expected counts as a field, with a weight for each chain: the gradient of the log partition sums."""
        pairs = self._sum_pairs(loops.compiled(loops.count_pairs), weights)
        return self.chains.join(self.marginals * weights[self.chains.chain_of, None], pairs)

    def differentiate(self, weights: Array, direction: Array) -> Array:
        """The derivative of `expect` along a field: W times the field, W the curvature of the log partition sums."""
        scratch, change = np.empty((2, *self.marginals.shape)), np.empty_like(self.marginals)
        scores, along = self.chains.split(direction), loops.compiled(loops.differentiate)
        pairs = self._sum_pairs(lambda *fixed: along(*fixed[:-1], *scores, scratch, change, fixed[-1]), weights)
        return self.chains.join(change, pairs)

    def _sum_pairs(self, add: Callable[..., None], weights: Array) -> Array:
        """The sum over all chains of the values that `add` gives to pairs of labels, (C, C)."""
        chains = self.chains

        def total(part: slice) -> Array:
            pairs = np.zeros((chains.n_labels, chains.n_labels))
            add(chains.edges_of(part), self.conditional, self.marginals, weights[part], pairs)
            return pairs

        return np.sum(for_each(total, chains.parts), axis=0)

    def draw(self, n: int, random: np.random.RandomState) -> Indices:
        """Independent draws of all labels, (n, n_positions)."""
        uniform = random.uniform(size=(n, self.chains.n_positions))
        labels = np.zeros(uniform.shape, dtype=np.intp)
        loops.compiled(loops.draw)(self.chains.offsets, self.first, self.conditional, uniform, labels)
        return labels


def infer(chains: Chains, field: Array) -> Posterior:
    """The distribution of labels, given the scores."""
    n, size = chains.n_positions, chains.n_labels
    first, totals = np.empty((chains.n_chains, size)), np.empty(chains.n_chains)
    conditional, marginals = np.empty((n, size, size)), np.empty((n, size))
    scores, backward = chains.split(field), loops.compiled(loops.find_conditionals)
    forward = loops.compiled(loops.find_marginals)

    def find(part: slice) -> None:
        edges = chains.edges_of(part)
        backward(*scores, edges, first[part], conditional, totals[part])
        forward(edges, first[part], conditional, marginals)

    for_each(find, chains.parts)
    return Posterior(chains, first, conditional, marginals, totals)
