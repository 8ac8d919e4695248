"""How sure probabilities are where little is known and where all is: a scale of latents that depends on entropy."""

from dataclasses import dataclass

import numpy as np

from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities


@dataclass(frozen=True)
class Sharpness:
    """u -> s u with s = certain + (uncertain - certain) h, h the entropy of softmax(u) over that of no knowledge.

    A temperature for each point, as in the adaptive temperature scaling of Balanya, Maroñas & Ramos (2022). The
    order of classes at a point stays. Penalised fits shrink all weights alike: they tend to be too sure where they
    are sure, and not sure enough where they are not.

    Parameters
    ----------
    certain, uncertain : float, default=1.0
        Positive.
    """

    certain: float = 1.0
    uncertain: float = 1.0

    @property
    def is_neutral(self) -> bool:
        """Whether latents stay as they are."""
        return self.certain == self.uncertain == 1.0

    def apply(self, latent: Array) -> Array:
        """Sharpened latents, (..., C, n) -> (..., C, n)."""
        if self.is_neutral:
            return latent
        return self.scale(normalised_entropy(latent))[..., None, :] * latent

    def scale(self, entropy: Array) -> Array:
        """s at points of which so much is open."""
        return self.certain + (self.uncertain - self.certain) * entropy

    def pull_back(self, latent: Array, gradient: Array) -> Array:
        """From the gradient of a loss by sharpened latents to that by the latents, (..., C, n) each.

        d h / d u_c = -p_c (log p_c + H) / log C, and both sides sum to zero over classes.
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
    """Entropy of softmax(u) over that of equal probabilities, (..., C, n) -> (..., n): from 0 to 1."""
    logs = log_probabilities(latent)
    return -np.einsum("...cn,...cn->...n", np.exp(logs), logs) / np.log(latent.shape[-2])
