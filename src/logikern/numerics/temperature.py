"""Adaptive temperature: a factor on the latents that depends on how certain a row is."""

from dataclasses import dataclass

import numpy as np

from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities


@dataclass(frozen=True)
class Temperature:
    """u -> s u with s = certain + (uncertain - certain) h, h the normalised entropy of softmax(u).

    s is the inverse temperature of a point, as in the adaptive temperature scaling of Balanya, Maroñas & Ramos
    (2022). The order of classes at a point does not change. A penalised fit shrinks all weights alike: it tends to
    be overconfident at certain points and underconfident at uncertain ones.

    Parameters
    ----------
    certain, uncertain : float, default=1.0
        Inverse temperature at entropy zero and at the largest entropy. Positive.
    """

    certain: float = 1.0
    uncertain: float = 1.0

    @property
    def is_neutral(self) -> bool:
        """Whether latents stay unchanged."""
        return self.certain == self.uncertain == 1.0

    def apply(self, latent: Array) -> Array:
        """Scaled latents, (..., C, n) -> (..., C, n)."""
        if self.is_neutral:
            return latent
        return self.scale(normalised_entropy(latent))[..., None, :] * latent

    def scale(self, entropy: Array) -> Array:
        """s at points with this normalised entropy."""
        return self.certain + (self.uncertain - self.certain) * entropy

    def pull_back(self, latent: Array, gradient: Array) -> Array:
        """Gradient in the latents from the gradient in the scaled latents, (..., C, n) each.

        d h / d u_c = -p_c (log p_c + H) / log C, and both gradients sum to zero over classes.
        """
        if self.is_neutral:
            return gradient
        logs = log_probabilities(latent)
        probabilities = np.exp(logs)
        entropy = -np.einsum("...cn,...cn->...n", probabilities, logs)
        largest = np.log(latent.shape[-2])
        along = np.einsum("...cn,...cn->...n", gradient, latent) * ((self.uncertain - self.certain) / largest)
        logs += entropy[..., None, :]
        logs *= probabilities
        return self.scale(entropy / largest)[..., None, :] * gradient - along[..., None, :] * logs


def normalised_entropy(latent: Array) -> Array:
    """Entropy of softmax(u) divided by log C, (..., C, n) -> (..., n), from 0 to 1."""
    logs = log_probabilities(latent)
    return -np.einsum("...cn,...cn->...n", np.exp(logs), logs) / np.log(latent.shape[-2])
