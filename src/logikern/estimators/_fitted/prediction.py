"""Points to predict, and the class functions of a fitted model at them."""

import contextlib
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from logikern.estimators._inputs.data import as_objects, is_precomputed, takes_objects
from logikern.estimators._inputs.tables import as_table, require_rows
from logikern.estimators._memory import USUAL, prediction_tile
from logikern.estimators._parameters import parse_memory
from logikern.estimators._run import threads
from logikern.kernels import new_points
from logikern.kernels.inputs import is_sparse
from logikern.model.neighbourhoods import NeighbourhoodModel
from logikern.numerics.outcome import Array


def new_data(estimator: Any, X: Any) -> Any:
    """Points to predict, in the form that the fitted kernel expects."""
    kernel = estimator.kernels_[0]  # `kernel` may have been set to another one since the fit
    if takes_objects(kernel):
        return as_objects(X)
    # In double precision, even if the training rows are in single: kernel values are then in double as well.
    form = {"accept_sparse": "csr", "dtype": np.float64, "reset": False}
    if is_precomputed(kernel):
        X = validate_data(estimator, X, **form)
        return new_points(X.toarray() if is_sparse(X) else X)
    table = as_table(X, is_chosen=bool(estimator.encoder_.levels))
    if table is None:
        X = validate_data(estimator, X, ensure_all_finite="allow-nan", **form)
    else:
        X = validate_data(estimator, table, skip_check_array=True, reset=False)
        require_rows(X)
    return estimator.encoder_.transform(X)


def _threads(model: Any, n_new: int, n_jobs: int | None) -> contextlib.AbstractContextManager[None]:
    """Number of threads for neighbourhoods in parallel; small predictions and other models are left to the BLAS."""
    models = getattr(model, "models", (model,))
    if not isinstance(models[0], NeighbourhoodModel):
        return contextlib.nullcontext()
    n_values = len(models) * len(models[0].members) * n_new * models[0].n_compared
    return threads(n_jobs) if n_values > USUAL.fewest_values else contextlib.nullcontext()


def latents(estimator: Any, X: Any) -> Array:
    """Functions of a fitted model at new points, (n_new, C); values that are not finite are an error."""
    check_is_fitted(estimator)
    points = new_data(estimator, X)
    model = estimator.model_
    with _threads(model, points.shape[0], estimator.n_jobs), np.errstate(over="ignore", invalid="ignore"):
        tile = prediction_tile(model, points, parse_memory(estimator.memory_limit))
        values: Array = model.latents(points, tile)
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"The kernel values between row {wrong[0]} of `X` and the training points are not finite. "
            "Check that row for values far outside the range of the training data."
        )
    return values
