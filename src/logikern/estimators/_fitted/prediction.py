"""Points to predict, and the class functions of a fitted model at them."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from logikern.estimators._inputs.data import as_objects, is_precomputed, takes_objects
from logikern.estimators._inputs.tables import as_table, require_rows
from logikern.estimators._memory import prediction_tile
from logikern.estimators._parameters import parse_memory
from logikern.kernels import new_points
from logikern.kernels.inputs import is_sparse
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


def latents(estimator: Any, X: Any) -> Array:
    """Functions of a fitted model at new points, (n_new, C); values that are not finite are an error."""
    check_is_fitted(estimator)
    points = new_data(estimator, X)
    tile = prediction_tile(estimator.model_, points, parse_memory(estimator.memory_limit))
    with np.errstate(over="ignore", invalid="ignore"):
        values: Array = estimator.model_.latents(points, tile)
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"The kernel values between row {wrong[0]} of `X` and the training points are not finite. "
            "Check that row for values far outside the range of the training data."
        )
    return values
