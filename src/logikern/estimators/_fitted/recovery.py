"""The training labels of a model that was read from a file, which does not contain them.

At the optimum of an unweighted fit, dual = targets - probabilities (Seeger 2008, eq. 5), so that labels follow from
the coefficients and from the probabilities of the training points.
"""

import copy
from typing import Any

import numpy as np

from logikern.estimators._inputs.data import TrainingData, is_precomputed
from logikern.estimators._names.likelihoods import LIKELIHOODS
from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities
from logikern.operators.expansion import tiles_of
from logikern.structure.targets import from_labels

# Largest deviation of recovered targets from 0 and 1; the tolerance of a fit is 1e-4 by default.
LARGEST_DEVIATION = 0.01
TILE_ENTRIES = 2**22  # kernel values at a time


def with_training(classifier: Any) -> Any:
    """The classifier, or a copy with its training data; a ValueError says why they cannot be recovered."""
    if "_training" in vars(classifier):
        return classifier
    complete = copy.copy(classifier)
    vars(complete).update(_training=_recover(classifier), _seed=0)
    return complete


def _recover(classifier: Any) -> TrainingData:
    model = vars(classifier).get("model_")
    if not isinstance(model, FittedModel) or is_precomputed(model.specification.kernels[0]):
        raise ValueError(
            "Leave-one-out needs the training labels, which cannot be recovered from the file of a model with "
            "neighbourhoods, a precomputed kernel or one_vs_rest=True. Use `suspects` in Python, after the fit."
        )
    labels = _labels(model)
    return TrainingData(
        points=model.points,
        targets=from_labels(labels, model.n_classes),
        weights=np.ones(len(labels)),
        classes=classifier.classes_,
        mixing=model.specification.mixing,
        likelihood=LIKELIHOODS["classes"](),
        labels=labels,
        kept=_kept(classifier.dual_coef_, len(labels)),
        n_rows=len(classifier.dual_coef_),
        encoder=vars(classifier).get("encoder_"),
    )


def _kept(coefficients: Array, n_points: int) -> Array:
    """Places of the training points among the given rows: rows without weight have no coefficients."""
    if len(coefficients) == n_points:
        return np.arange(n_points)
    kept = np.flatnonzero(np.any(coefficients != 0, axis=1))
    if len(kept) != n_points:
        raise ValueError("Leave-one-out needs the places of the training rows, which this model file does not show.")
    return kept


def _labels(model: FittedModel) -> Array:
    """The class of each training point, (n,), as a position in the classes."""
    tiles = tiles_of(model.points, model.points.shape[0], TILE_ENTRIES)
    latent = np.concatenate([model.functions_at(part) for part in tiles])
    targets = model.dual.astype(np.float64) + np.exp(log_probabilities(latent.T))
    labels: Array = targets.argmax(axis=0)
    deviation = np.abs(targets - from_labels(labels, model.n_classes)).max()
    if not deviation <= LARGEST_DEVIATION:
        raise ValueError(
            "Leave-one-out needs the training labels, which a model file does not contain. They can be recovered only "
            "from a converged fit without weights whose labels are classes; here, targets would deviate from 0 and 1 "
            f"by {deviation:.2g}. Use `suspects` in Python, after the fit."
        )
    return labels
