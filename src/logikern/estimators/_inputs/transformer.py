"""The encoder of tables as a transformer, for pipelines that join it with text."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from logikern.encoding.roles import list_chosen
from logikern.encoding.scaling import SCALINGS
from logikern.estimators._inputs.arguments import check_name
from logikern.estimators._inputs.tables import (
    AUTO,
    as_table,
    learn_inputs,
    require_rows,
    warn_of_columns,
)
from logikern.numerics.outcome import Array


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a table into numbers, indicators of missing values, and one input per level of a category.

    `KernelLogisticClassifier` and `KernelRegressor` encode tables themselves. Use this class in a ColumnTransformer
    to encode some columns while other transformers encode the rest, such as TfidfVectorizer for text.

    Parameters
    ----------
    categorical_features : "from_dtype", None, list of names or positions, or mask, default="from_dtype"
        Columns of X to treat as categories. "from_dtype" decides by type: a column of text or categories becomes one
        input per level, and a column of numbers or booleans becomes one input. None allows only numbers.
    inputs : {"auto", "raw", "standard", "ranks"}, default="auto"
        How to scale numbers; see `KernelLogisticClassifier`.

    Attributes
    ----------
    encoder_ : Encoder
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from logikern import TableEncoder
    >>> TableEncoder(inputs="raw").fit_transform([[3.0, "red"], [5.0, "blue"]])
    array([[3., 0., 1.],
           [5., 1., 0.]])
    """

    def __init__(self, categorical_features="from_dtype", inputs="auto"):
        self.categorical_features = categorical_features
        self.inputs = inputs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn levels, medians and scales.

        Parameters
        ----------
        X : frame, array or sparse matrix of shape (n_samples, n_features)
        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
        """
        check_name("inputs", self.inputs, (AUTO, *SCALINGS))
        X = self._read(X, bool(list_chosen(self.categorical_features)), reset=True)
        names = vars(self).get("feature_names_in_")
        self.encoder_ = learn_inputs(X, self.categorical_features, self.inputs, names).encoder
        warn_of_columns(self.encoder_, wrapper_frames=0)
        return self

    def transform(self, X: Any) -> Any:
        """The inputs as an array or a sparse matrix, (n_samples, n_inputs)."""
        check_is_fitted(self)
        return self.encoder_.transform(self._read(X, bool(self.encoder_.levels), reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the inputs, such as `age`, `age is missing` or `colour=red`."""
        check_is_fitted(self)
        return np.array(self.encoder_.input_names, dtype=object)

    def _read(self, X: Any, is_chosen: bool, reset: bool) -> Any:
        """X, with the names and number of its columns checked."""
        table = as_table(X, is_chosen)
        if table is None:
            form = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
            return validate_data(self, X, reset=reset, **form)
        table = validate_data(self, table, skip_check_array=True, reset=reset)
        require_rows(table)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.categorical = True
        return tags
