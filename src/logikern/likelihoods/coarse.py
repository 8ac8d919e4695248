"""Labels that name inner nodes of a tree, Seeger (2008), sec. 7.4.2."""

from dataclasses import dataclass

import numpy as np

from logikern.likelihoods.base import Expansion, Likelihood
from logikern.likelihoods.curvature import Curvature, Merged, PointwiseCurvature
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.simplex import soft_maximum
from logikern.structure.tree import Tree

# Added to probabilities: below a node whose leaves have all vanished the distribution is then uniform.
SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class CoarseSoftmax(Likelihood):
    """-log P = -sum_i w_i sum_p t_ip log sum_(c below p) pi_ic, targets t distributions over the nodes, (N, n).

    It is not convex. At given latents its majoriser is the softmax likelihood of the completed targets q_ic, the sum
    over p of t_ip times the probability of c given p. Expectation-maximisation would minimise the majoriser and
    complete the targets again; here each Newton step of the majoriser has a line search on the loss itself.
    """

    tree: Tree

    @property
    def majoriser(self) -> Likelihood:
        return Softmax()

    def fully_labelled_part(self, targets: Array, weights: Array) -> tuple[Array, Array]:
        fine = np.ones(targets.shape[1])
        fine[self._coarse_points(targets)] = 0.0
        return targets[self.tree.leaves], weights * fine

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
        """The curvature is the majoriser's, which is positive where the true one may not be."""
        expansion = Softmax().expand(latent, self.complete(latent, targets), weights)
        return expansion._replace(loss=np.einsum("bn,bn->b", weights, self.losses(latent, targets)))

    def expand_closely(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        """At a point labelled by one inner node p, the classes below p are merged into one.

        With P the probability of p and q the distribution of its classes given p, the true curvature is the
        curvature of the softmax in which p is one class, seen along q, less (1 - P) (diag(q) - q q') within p. The
        majoriser exceeds it by diag(q) - q q', about which coarse labels say nothing. The merged softmax is closer;
        its error vanishes as P approaches one. On p it has S = (P w)^(1/2) |q|, U = P^(1/2) q / |q|.
        """
        expansion = self.expand(latent, targets, weights)
        points, inside = self._single_nodes(targets)
        if not points.size:
            return expansion
        own = np.where(inside, _probabilities(latent[..., points]), 0.0)
        total = own.sum(axis=1, keepdims=True)
        length = np.sqrt(np.einsum("bck,bck->bk", own, own))[:, None, :]
        direction = own / length
        # New arrays of `expand`, so they may be changed in place.
        scale, null = expansion.curvature.pointwise.scale, expansion.curvature.pointwise.null
        assert null is not None
        size = length / total * np.sqrt(total * weights[:, None, points])
        scale[..., points] = np.where(inside, size, scale[..., points])
        null[..., points] = np.where(inside, np.sqrt(total) * direction, null[..., points])
        merged = Merged(points, inside, direction.astype(scale.dtype))
        return expansion._replace(curvature=PointwiseCurvature(scale, null, merged))

    def _single_nodes(self, targets: Array) -> tuple[Indices, Array]:
        """Points labelled by a single inner node, and the classes below it, (C, k)."""
        coarse = self._coarse_points(targets)
        single = coarse[(targets[:, coarse] > 0).sum(axis=0) == 1]
        return single, self.tree.leaf_sums((targets[:, single] > 0).astype(float)) > 0

    def losses(self, latent: Array, targets: Array) -> Array:
        losses = soft_maximum(latent).log_total - np.einsum("cn,bcn->bn", targets[self.tree.leaves], latent)
        coarse = self._coarse_points(targets)
        own = self.tree.node_sums(_probabilities(latent[..., coarse]))
        losses[:, coarse] = -np.einsum("pn,bpn->bn", targets[:, coarse], np.log(own))
        return losses

    def derivatives_along(
        self, latent: Array, direction: Array, targets: Array, weights: Array
    ) -> tuple[Array, Array]:
        return Softmax().derivatives_along(latent, direction, self.complete(latent, targets), weights)

    def excess_curvature(
        self, latent: Array, targets: Array, weights: Array, functions: Array, curvature: Curvature
    ) -> Array:
        coarse = self._coarse_points(targets)
        own = _probabilities(latent[..., coarse])
        at_nodes, share = self.tree.node_sums(own), targets[:, coarse]
        spread = own * functions[..., coarse]
        mean = self.tree.leaf_sums(share / at_nodes * (self.tree.node_sums(spread) / at_nodes))
        part = spread * self.tree.leaf_sums(share / at_nodes) - own * mean
        merged = curvature.pointwise.merged
        if merged is not None:
            # Merging leaves 1 - P of the excess, for a node with probability P.
            as_one = np.isin(coarse, merged.points)
            certain = np.where(as_one, np.einsum("pk,bpk->bk", share > 0, at_nodes), 0.0)
            part *= np.maximum(1.0 - certain, 0.0)[:, None, :]
        result = np.zeros_like(functions)
        result[..., coarse] = part
        result *= weights[:, None, :]
        return result

    def third_derivative(self, latent: Array, products: Array) -> Array:
        return Softmax().third_derivative(latent, products)


def _probabilities(latent: Array) -> Array:
    """Class probabilities in double precision, and never zero, because they are divided by their sum over a node."""
    return soft_maximum(latent.astype(np.float64)).probabilities + SMALLEST
