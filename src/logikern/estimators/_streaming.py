"""Fitting from a stream: points are added at fixed hyperparameters, with the old dual as a warm start."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from logikern.estimators._callbacks import FinalFit
from logikern.estimators._cells.settings import is_divided
from logikern.estimators._failures import warn_unless_converged
from logikern.estimators._inputs.alternatives import Alternative, list_alternatives
from logikern.estimators._inputs.data import (
    Checked,
    CheckTogether,
    TrainingData,
    check_together,
    class_structure,
    has_own_structure,
    is_precomputed,
    names_of_rows,
)
from logikern.estimators._inputs.hierarchy import TreeTargets, tree_targets
from logikern.estimators._inputs.labels import is_table, read_distributions, read_labels, refuse_missing
from logikern.estimators._inputs.splits import GivenRows
from logikern.estimators._inputs.weights import weigh_rows
from logikern.estimators._memory import find_resources
from logikern.estimators._names.likelihoods import LIKELIHOODS
from logikern.estimators._parameters import LEARN, Parameters, check_classification, read_parameters
from logikern.estimators._plan import resolve
from logikern.estimators._results import class_results, fit_results, forget_fit, search_results, write
from logikern.estimators._run import FitReport, solve, stored_points, threads
from logikern.likelihoods.softmax import Softmax
from logikern.model.fitted import FittedModel
from logikern.model.neighbourhoods import NeighbourhoodModel
from logikern.numerics.outcome import Array, Outcome
from logikern.structure.hierarchy import encode, read_tree
from logikern.structure.targets import from_labels
from logikern.structure.tree import Tree, as_labels


def _can_stream(model: Any) -> bool:
    """Whether the settings allow points to be added to earlier points."""
    reasons = {
        "`one_vs_rest` is True": model.one_vs_rest,
        "`kernel` is precomputed, because kernel values between old and new rows are missing": is_precomputed(
            model.kernel
        ),
        "`bias_variance` is infinite": model.bias_variance == np.inf,
        "`hierarchy` is 'learn', which needs a search": isinstance(model.hierarchy, str) and model.hierarchy == LEARN,
        "`coupling` is to be learned, which needs a search": model.coupling is not None,
        "`operator` divides the fit into neighbourhoods": is_divided(model.operator),
        "`class_weight` is 'balanced', which changes with every call; pass a dict": isinstance(
            model.class_weight, str
        ),
        "`inputs` is neither 'auto' nor 'raw', because scales change with every call": not (
            isinstance(model.inputs, str) and model.inputs in ("auto", "raw")
        ),
        "`categorical_features` is neither 'from_dtype' nor None, because levels change with every call": (
            not isinstance(model.categorical_features, str | None)
        ),
    }
    for reason, found in reasons.items():
        if found:
            raise AttributeError(f"`partial_fit` is not available if {reason}.")
    return True


class StreamingMixin:
    """Adds points to a fitted classifier at fixed hyperparameters."""

    @available_if(_can_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the fit and continue from its dual coefficients (the online mode of Memisevic 2006).

        After each call, the model equals the result of `fit` on all rows so far, with fixed hyperparameters. These
        are the values of an earlier fit, the values that you pass, or estimates from the first rows. There is no
        search. All rows are stored, but not the kernel matrix.

        The default solver is "smo".

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            The new rows.
        y : array of shape (n_samples,) or (n_samples, n_classes)
            Their labels, or a distribution over the classes for each row.
        classes : array of shape (n_classes,) or None, default=None
            All labels that will ever be passed. Needed in the first call, unless there is a hierarchy.
        sample_weight : array of shape (n_samples,) or None, default=None
            Weight of each new row in the log likelihood.

        Returns
        -------
        self : object
        """
        parameters, fitted = read_parameters(self), _read_fitted(self.__dict__)
        check_classification(parameters)
        if fitted is None:
            forget_fit(self)
        # There is no search, and the dual is a warm start unless `solver` is given.
        solver = "smo" if parameters.solver == "auto" else parameters.solver
        parameters = replace(parameters, criterion=None, solver=solver)
        check = partial(check_together, self, reset=fitted is None, encodes=False)
        chunk = _chunk(parameters, check, X, y, sample_weight, _declared(parameters, classes, fitted), fitted)
        data = chunk if fitted is None else _joined(fitted.data, chunk)
        chosen = list_alternatives(parameters, data)[0].start if fitted is None else fitted.model.specification
        dual = np.zeros((len(data.classes), len(data.weights)))
        if fitted is not None:
            dual[:, : len(fitted.data.weights)] = fitted.model.dual
        told = FinalFit(parameters.verbose)
        with threads(parameters.n_jobs):
            alternatives, given = (Alternative("", None, chosen),), GivenRows(X, y, None)
            plan = resolve(parameters, data, alternatives, given, find_resources(parameters.memory_limit))
            result, covariance, operator = solve(plan.solver_for(chosen), chosen, data, told.log_step, dual)
        told.log_end()
        model = FittedModel(chosen, stored_points(data), result.dual[0])
        self.__dict__.pop("_left_out", None)
        found = fit_results(result, model, parameters.tol, operator)
        found |= class_results(data, model, parameters.draw_seed())
        if fitted is None:
            found = search_results(FitReport(plan, data, chosen, None, chosen, result, covariance, operator)) | found
        elif not fitted.verdicts:
            found |= {"trace_": (), "plan_": plan}
        write(self, found)
        warn_unless_converged(found["outcome_"], result, parameters.tol, wrapper_frames=0)
        return self


