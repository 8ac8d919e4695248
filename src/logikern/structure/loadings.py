"""Classes that are label sets, and share the functions of their labels."""

from dataclasses import dataclass

import numpy as np

from logikern.numerics.outcome import Array, Indices, Mask
from logikern.structure.mixing import Mixing

# The difference between presence and absence is sqrt(2) g_l, with the variance of a difference of two functions.
_LOADING = 0.5**0.5


@dataclass(frozen=True, eq=False)
class LabelLoadings(Mixing):
    """u_S = sum_l y_Sl g_l / sqrt(2) + h_S: the function of a label set S, with y_Sl = 1 if it has label l, else -1.

    The covariance of two sets is a joint kernel, k(x, z) times a kernel of the sets, which counts the labels
    on which they agree (Memisevic 2006, sec. 4). Without the functions h of sets, and if all sets are classes, labels
    are independent. Without the functions g of labels, sets share nothing.
    """

    sets: Mask  # (C, L)

    @property
    def n_labels(self) -> int:
        return int(self.sets.shape[1])

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.sets)

    @property
    def n_latent(self) -> int:  # type: ignore[override]
        return self.n_labels + self.n_classes

    @property
    def groupings(self) -> dict[str, Indices]:
        labels, sets = np.zeros(self.n_labels, dtype=np.intp), np.arange(1, 1 + self.n_classes)
        return {"level": np.concatenate([labels, np.ones_like(sets)]), "leaf": np.concatenate([labels, sets])}

    def forward(self, latent: Array) -> Array:
        loaded = self._loadings(latent.dtype) @ latent[..., : self.n_labels, :]
        loaded += latent[..., self.n_labels :, :]
        return np.asarray(loaded)

    def adjoint(self, per_class: Array) -> Array:
        return np.concatenate([self._loadings(per_class.dtype).T @ per_class, per_class], axis=-2)

    def describe(self, members: Indices) -> str:
        """The latent functions of a group, in words."""
        of_labels = members[members < self.n_labels]
        if len(members) == len(of_labels):
            return "labels"
        own = members - self.n_labels
        return "label sets" if len(own) == self.n_classes else f"label set {', '.join(map(str, own))}"

    def _loadings(self, dtype: np.dtype) -> Array:
        return np.where(self.sets, _LOADING, -_LOADING).astype(dtype)
