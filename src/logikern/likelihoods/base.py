"""Likelihoods: how latents predict targets. Nothing here depends on kernels."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from logikern.likelihoods.curvature import Curvature
from logikern.numerics.outcome import Array


class Expansion(NamedTuple):
    """Second-order expansion at latents u: loss (B,), gradient g (B, C, n), curvature W."""

    loss: Array
    gradient: Array
    curvature: Curvature


class Likelihood(ABC):
    """A negative log likelihood: a weighted sum over points, convex or with a convex majoriser."""

    @abstractmethod
    def expand(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        """Value, gradient and curvature at latents (B, C, n)."""

    @abstractmethod
    def loss_and_gradient(self, latent: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        """Value (B,) and gradient (B, C, n)."""

    @abstractmethod
    def losses(self, latent: Array, targets: Array) -> Array:
        """Negative log likelihood of every point without weights, (B, n)."""

    @abstractmethod
    def derivatives_along(
        self, latent: Array, direction: Array, targets: Array, weights: Array
    ) -> tuple[Array, Array]:
        """First and second derivative along a direction, (B,) each."""

    @abstractmethod
    def third_derivative(self, latent: Array, products: Array) -> Array:
        """d/du of x' W(u) y at every point, from the products (V' x)_c (V' y)_c, (B, C, n)."""

    @property
    def is_quadratic(self) -> bool:
        """Whether W is constant, so that a line search has a closed form."""
        return False

    @property
    def has_separate_functions(self) -> bool:
        """Whether the loss is a sum over functions, one for each target, so that W is diagonal."""
        return False

    @property
    def has_entropy_dual(self) -> bool:
        """Whether the conjugate is the negative entropy of targets minus duals, as coordinate ascent requires."""
        return False

    def gap(self, dual: Array, latent: Array, targets: Array, weights: Array) -> Array | None:
        """Duality gap, (B,): loss at the latents + its conjugate at -dual + dual' u. None without a closed form."""
        return None

    def smoothed_label_latents(self, targets: Array) -> Array | None:
        """Starting latents (C, n) between zero and the targets; None to start from zero."""
        return None

    def correct_predictions(self, latent: Array, targets: Array) -> Array | None:
        """Starting latents (C, n) from predictions at points with targets (C, n); None to start from zero.

        A fit that starts from confident errors takes more steps than one that starts from zero.
        """
        return None

    # --- likelihoods with a convex majoriser ---

    @property
    def majoriser(self) -> "Likelihood":
        """The convex likelihood of completed targets; itself if it is convex."""
        return self

    def fully_labelled_part(self, targets: Array, weights: Array) -> tuple[Array, Array]:
        """Targets (C, n) and weights (B, n) of the majoriser, with weight zero where targets need completion."""
        return targets, weights

    def complete(self, latent: Array, targets: Array) -> Array:
        """Targets at which the majoriser touches this likelihood at the latents, (C, n) or (B, C, n)."""
        return targets

    def expand_closely(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        """`expand` with a curvature that is nearer to the true one, and may merge classes."""
        return self.expand(latent, targets, weights)

    def excess_curvature(
        self, latent: Array, targets: Array, weights: Array, functions: Array, curvature: Curvature
    ) -> Array | None:
        """(W - W_true) f for the W of `expand` or `expand_closely`; None if these are equal."""
        return None
