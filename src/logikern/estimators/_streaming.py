"""Fitting from a stream: points are added, hyperparameters stay, and the dual goes on from where it was."""

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from logikern.estimators import _run as _settings
from logikern.estimators._callbacks import log_step
from logikern.estimators._failures import warn_unless_converged
from logikern.estimators._inputs.data import TrainingData, check_together, is_precomputed
from logikern.estimators._inputs.hierarchy import TreeTargets, tree_targets
from logikern.estimators._inputs.labels import is_table, read_distributions, read_labels, refuse_missing
from logikern.estimators._inputs.weights import weigh_rows
from logikern.likelihoods.softmax import Softmax
from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array
from logikern.structure.hierarchy import encode, read_tree
from logikern.structure.targets import from_labels
from logikern.structure.tree import Tree, as_labels


def _can_stream(estimator: Any) -> bool:
    """Whether the settings leave the points of earlier calls as they were."""
    reasons = {
        "`one_vs_rest` is True": estimator.one_vs_rest,
        "`kernel` is precomputed: new rows tell nothing of their values with old ones": is_precomputed(
            estimator.kernel
        ),
        "`bias_variance` is infinite": estimator.bias_variance == np.inf,
        "`class_weight` is 'balanced', which changes with every call; pass a dict": isinstance(
            estimator.class_weight, str
        ),
    }
    for reason, found in reasons.items():
        if found:
            raise AttributeError(f"There is no `partial_fit` where {reason}.")
    return True


