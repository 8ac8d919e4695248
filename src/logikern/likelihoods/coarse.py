"""Labels that name inner nodes of a tree, Seeger (2008), sec. 7.4.2."""

from dataclasses import dataclass

import numpy as np

from logikern.likelihoods.base import Expansion, Likelihood
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.simplex import soft_maximum
from logikern.structure.tree import Tree

# Of a node all of whose leaves have vanished: its conditional distribution is then even.
SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class CoarseSoftmax(Likelihood):
    """-log P = -sum_i w_i sum_p t_ip log sum_(c below p) pi_ic, targets t distributions over the nodes, (N, n).

    It is not convex. At given latents the softmax likelihood of the completed targets q_ic, the sum over p of t_ip
    times the probability of c given p, lies above it and touches it: expectation and maximisation would minimise
    that and complete again. Its Newton steps are taken here, each with a line search on the loss itself.

    Parameters
    ----------
    tree : Tree
    """

    tree: Tree

    @property
    def majoriser(self) -> Likelihood:
        return Softmax()

    def complete(self, latent: Array, targets: Array) -> Array:
        completed = np.broadcast_to(targets[self.tree.leaves], latent.shape).copy()
        coarse = self._coarse_points(targets)
        own = _probabilities(latent[..., coarse])
        completed[..., coarse] = own * self.tree.leaf_sums(targets[:, coarse] / self.tree.node_sums(own))
        return completed

    def _coarse_points(self, targets: Array) -> Indices:
        inner = self.tree.n_children > 0
        return np.flatnonzero(targets[inner].any(axis=0))

    def loss_and_gradient(self, latent: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        completed = self.complete(latent, targets)
        _, gradient = Softmax().loss_and_gradient(latent, completed, weights)
        return np.einsum("bn,bn->b", weights, self.losses(latent, targets)), gradient

    def expand(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        """Its curvature is that of the majoriser, positive where the true one may not be."""
        expansion = Softmax().expand(latent, self.complete(latent, targets), weights)
        return expansion._replace(loss=np.einsum("bn,bn->b", weights, self.losses(latent, targets)))

    def losses(self, latent: Array, targets: Array) -> Array:
        losses = soft_maximum(latent).log_total - np.einsum("cn,bcn->bn", targets[self.tree.leaves], latent)
        coarse = self._coarse_points(targets)
        own = self.tree.node_sums(_probabilities(latent[..., coarse]))
        losses[:, coarse] = -np.einsum("pn,bpn->bn", targets[:, coarse], np.log(own))
        return losses

    def slope(self, latent: Array, direction: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        return Softmax().slope(latent, direction, self.complete(latent, targets), weights)

    def missing(self, latent: Array, targets: Array, weights: Array, functions: Array) -> Array:
        coarse = self._coarse_points(targets)
        own = _probabilities(latent[..., coarse])
        at_nodes, share = self.tree.node_sums(own), targets[:, coarse]
        spread = own * functions[..., coarse]
        mean = self.tree.leaf_sums(share / at_nodes * (self.tree.node_sums(spread) / at_nodes))
        result = np.zeros_like(functions)
        result[..., coarse] = spread * self.tree.leaf_sums(share / at_nodes) - own * mean
        result *= weights[:, None, :]
        return result

    def bend(self, latent: Array, products: Array) -> Array:
        return Softmax().bend(latent, products)


def _probabilities(latent: Array) -> Array:
    """In double whatever the latents are, and never zero: those of a node are divided by their sum."""
    return soft_maximum(latent.astype(np.float64)).probabilities + SMALLEST
