"""Labels that need their parents: sets closed upwards, products along paths, and sizes of random sets."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from logikern.numerics.outcome import Array, Indices, Mask
from logikern.structure.forest import ROOT


@dataclass(frozen=True, eq=False)
class LabelForest:
    """Labels, each with at most one parent. A set is closed upwards if it has the parents of its labels.

    Given that its parent is present, or without a parent, label l is present with probability q_l, independently of
    the other labels. A label without its parent is impossible. Arrays have one column per label, in any order.
    """

    parents: Indices  # (L,): the position of each label's parent, `ROOT` for labels without a parent

    @classmethod
    def without_links(cls, n_labels: int) -> "LabelForest":
        """Labels without parents."""
        return cls(np.full(n_labels, ROOT))

    @cached_property
    def tops(self) -> Mask:
        """Labels without a parent, (L,)."""
        return self.parents == ROOT

    @cached_property
    def order(self) -> Indices:
        """The labels, parents before their children, (L,)."""
        depths, above = np.zeros(len(self.parents), dtype=np.intp), self.parents
        while (above != ROOT).any():
            depths += above != ROOT
            above = np.where(above == ROOT, ROOT, self.parents[above])
        return np.argsort(depths, kind="stable")

    @cached_property
    def _links(self) -> list[tuple[int, int]]:
        """(label, parent) for each label with a parent, from the top down."""
        return [(label, int(self.parents[label])) for label in self.order.tolist() if not self.tops[label]]

    @cached_property
    def _siblings(self) -> list[tuple[int, Indices]]:
        """Each parent with its children, from the top down; `ROOT` is the parent of labels without one."""
        places = dict.fromkeys(self.parents[self.order].tolist())
        return [(parent, np.flatnonzero(self.parents == parent)) for parent in places]

    # --- sets, (m, L) ---

    def close(self, sets: Mask) -> Mask:
        """The sets with the ancestors of their labels."""
        closed = sets.copy()
        for label, parent in reversed(self._links):
            closed[:, parent] |= closed[:, label]
        return closed

    def exposed(self, sets: Mask) -> Mask:
        """Whether the parent of each label is present, or there is none."""
        return self.tops | sets[:, self.parents]

    def is_closed(self, sets: Mask) -> Mask:
        """Whether each set is closed upwards, (m,)."""
        return np.asarray((self.exposed(sets) | ~sets).all(axis=1))

    def is_implied(self, sets: Mask) -> Mask:
        """Labels that occur in all sets with their parent, (L,); never labels without a parent."""
        return ~self.tops & ~(self.exposed(sets) & ~sets).any(axis=0)

    # --- probabilities, (n, L) ---

    def multiply(self, conditionals: Array) -> Array:
        """Marginal probabilities: products of q along the path of each label."""
        marginals = conditionals.copy()
        for label, parent in self._links:
            marginals[:, label] *= marginals[:, parent]
        return marginals

    def conditionals(self, marginals: Array) -> Array:
        """q from marginal probabilities; 0 below impossible labels."""
        above = np.where(self.tops, 1.0, marginals[:, self.parents])
        found = np.divide(marginals, above, out=np.zeros_like(marginals), where=above > 0)
        return np.minimum(found, 1.0)

    def at_most_parent(self, values: Array) -> Array:
        """Values (n, L) or (n, L, k), reduced to the values of the parents where rounding makes them larger."""
        if not self._links:
            return values
        bounded = values.copy()
        for label, parent in self._links:
            np.minimum(bounded[:, label], bounded[:, parent], out=bounded[:, label])
        return bounded

    def most_probable(self, conditionals: Array) -> Mask:
        """The most probable set of each row, by dynamic programming from the leaves to the top, (n, L)."""
        with np.errstate(divide="ignore"):
            present, absent = np.log(conditionals), np.log1p(-conditionals)
        for label, parent in reversed(self._links):
            present[:, parent] += np.maximum(present[:, label], absent[:, label])
        chosen = present > absent
        for label, parent in self._links:
            chosen[:, label] &= chosen[:, parent]
        return chosen

    def presence_by_size(self, conditionals: Array) -> Array:
        """P(label l is present, s labels are present) for s = 1 to L, (n, L, L).

        If the parent of l is present, the number of labels at and below l has the generating function
        A_l(z) = 1 - q_l + q_l z B_l(z), where B_l is the product of A over the children of l. With the product C_l of
        A over the siblings of l, let P_l = q_l C_l at the top, and P_l = q_l C_l z P_parent below it. Then P_l z B_l
        has the coefficients P(l is present, s labels are present). All functions are evaluated at the roots of unity,
        and a Fourier transform recovers the coefficients.
        """
        n, n_labels = conditionals.shape
        z = np.exp(-2j * np.pi * np.arange((n_labels + 1) // 2 + 1) / (n_labels + 1))
        below = np.ones((n, n_labels, len(z)), dtype=complex)  # B
        for label, parent in reversed(self._links):
            below[:, parent] *= _size(conditionals[:, label], z * below[:, label])
        above = np.empty_like(below)  # P
        for parent, children in self._siblings:
            own = conditionals[:, children, None] * _products_of_others(
                1.0 - conditionals[:, children, None] + conditionals[:, children, None] * z * below[:, children]
            )
            above[:, children] = own if parent == ROOT else own * (above[:, parent] * z)[:, None]
        sizes = np.fft.irfft(above * z * below, n_labels + 1, axis=2)
        return np.maximum(sizes[:, :, 1:], 0.0)


def _size(present: Array, below: Array) -> Array:
    """1 - q + q B, (n, k), from q (n,) and B (n, k)."""
    return 1.0 - present[:, None] + present[:, None] * below


def _products_of_others(factors: Array) -> Array:
    """For each factor, the product of all others, (n, m, k) -> (n, m, k)."""
    ones = np.ones_like(factors[:, :1])
    before = np.cumprod(np.concatenate([ones, factors[:, :-1]], axis=1), axis=1)
    after = np.cumprod(np.concatenate([ones, factors[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    return np.asarray(before * after)
