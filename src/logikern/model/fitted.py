"""A fitted model: points, dual and hyperparameters, all that prediction needs."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities
from logikern.operators.base import in_precision
from logikern.structure.specification import Specification

# Default number of kernel values between new points and training points that are computed at a time.
TILE_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Latents u_c(x) = sum_i dual_ic v_c k_c(x, x_i) + constant_c, constant_c = bias_variance sum_i dual_ic.

    Predictions scale them by the specification's temperature.

    Parameters
    ----------
    specification : Specification
    points : the training points with positive weight
    dual : array of shape (C, n)
    free_constants : array of shape (C,) or None, default=None
        Constants for an infinite bias variance, which do not follow from the dual.
    """

    specification: Specification
    points: Any
    dual: Array
    free_constants: Array | None = None

    @property
    def constants(self) -> Array:
        """The constant of each class, (C,)."""
        if self.free_constants is not None:
            return self.free_constants
        return np.asarray(self.specification.bias_variance * self.dual.sum(axis=1, dtype=np.float64))

    def latents(self, X: Any, tile_entries: int = TILE_ENTRIES) -> Array:
        """Scaled class functions at new points, (n_new, C)."""
        step = max(1, tile_entries // max(1, self.points.shape[0]))
        temperature = self.specification.temperature
        starts = range(0, X.shape[0], step)
        tiles = [temperature.apply(self._latents(X[start : start + step]).T).T for start in starts]
        return np.concatenate(tiles) if tiles else np.empty((0, len(self.dual)))

    def _latents(self, X: Any) -> Array:
        specification, mixing = self.specification, self.specification.mixing
        if len(specification.kernels) == 1:
            latent = mixing.couple(self._image(0, X, self.dual), specification.latent_variances)
            return latent.T + self.constants.astype(latent.dtype, copy=False)
        kernel_of = np.array(specification.tying.kernel_of)
        inner = mixing.adjoint(self.dual)
        outer = np.empty((len(inner), X.shape[0]))
        for number in range(len(specification.kernels)):
            users = np.flatnonzero(kernel_of == number)
            outer[users] = self._image(number, X, inner[users])
        outer *= specification.latent_variances[:, None]
        return mixing.forward(outer).T + self.constants

    def _image(self, number: int, X: Any, functions: Array) -> Array:
        """sum_i functions_ri k(x, x_i) for one kernel at new points, (r, n_new)."""
        kernel = self.specification.kernels[number]
        features = kernel.features(X)
        if features is None:
            return functions @ kernel(X, self.points).T
        return (features @ self._slopes(number, functions)).T

    def _slopes(self, number: int, functions: Array) -> Array:
        """Coefficients of the features, computed once, (d, r)."""
        if number not in self._known_slopes:
            # Features of rows in single precision would be rounded to it.
            points = in_precision(self.points, np.dtype(np.float64))
            self._known_slopes[number] = self.specification.kernels[number].features(points).T @ functions.T
        return self._known_slopes[number]

    def __getstate__(self) -> dict[str, Any]:
        """What a file stores: nothing that can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _known_slopes(self) -> dict[int, Array]:
        return {}


@dataclass(frozen=True, eq=False)
class OneAgainstRest:
    """Binary models, one per class; the latent of a class is the log probability from its model.

    Parameters
    ----------
    models : tuple of FittedModel
        Each has two classes: the rest, and the class of the model.
    """

    models: tuple[FittedModel, ...]

    def latents(self, X: Any, tile_entries: int = TILE_ENTRIES) -> Array:
        """Log probabilities of each class against the rest, (n_new, C)."""
        return np.stack([log_probabilities(model.latents(X, tile_entries).T)[1] for model in self.models], axis=1)
