"""Gains of one model over another, case by case, and the record of a stage."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from logikern.criteria.base import count_cases
from logikern.numerics.outcome import Array, Indices
from logikern.structure.specification import Specification


@dataclass(frozen=True)
class Verdict:
    """A model that a stage tried, and the result.

    Attributes
    ----------
    stage : str
    n_parameters : int
    value : float
        Criterion at its optimum.
    gain : float
        Mean decrease of the loss from the model kept before, case by case; nan for the first model. The cases are
        the held-out rows of the search and unseen rows, or only the latter if the model adds kernels.
    noise : float
        Standard error of the gain.
    kept : bool
    fate : {"first model", "better", "not better", "requested"}
        With " with the prior" appended if the criterion alone would have decided otherwise.
    n_unseen : int, default=0
        Number of unseen rows that judged it; 0 if only held-out rows of the search judged it.
    """

    stage: str
    n_parameters: int
    value: float
    gain: float
    noise: float
    kept: bool
    fate: str
    n_unseen: int = 0

    def __str__(self) -> str:
        tried = f"{self.stage} ({self.n_parameters} hyperparameters): criterion {self.value:.4f}"
        if np.isnan(self.gain):
            return f"{tried}; {self.fate}."
        return f"{tried}, gain {self.gain:z.4f}, noise {self.noise:.4f}; {self.fate}."


class UnseenRows(Protocol):
    """Rows that a search does not use, on which its models are judged."""

    @property
    def weights(self) -> Array:
        """Weights of the rows, (m,)."""

    def losses(self, specification: Specification, near: Array | None) -> Array | None:
        """Losses (m,) of a model fitted to the n rows of the search, from latents (C, n) near its optimum.

        None if the fit fails.
        """


def paired_gain(before: Array, after: Array, weights: Array, points: Indices) -> tuple[float, float]:
    """Weighted mean decrease of the losses, and its standard error; losses of the same point are one case.

    All arguments have shape (n_losses,).
    """
    counts = np.bincount(points)
    total = float(weights.sum())
    gain = float(weights @ (before - after)) / total
    deviations = np.bincount(points, weights=weights * (before - after - gain)) / total
    of_points = np.bincount(points, weights=weights) / np.maximum(counts, 1)
    present = counts > 0
    variance = float(np.sum(deviations[present] ** 2 / of_points[present]))
    # Bessel's correction n / (n - 1), bounded if there is hardly more than one case.
    return gain, float(np.sqrt(variance / max(1.0 - 1.0 / count_cases(weights, points), 0.5)))