class _Fitted(NamedTuple):
    """The result of all calls so far."""

    data: TrainingData
    model: FittedModel
    classes: Array
    tree: Tree | None
    verdicts: tuple[Any, ...]


def _read_fitted(attributes: dict[str, Any]) -> _Fitted | None:
    """The fit so far; None before the first call."""
    if not isinstance(attributes.get("outcome_"), Outcome):
        return None
    data: TrainingData | None = attributes.get("_training")
    if data is None and "binaries_" in attributes:
        raise ValueError("No points can be added to a fit with one_vs_rest=True. Fit again.")
    if data is None:
        raise ValueError(
            "No points can be added, because a model file does not contain the training labels. Fit again."
        )
    if isinstance(attributes["model_"], NeighbourhoodModel):
        raise ValueError(
            "The last fit was divided into neighbourhoods, to which no points can be added. Fit again, with "
            "operator='tiled' for one fit of all points."
        )
    model: FittedModel = attributes["model_"]
    # The settings may have been changed since.
    if is_precomputed(model.specification.kernels[0]) or np.isinf(model.specification.bias_variance):
        raise ValueError(
            "No points can be added to a fit with a precomputed kernel or an infinite `bias_variance`. Fit again."
        )
    if data.encoder is not None and not data.encoder.keeps_columns:
        raise ValueError(
            "No points can be added to a fit of a table that needed an encoder (categories, missing values or "
            "constant columns). Fit again."
        )
    return _Fitted(data, model, attributes["classes_"], attributes.get("tree_"), attributes["verdicts_"])


def _declared(parameters: Parameters, classes: Any, fitted: _Fitted | None) -> Array | Tree:
    """All classes, or their tree, from the first call on."""
    if parameters.hierarchy is not None and not has_own_structure(parameters.hierarchy):
        return _declared_tree(parameters.hierarchy, classes, fitted)
    if fitted is not None and classes is not None and not _same(np.unique(np.asarray(classes)), fitted.classes):
        raise ValueError(
            f"`classes` must be the same as in the first call, {list(fitted.classes)!r}, but is {list(classes)!r}. "
            "Leave it out, or fit again."
        )
    if fitted is not None:
        return np.asarray(fitted.classes)
    if classes is None:
        raise ValueError(
            "classes must be passed on the first call to partial_fit. Pass all labels that any call will contain."
        )
    known = np.unique(column_or_1d(classes))
    if len(known) < 2:
        raise ValueError(f"`classes` must hold at least two labels, but is {list(known)!r}.")
    return known


def _declared_tree(hierarchy: Any, classes: Any, fitted: _Fitted | None) -> Tree:
    """The tree of the first call; given classes must be among its nodes."""
    if fitted is None and classes is None and isinstance(hierarchy, str):
        raise ValueError(
            "`classes` must be passed on the first call to partial_fit, because hierarchy='paths' reads the tree "
            "from them. Pass all labels that any call will contain."
        )
    tree = read_tree(hierarchy, classes) if fitted is None else fitted.tree
    if tree is None:
        raise ValueError("`hierarchy` was set after the last fit, which had no hierarchy. Fit again.")
    if classes is not None:
        encode(tree, as_labels(classes))
    return tree


def _same(first: Array, second: Array) -> bool:
    return len(first) == len(second) and bool((first == np.sort(second)).all())