class StreamingMixin:
    """For classifiers with a dual: more points, the same model."""

    @available_if(_can_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add points to those fitted so far, and go on from their dual (the online mode of Memisevic 2006).

        After every call the model is that of `fit` on all points so far, at hyperparameters that stay: those of an
        earlier fit, or else those given, or read off the first points where there are none. Nothing is learned by a
        criterion. All points are kept; the kernel matrix is not.

        Unless `solver` is given it is "smo".

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            The new points.
        y : array of shape (n_samples,) or (n_samples, n_classes)
            Their labels, or a distribution over classes for each.
        classes : array of shape (n_classes,) or None, default=None
            All labels that will ever come. Needed in the first call, unless a hierarchy has them.
        sample_weight : array of shape (n_samples,) or None, default=None
            Weights of the new points' likelihoods.

        Returns
        -------
        self : object
        """
        estimator: Any = self
        _settings.check(estimator)
        before = _stored(estimator)
        if before is None:
            _settings.forget_fit(estimator)
        chunk = _chunk(estimator, X, y, sample_weight, _declared(estimator, classes))
        data = chunk if before is None else _joined(before, chunk)
        online = _online(estimator)
        chosen = _settings.specification(online, data) if before is None else estimator.model_.specification
        dual = np.zeros((len(data.classes), len(data.weights)))
        if before is not None:
            dual[:, : len(before.weights)] = estimator.model_.dual
        dtype = _settings.state_dtype(estimator, data)
        with _settings.threads(estimator.n_jobs):
            result, _ = _settings.solve(
                online, chosen, data, dtype, lambda step: log_step(estimator.verbose, step), dual
            )
        if before is None:
            estimator.start_, estimator.verdicts_, estimator.criterion_value_ = chosen, (), np.nan
        if not estimator.verdicts_:
            estimator.trace_ = ()
        estimator.__dict__.pop("_left_out", None)
        estimator.operator_ = online.operator_
        estimator._store(result, data, FittedModel(chosen, _settings.stored_points(data), result.dual[0]))
        warn_unless_converged(estimator.outcome_, result, estimator.tol, wrapper_frames=0)
        return self


def _stored(estimator: Any) -> TrainingData | None:
    """The points fitted so far; None where there are none."""
    if not estimator.__sklearn_is_fitted__():
        return None
    data: TrainingData | None = estimator.__dict__.get("_training")
    if data is None and "binaries_" in estimator.__dict__:
        raise ValueError("The last fit was one against the rest, to which no points can be added. Fit again.")
    if data is None:
        raise ValueError(
            "The labels of the points fitted so far are not kept in a model file, so that none can be added. "
            "Fit again."
        )
    # The settings may have been changed since.
    if is_precomputed(estimator.kernels_[0]) or np.isinf(estimator.model_.specification.bias_variance):
        raise ValueError(
            "The last fit had a precomputed kernel or an infinite `bias_variance`, to which no points can be added. "
            "Fit again."
        )
    return data


def _online(estimator: Any) -> Any:
    """The settings of a call: nothing is searched for, and the dual goes on unless another solver is asked for."""
    online = copy.copy(estimator)
    online.criterion = None
    online.verdicts_ = ()  # no search precedes this call: when interrupted, it leaves the model as it was
    if online.solver == "auto":
        online.solver = "smo"
    return online


def _declared(estimator: Any, classes: Any) -> Array | Tree:
    """All classes, or their tree, from the first call on."""
    fitted = estimator.__sklearn_is_fitted__()
    if estimator.hierarchy is not None:
        return _declared_tree(estimator, classes, fitted)
    if fitted and classes is not None and not _same(np.unique(np.asarray(classes)), estimator.classes_):
        raise ValueError(
            f"`classes` must be those of the first call, {list(estimator.classes_)!r}, but is {list(classes)!r}. "
            "Leave it out, or fit again."
        )
    if fitted:
        return np.asarray(estimator.classes_)
    if classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit: all labels that will ever come.")
    known = np.unique(column_or_1d(classes))
    if len(known) < 2:
        raise ValueError(f"`classes` must hold at least two labels, but is {list(known)!r}.")
    return known


def _declared_tree(estimator: Any, classes: Any, fitted: bool) -> Tree:
    """The tree of the first call; classes, where they are given, must be among its nodes."""
    if not fitted and classes is None and isinstance(estimator.hierarchy, str):
        raise ValueError(
            "`classes` must be passed on the first call to partial_fit, as hierarchy='paths' is read off them: "
            "all labels that will ever come."
        )
    tree: Tree | None = estimator.__dict__.get("tree_") if fitted else read_tree(estimator.hierarchy, classes)
    if tree is None:
        raise ValueError("`hierarchy` was set after the last fit, whose classes have none. Fit again.")
    if classes is not None:
        encode(tree, as_labels(classes))
    return tree


def _same(first: Array, second: Array) -> bool:
    return len(first) == len(second) and bool((first == np.sort(second)).all())


def _chunk(estimator: Any, X: Any, y: Any, sample_weight: Any, declared: Array | Tree) -> TrainingData:
    """The new points, with targets over all classes."""
    refuse_missing(y)
    names = getattr(y, "columns", None)
    tree = declared if isinstance(declared, Tree) else None
    known = None if tree is None else tree_targets(tree, y)
    rows = y if known is None else known.targets.argmax(axis=0)
    X, rows = check_together(estimator, X, rows, reset=not estimator.__sklearn_is_fitted__())
    classes = declared if tree is None else tree.classes
    targets = _targets(rows, names, classes) if known is None else _leaf_targets(known)
    labels = targets.argmax(axis=0)
    weights = weigh_rows(estimator.class_weight, labels, classes, sample_weight, may_vanish=True)
    kept = np.flatnonzero(weights > 0)
    if not kept.size and not estimator.__sklearn_is_fitted__():
        raise ValueError(
            "The first rows for `partial_fit` all have weight 0, by `sample_weight` or `class_weight`: there is "
            "nothing to begin with. Begin with rows of positive weight; later ones may have none."
        )
    return TrainingData(
        X[kept],
        np.ascontiguousarray(targets[:, kept]),
        weights[kept],
        classes,
        tree,
        Softmax(),
        labels[kept],
        kept,
        X.shape[0],
    )


def _targets(y: Any, names: Any, classes: Array) -> Array:
    """Distributions over the classes declared, (C, n)."""
    if is_table(y):
        columns = classes.tolist() if names is None else np.asarray(names).tolist()
        if y.shape[1] != len(classes) or set(columns) != set(classes.tolist()):
            raise ValueError(
                f"`y` with {y.shape[1]} columns must hold distributions over the {len(classes)} classes "
                f"{list(classes)!r}, one column for each: in this order, or a frame with their names."
            )
        return read_distributions(y)[[columns.index(label) for label in classes.tolist()]]
    found, rows = read_labels(y)
    places = {label: place for place, label in enumerate(classes.tolist())}
    strange = [number for number, label in enumerate(found.tolist()) if label not in places]
    if strange:
        row = int(np.flatnonzero(rows == strange[0])[0])
        raise ValueError(
            f"`y` has the label {found[strange[0]]!r} in row {row}, which is none of `classes`, "
            f"{list(classes)!r}. Name all labels in the first call."
        )
    return from_labels(np.array([places[label] for label in found.tolist()])[rows], len(classes))


def _leaf_targets(known: TreeTargets) -> Array:
    if len(known.targets) != known.tree.n_classes:
        raise ValueError(
            "`y` has labels that are inner nodes of the hierarchy, which `partial_fit` does not take. Use `fit`."
        )
    return known.targets


def _joined(before: TrainingData, chunk: TrainingData) -> TrainingData:
    if not isinstance(before.likelihood, Softmax) or before.labels is None or chunk.labels is None:
        raise ValueError("Some labels of the fit were inner nodes of the hierarchy: no points can be added to it.")
    return replace(
        before,
        points=_stacked(before.points, chunk.points),
        targets=np.concatenate([before.targets, chunk.targets], axis=1),
        weights=np.concatenate([before.weights, chunk.weights]),
        labels=np.concatenate([before.labels, chunk.labels]),
        kept=np.concatenate([before.kept, before.n_rows + chunk.kept]),
        n_rows=before.n_rows + chunk.n_rows,
    )


def _stacked(first: Any, second: Any) -> Any:
    """Points below each other, sparse if either is."""
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([sparse.csr_array(first), sparse.csr_array(second)], format="csr")
    return np.concatenate([first, second])
