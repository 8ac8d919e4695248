"""The training labels of a model that was read from a file, which does not contain them.

At the optimum of an unweighted fit, dual = targets - probabilities (Seeger 2008, eq. 5), so that labels follow from
the coefficients and from the probabilities of the training points.
"""

import copy
from typing import Any

import numpy as np

from logikern.estimators._fitted.prediction import new_data
from logikern.estimators._inputs.data import TrainingData, is_precomputed
from logikern.estimators._names.likelihoods import LIKELIHOODS
from logikern.kernels.inputs import is_sparse
from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.simplex import log_probabilities
from logikern.operators.expansion import tiles_of
from logikern.structure.targets import from_labels

# Largest deviation of recovered targets from 0 and 1, in units of the tolerance of the fit. The tolerance bounds it,
# except for rounding, which differs between a prediction of the training points and the fit.
LARGEST_DEVIATION = 10.0
NEED = "Leave-one-out needs the training labels, which a model file does not contain."
ADVICE = "Use `suspects` in Python, after the fit."
TILE_ENTRIES = 2**22  # kernel values at a time


def with_training(classifier: Any) -> Any:
    """The classifier, or a copy with its training data; a ValueError says why they cannot be recovered."""
    if "_training" in vars(classifier):
        return classifier
    complete = copy.copy(classifier)
    vars(complete).update(_training=_recover(classifier), _seed=0)
    return complete


def find_rows(classifier: Any, inputs: Any, labels: Array) -> Indices:
    """The position of each training row among rows with labels, (n_rows,); -1 for training rows without weight.

    The classifier comes from `with_training`.
    Rows with the same inputs and the same label are interchangeable. A ValueError says how many rows are missing.
    """
    data: TrainingData = classifier._training
    place = {label: number for number, label in enumerate(data.classes.tolist())}
    waiting: dict[Any, list[int]] = {}
    given = [place.get(label, -1) for label in labels.tolist()]
    for row, key in enumerate(zip(given, _keys(new_data(classifier, inputs)), strict=True)):
        waiting.setdefault(key, []).append(row)
    found = np.full(data.n_rows, -1)
    classes = data.targets.argmax(axis=0)[::-1]
    for row, label, values in zip(data.kept[::-1], classes, _keys(data.points)[::-1], strict=True):
        same = waiting.get((label, values))
        found[row] = same.pop() if same else -1
    n_missing = int((found[data.kept] < 0).sum())
    if n_missing:
        raise ValueError(
            f"{n_missing} of the {len(data.kept)} rows that the model was fitted on are not among the {len(labels)} "
            "given rows, or have different labels there. Pass the training table, unchanged."
        )
    return found


def _keys(points: Any) -> list[bytes]:
    """The values of each row in single precision, as bytes."""
    if not is_sparse(points):
        return [row.tobytes() for row in np.asarray(points, dtype=np.float32)]
    rows = points.tocsr().astype(np.float32)
    rows.sort_indices()
    parts = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [
        rows.indices[own].astype(np.int64).tobytes() + rows.data[own].tobytes()
        for own in (slice(*ends) for ends in parts)
    ]


def _recover(classifier: Any) -> TrainingData:
    model = vars(classifier).get("model_")
    if not isinstance(model, FittedModel) or is_precomputed(model.specification.kernels[0]):
        raise ValueError(
            f"{NEED} They cannot be recovered if the model has neighbourhoods, a precomputed kernel or "
            f"one_vs_rest=True. {ADVICE}"
        )
    if classifier.class_weight is not None:
        raise ValueError(f"{NEED} They can be recovered only from a fit without weights. {ADVICE}")
    labels = _labels(model, LARGEST_DEVIATION * classifier.tol)
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
    """Positions of the training points among the given rows: rows without weight have no coefficients."""
    if len(coefficients) == n_points:
        return np.arange(n_points)
    kept = np.flatnonzero(np.any(coefficients != 0, axis=1))
    if len(kept) != n_points:
        raise ValueError(
            "Leave-one-out needs to know which rows had a positive weight, but this model file does not contain this "
            f"information. {ADVICE}"
        )
    return kept


def _labels(model: FittedModel, largest_deviation: float) -> Array:
    """The class of each training point, (n,), as a position in the classes."""
    tiles = tiles_of(model.points, model.points.shape[0], TILE_ENTRIES)
    latent = np.concatenate([model.functions_at(part) for part in tiles])
    targets = model.dual.astype(np.float64) + np.exp(log_probabilities(latent.T))
    labels: Array = targets.argmax(axis=0)
    deviation = np.abs(targets - from_labels(labels, model.n_classes)).max()
    if not deviation <= largest_deviation:
        raise ValueError(
            f"{NEED} They can be recovered only if the fit converged, had no weights, and all labels are classes; "
            f"here, the recovered targets deviate from 0 and 1 by {deviation:.2g}. {ADVICE}"
        )
    return labels
