"""Our methods as functions, for pipelines: a pipeline passes on only scikit-learn's own methods."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from logikern.estimators._fitted.frames import labelled_frame
from logikern.estimators._inputs.data import names_of_rows
from logikern.model.integrity import is_ours, labels_sequences
from logikern.numerics.outcome import Array
from logikern.structure.links import shown


def explain(model: Any) -> str:
    """Describe the final model, the models that it was compared with, and the cost and the plan of the fit.

    Parameters
    ----------
    model : KernelLogisticClassifier, KernelRegressor, KernelSequenceClassifier, or a scikit-learn Pipeline or search
        that contains one
    """
    estimator = _last_step(model)
    return str((estimator if labels_sequences(estimator) else our_estimator(model)).explain())


def suspects(model: Any, n_suspects: int | None = None, X: Any = None) -> Any:
    """Training rows sorted by their leave-one-out loss, largest first.

    Parameters
    ----------
    model : KernelLogisticClassifier, or a scikit-learn Pipeline or search that contains one
    n_suspects : int or None, default=None
        Number of rows to return; None returns all.
    X : pandas frame or None, default=None
        The rows that were passed to `fit`. The result then has their index, which a pipeline may hide from the
        classifier.

    Returns
    -------
    frame with the columns row, label, probability, likely, loss
        See `KernelLogisticClassifier.suspects`.
    """
    if getattr(n_suspects, "shape", ()):
        raise ValueError(
            f"`n_suspects` must be an integer or None, but is {shown(n_suspects)}. The model knows its training rows "
            "and labels: use `suspects(model)`, or `suspects(model, X=X)` to get the index of X."
        )
    found = our_estimator(model).suspects(n_suspects)
    names = names_of_rows(X)
    return found if names is None else found.set_axis(names[found["row"]], axis=0)


def predict_decisions(
    model: Any,
    X: Any,
    loss: Any = None,
    reject_cost: float | None = None,
    reject_label: Any = None,
    allow_inner: bool = False,
) -> Array:
    """The decision with the smallest expected loss for each row.

    Parameters
    ----------
    model : KernelLogisticClassifier, or a scikit-learn Pipeline or search that contains one
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        As for `model.predict`.
    loss : array of shape (n_classes, n_classes), callable, str or None, default=None
        The cost of deciding d when c is true, as an array `loss[d, c]` or a function `loss(d, c)` of two labels. With
        None, every error costs 1. See `KernelLogisticClassifier.decide` for other values.
    reject_cost : float or None, default=None
        Cost of abstaining. A row is rejected if every decision has a higher expected cost.
    reject_label : object, default=None
        Label of rejected rows in the result.
    allow_inner : bool, default=False
        Whether the decision may be an inner node of a hierarchy.

    Returns
    -------
    array of shape (n_samples,)
        Labels from `classes_`, labels of inner nodes, or `reject_label`.
    """
    estimator = our_estimator(model)
    return estimator.decide(our_inputs(model, X), loss, reject_cost, reject_label, allow_inner)


def predict_proba_frame(model: Any, X: Any) -> Any:
    """Probabilities as a frame with one column per class and the row names of X.

    Parameters
    ----------
    model : classifier of scikit-learn
        Any estimator with `predict_proba`, including pipelines and searches.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        As for `model.predict_proba`.

    Returns
    -------
    frame
        A polars frame for polars input, a pandas frame otherwise.
    """
    return labelled_frame(X, model.predict_proba(X), model.classes_)


def fitted_model(model: Any) -> Any:
    """The best estimator of a search, or the model itself."""
    check_is_fitted(model)
    return vars(model).get("best_estimator_", model)


def our_classifier(model: Any) -> Any:
    """Our classifier of any kind, which may be the last step of a pipeline."""
    estimator = _last_step(model)
    if not labels_sequences(estimator) and "classes_" not in vars(our_estimator(model)):
        raise ValueError("`model` must be a classifier, but is a regressor, which has no probabilities to report.")
    return estimator


def our_estimator(model: Any) -> Any:
    """Our estimator, which may be the last step of a pipeline."""
    estimator = _last_step(model)
    if not is_ours(estimator) or labels_sequences(estimator):
        raise ValueError(
            "`model` must be a KernelLogisticClassifier or a KernelRegressor, a Pipeline that ends in one, or a "
            "search that was fitted with refit=True, but is of type "
            f"{type(model).__name__}{f' and ends in {type(estimator).__name__}' if estimator is not model else ''}."
        )
    return estimator


def _last_step(model: Any) -> Any:
    """The last step of a fitted pipeline or search, or the model itself."""
    fitted = fitted_model(model)
    return fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted


def our_inputs(model: Any, X: Any) -> Any:
    """The inputs of our estimator: X after the earlier steps of a pipeline."""
    fitted = fitted_model(model)
    return fitted[:-1].transform(X) if isinstance(fitted, Pipeline) and len(fitted.steps) > 1 else X