def _chunk(
    parameters: Parameters,
    check: CheckTogether,
    X: Any,
    y: Any,
    sample_weight: Any,
    declared: Array | Tree,
    fitted: _Fitted | None,
) -> TrainingData:
    """The new points, with targets over all classes."""
    refuse_missing(y)
    names, row_names = getattr(y, "columns", None), names_of_rows(X)
    tree = declared if isinstance(declared, Tree) else None
    known = None if tree is None else tree_targets(tree, y)
    rows = y if known is None else known.targets.argmax(axis=0)
    X, rows, encoder = _check_numbers(check, X, rows)
    classes: Array = declared.classes if isinstance(declared, Tree) else declared
    targets = _targets(rows, names, classes) if known is None else _leaf_targets(known)
    labels = targets.argmax(axis=0)
    weights = weigh_rows(parameters.class_weight, labels, classes, sample_weight, may_vanish=True)
    kept = np.flatnonzero(weights > 0)
    if not kept.size and fitted is None:
        raise ValueError(
            "The first rows for `partial_fit` all have weight 0 because of `sample_weight` or `class_weight`. Start "
            "with rows of positive weight; later calls may pass only rows of weight 0."
        )
    return TrainingData(
        X[kept],
        np.ascontiguousarray(targets[:, kept]),
        weights[kept],
        classes,
        class_structure(parameters, classes) if tree is None else tree,
        LIKELIHOODS["classes"](),
        labels[kept],
        kept,
        X.shape[0],
        row_names=row_names,
        encoder=encoder,
    )


def _check_numbers(check: CheckTogether, X: Any, y: Any) -> Checked:
    """Rows of numbers; levels and medians would change with every call."""
    try:
        return check(X, y)
    except ValueError as error:
        if "could not convert" not in str(error) and "contains NaN" not in str(error):
            raise
        raise ValueError(
            f"`partial_fit` needs numbers without missing values, but {str(error).splitlines()[0].rstrip('.')}. "
            "Encode categories and impute missing values first, or use `fit` on all rows."
        ) from error


def _targets(y: Any, names: Any, classes: Array) -> Array:
    """Distributions over the declared classes, (C, n)."""
    if is_table(y):
        columns = classes.tolist() if names is None else np.asarray(names).tolist()
        if y.shape[1] != len(classes) or set(columns) != set(classes.tolist()):
            raise ValueError(
                f"`y` with {y.shape[1]} columns must hold distributions over the {len(classes)} classes "
                f"{list(classes)!r}, one column for each. Pass columns in this order, or a frame "
                "whose columns have these names."
            )
        return read_distributions(y)[[columns.index(label) for label in classes.tolist()]]
    found, rows = read_labels(y)
    places = {label: place for place, label in enumerate(classes.tolist())}
    strange = [number for number, label in enumerate(found.tolist()) if label not in places]
    if strange:
        row = int(np.flatnonzero(rows == strange[0])[0])
        raise ValueError(
            f"`y` has the label {found[strange[0]]!r} in row {row}, which is not in `classes`, "
            f"{list(classes)!r}. Pass all labels in the first call."
        )
    return from_labels(np.array([places[label] for label in found.tolist()])[rows], len(classes))


def _leaf_targets(known: TreeTargets) -> Array:
    if len(known.targets) != known.tree.n_classes:
        raise ValueError(
            "`y` has labels that are inner nodes of the hierarchy, which `partial_fit` does not support. Use `fit`."
        )
    return known.targets


def _joined(before: TrainingData, chunk: TrainingData) -> TrainingData:
    if not isinstance(before.likelihood, Softmax) or before.labels is None or chunk.labels is None:
        raise ValueError("No rows can be added to a fit with labels that are inner nodes. Fit all rows with `fit`.")
    # The scale that a search has chosen stays fixed, like the hyperparameters.
    points = chunk.points if before.encoder is None else before.encoder.scaling.transform(chunk.points)
    return replace(
        before,
        points=_stacked(before.points, points),
        targets=np.concatenate([before.targets, chunk.targets], axis=1),
        weights=np.concatenate([before.weights, chunk.weights]),
        labels=np.concatenate([before.labels, chunk.labels]),
        kept=np.concatenate([before.kept, before.n_rows + chunk.kept]),
        n_rows=before.n_rows + chunk.n_rows,
        row_names=_joined_names(before.row_names, chunk.row_names),
    )


def _joined_names(first: Any, second: Any) -> Any:
    """Names of all rows; None unless every row has a name."""
    return None if first is None or second is None else first.append(second)


def _stacked(first: Any, second: Any) -> Any:
    """The points of both arguments, stacked by rows; sparse if either is sparse."""
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([sparse.csr_array(first), sparse.csr_array(second)], format="csr")
    return np.concatenate([first, second])
