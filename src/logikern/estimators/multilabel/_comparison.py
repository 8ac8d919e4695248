"""Which structure of the labels predicts held-out label sets better."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.criteria.folds import Folds
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.splits import GivenRows, list_splits
from logikern.estimators._inputs.subsets import data_at, draw_folds
from logikern.estimators._names.solvers import inner_solver
from logikern.estimators.multilabel._structures import FittedStructure, GivenLabels
from logikern.fitting.problem import Problem
from logikern.numerics.outcome import Array, Indices
from logikern.operators.choose import choose


@dataclass(frozen=True)
class ComparisonPolicy:
    """Size and accuracy of a comparison."""

    most_rows: int = 2000  # rows that are held out and learned from: as many as a search has
    # Tolerance of the fits. Mean losses change by 5e-5 at 1e-3, and by about 1e-5 at 1e-4.
    tolerance: float = 1e-4
    conditioning: float = 2.0**28  # bytes of the preconditioner
    most_entries: int = 2**62  # a bound on folds times labels times rows that never reduces the number of folds


USUAL = ComparisonPolicy()


@dataclass(frozen=True)
class StructureComparison:
    """Held-out joint log loss of both structures on the same rows.

    Parameters
    ----------
    independent, joint : float
        Mean of -log P(label set of a held-out row).
    noise : float
        Standard error of the difference, from pairs of losses of the same rows.
    n_rows : int
        Held-out rows. A row is left out if it contradicts a label that is constant among the rows of its fold's fit:
        a joint model gives it probability zero.
    """

    independent: float
    joint: float
    noise: float
    n_rows: int

    @property
    def best(self) -> str:
        """The structure of smaller loss."""
        return "joint" if self.joint < self.independent else "independent"

    def __str__(self) -> str:
        gain = abs(self.independent - self.joint)
        return (
            f"Held-out joint log loss of {self.n_rows} rows: independent {self.independent:.4f}, joint "
            f"{self.joint:.4f}. The {self.best} structure is better by {gain:.4f} (noise {self.noise:.4f})."
        )


def compare_structures(
    fits: Mapping[str, FittedStructure], given: GivenLabels, cv: Any, seed: int, policy: ComparisonPolicy = USUAL
) -> StructureComparison:
    """Fit the folds of both structures at their learned hyperparameters, and compare losses of held-out sets."""
    data = fits["independent"].classifier._training
    order = np.random.default_rng(seed).permutation(len(data.weights))
    rows = np.sort(order[: policy.most_rows])
    splits = list_splits(cv, GivenRows(given.X, given.table.learned, given.groups), data, data.kept[rows])
    folds = draw_folds(splits, data, rows, given.groups, seed, policy.most_entries)
    losses = {name: _held_out_losses(own, rows, folds, given, seed, policy) for name, own in fits.items()}
    pairs = np.stack([losses["independent"], losses["joint"]])
    usable = np.isfinite(pairs).all(axis=0)
    return _judge(pairs[:, usable], folds.held_out[folds.held_out > 0][usable])


def _judge(losses: Array, weights: Array) -> StructureComparison:
    """Weighted means of the losses (2, n) of both structures, and the standard error of their difference."""
    if not len(weights):
        return StructureComparison(np.nan, np.nan, np.nan, 0)
    independent, joint = np.average(losses, axis=1, weights=weights).tolist()
    spread = np.average((losses[0] - losses[1] - (independent - joint)) ** 2, weights=weights)
    return StructureComparison(independent, joint, float(np.sqrt(spread / len(weights))), len(weights))


def _held_out_losses(
    own: FittedStructure, rows: Indices, folds: Folds, given: GivenLabels, seed: int, policy: ComparisonPolicy
) -> Array:
    """-log P(label set) of all held-out rows, fold after fold."""
    data = data_at(own.classifier._training, rows)
    latent, truth = _latents_of_folds(own, data, folds, seed, policy), given.table.learned[data.kept]
    losses = []
    for fold, held_out in enumerate(folds.held_out > 0):
        learned = replace(data, weights=folds.kept[fold])
        distribution = own.distribution_at(latent[fold][:, held_out], learned)
        losses.append(-distribution.log_probability(truth[held_out]))
    return np.concatenate(losses)


def _latents_of_folds(
    own: FittedStructure, data: TrainingData, folds: Folds, seed: int, policy: ComparisonPolicy
) -> Array:
    """Latents of all rows in the fit of each fold, (F, C, n)."""
    specification = own.classifier.model_.specification
    points = choose(specification.kernels, data.points, "auto", "double").points(data.points)
    problem = Problem(specification.bind(points), data.likelihood, data.targets, folds.kept)
    result = inner_solver(False, policy.conditioning, seed, policy.tolerance).fit(problem)
    return np.asarray(specification.temperature.apply(result.latent))
