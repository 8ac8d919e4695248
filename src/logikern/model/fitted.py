"""A fitted model: points, dual and hyperparameters, all that prediction needs."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from logikern.encoding.scaling import Scaling
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities
from logikern.operators.expansion import KernelExpansion, tiles_of
from logikern.structure.specification import Specification

# Default number of kernel values between new points and training points that are computed at a time.
TILE_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Latents u_c(x) = sum_i dual_ic v_c k_c(x, x_i) + constant_c with constant_c = bias_variance sum_i dual_ic.

    Predictions scale them by the specification's temperature.
    """

    specification: Specification
    points: Any
    dual: Array  # (C, n)
    # (C,): constants for an infinite bias variance, which do not follow from the dual.
    free_constants: Array | None = None

    @property
    def n_classes(self) -> int:
        return len(self.dual)

    @property
    def n_compared(self) -> int:
        """Number of training points whose kernel values a prediction needs."""
        return int(self.points.shape[0])

    @property
    def constants(self) -> Array:
        """The constant of each class, (C,)."""
        if self.free_constants is not None:
            return self.free_constants
        return np.asarray(self.specification.bias_variance * self.dual.sum(axis=1, dtype=np.float64))

    def latents(self, X: Any, tile_entries: int = TILE_ENTRIES) -> Array:
        """Scaled class functions at new points, (n_new, C)."""
        temperature, n_points = self.specification.temperature, self.points.shape[0]
        tiles = [temperature.apply(self.functions_at(part).T).T for part in tiles_of(X, n_points, tile_entries)]
        return np.concatenate(tiles) if tiles else np.empty((0, len(self.dual)))

    def functions_at(self, X: Any) -> Array:
        """Class functions before the temperature, (n_new, C); all kernel values are in memory at once."""
        specification, mixing = self.specification, self.specification.mixing
        if len(specification.kernels) == 1:
            latent = mixing.couple(self._expansions[0].at(X), specification.latent_variances)
            return latent.T + self.constants.astype(latent.dtype, copy=False)
        kernel_of = np.array(specification.tying.kernel_of)
        outer = np.empty((len(kernel_of), X.shape[0]))
        for number, expansion in enumerate(self._expansions):
            outer[kernel_of == number] = expansion.at(X)
        outer *= specification.latent_variances[:, None]
        return mixing.forward(outer).T + self.constants

    @cached_property
    def _expansions(self) -> tuple[KernelExpansion, ...]:
        """Functions of each kernel: all class functions if they share one kernel, else the functions that use it."""
        specification = self.specification
        if len(specification.kernels) == 1:
            return (KernelExpansion(specification.kernels[0], self.points, self.dual),)
        kernel_of, inner = np.array(specification.tying.kernel_of), specification.mixing.adjoint(self.dual)
        return tuple(
            KernelExpansion(kernel, self.points, inner[kernel_of == number])
            for number, kernel in enumerate(specification.kernels)
        )

    def __getstate__(self) -> dict[str, Any]:
        """The state for a file, without anything that can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, eq=False)
class OneAgainstRest:
    """Binary models, one per class; the latent of a class is the log probability from its model."""

    models: tuple[FittedModel, ...]  # each has two classes: the rest, and the class of the model
    scalings: tuple[Scaling, ...] = ()  # of the inputs of each model, if searches chose them; otherwise empty

    def latents(self, X: Any, tile_entries: int = TILE_ENTRIES) -> Array:
        """Log probabilities of each class against the rest, (n_new, C)."""
        inputs = [scaling.transform(X) for scaling in self.scalings] or [X] * len(self.models)
        found = [model.latents(own, tile_entries) for model, own in zip(self.models, inputs, strict=True)]
        return np.stack([log_probabilities(own.T)[1] for own in found], axis=1)
