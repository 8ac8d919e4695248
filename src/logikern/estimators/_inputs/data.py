"""Training data, checked once here and trusted inside."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from logikern.encoding.encoder import Encoder
from logikern.encoding.roles import list_chosen
from logikern.estimators._inputs.arguments import is_auto
from logikern.estimators._inputs.hierarchy import tree_targets, warn_of_guesses
from logikern.estimators._inputs.labels import is_table, read_distributions, read_labels, refuse_missing
from logikern.estimators._inputs.tables import as_table, learn_inputs
from logikern.estimators._inputs.weights import weigh_rows
from logikern.estimators._names.likelihoods import LIKELIHOODS
from logikern.estimators._parameters import Parameters
from logikern.kernels import FunctionKernel, Kernel, Precomputed, leaves, training_points
from logikern.kernels.inputs import is_sparse
from logikern.likelihoods.base import Likelihood
from logikern.numerics.outcome import Array, Indices
from logikern.structure.coupling import uncoupled
from logikern.structure.label_kernel import read_label_kernel
from logikern.structure.mixing import Flat, Mixing
from logikern.structure.targets import from_labels
from logikern.structure.tree import Tree

# Squares of larger inputs overflow; if all inputs are smaller, their squares vanish.
LARGEST_INPUT, SMALLEST_INPUT = 1e150, 1e-150
SCALE = "Scale the inputs, for instance with StandardScaler or by a change of units."
# A learned tree of fewer classes would be the flat model.
FEWEST_LEAVES = 4
# Rows of a kernel matrix that are compared with its columns at a time.
ROW_TILE = 256


class Checked(NamedTuple):
    """Encoded inputs, targets, and the encoder, which is None if inputs are kernel values or objects."""

    X: Any
    y: Any
    encoder: Encoder | None


# `check_together` of one estimator.
CheckTogether: TypeAlias = Callable[..., Checked]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The data of a fit: the rows with positive weight."""

    points: Any
    targets: Array  # (C, n), or (N, n) if labels name inner nodes
    weights: Array  # (n,)
    classes: Array  # (C,)
    mixing: Mixing  # how classes share latent functions
    likelihood: Likelihood  # compares latents with the targets
    # (n,): the most likely class of each row, by which subsets are stratified; None if targets are numbers.
    labels: Indices | None
    kept: Indices  # (n,): their positions among the given rows
    n_rows: int  # number of given rows
    row_labels: Indices | None = None  # (n_rows,): `labels` of all given rows, with or without weight
    row_names: Any = None  # pandas Index (n_rows,): names of the given rows, if they were a pandas frame
    encoder: Encoder | None = None  # how columns became inputs; None if inputs are kernel values or objects

    @property
    def all_weights(self) -> Array:
        """Weights of all given rows, zero for rows without weight, (n_rows,)."""
        weights = np.zeros(self.n_rows)
        weights[self.kept] = self.weights
        return weights

    @property
    def tree(self) -> Tree | None:
        """The hierarchy of the classes, if there is one."""
        return self.mixing if isinstance(self.mixing, Tree) else None


def has_own_structure(hierarchy: Any) -> bool:
    """Whether `hierarchy` is a mixing without named nodes, which defines how classes share functions."""
    return isinstance(hierarchy, Mixing) and not isinstance(hierarchy, Tree)


def class_structure(parameters: Parameters, classes: Array) -> Mixing:
    """The user's structure of the classes, or `Flat`; trees are read with the labels."""
    hierarchy = parameters.hierarchy
    if parameters.learns_tree and len(classes) < FEWEST_LEAVES:
        raise ValueError(
            f"`hierarchy='learn'` needs at least {FEWEST_LEAVES} classes, but `y` has {len(classes)}. Use "
            "hierarchy=None."
        )
    if parameters.label_kernel is not None:
        return read_label_kernel(parameters.label_kernel, classes)
    if parameters.coupling is not None:
        return _to_be_coupled(parameters.coupling, len(classes))
    if not has_own_structure(hierarchy):
        return Flat(len(classes))
    if hierarchy.n_classes != len(classes):
        raise ValueError(
            f"`hierarchy` is a {type(hierarchy).__name__} of {hierarchy.n_classes} classes, but `y` has "
            f"{len(classes)}. Pass a structure for all classes of `y`."
        )
    return cast(Mixing, hierarchy)


def _to_be_coupled(coupling: Any, n_classes: int) -> Mixing:
    """Independent classes for a search that may couple them."""
    if n_classes == 2:
        raise ValueError(
            "`coupling` needs at least three classes, but `y` has two, whose probabilities depend only on the "
            "difference of their functions. Use coupling=None."
        )
    if not is_auto(coupling) and coupling >= n_classes:
        raise ValueError(
            f"`coupling` must be a number of factors below the number of classes, {n_classes}, but is {coupling}."
        )
    return uncoupled(n_classes)


def names_of_rows(X: Any) -> Any:
    """The index of a pandas frame or series; None for anything else, whose rows have only numbers."""
    pandas = sys.modules.get("pandas")  # a frame cannot exist if pandas is not loaded
    return X.index if pandas is not None and isinstance(X, pandas.DataFrame | pandas.Series) else None


def compares_scalings(settings: Any) -> bool:
    """Whether the search decides how inputs are scaled; not if a rate is given, which refers to a scale."""
    searches = settings.criterion is not None and settings.rate is None
    return searches and settings.inputs == "auto" and isinstance(settings.kernel, str) and not _is_given(settings)


def _is_given(settings: Any) -> bool:
    return is_precomputed(settings.kernel) or settings.kernel == "linear"


def takes_objects(kernel: Any) -> bool:
    """Whether points are objects for a user's function, not rows of a table."""
    if isinstance(kernel, Kernel):
        return all(isinstance(leaf, FunctionKernel) for leaf in leaves(kernel))
    return callable(kernel)


def is_precomputed(kernel: Any) -> bool:
    """Whether X holds kernel values."""
    if isinstance(kernel, Kernel):
        return any(isinstance(leaf, Precomputed) for leaf in leaves(kernel))
    return isinstance(kernel, str) and kernel == "precomputed"


def training_data(parameters: Parameters, check: CheckTogether, X: Any, y: Any, sample_weight: Any) -> TrainingData:
    """Check inputs, targets and weights together."""
    if y is None:
        raise ValueError(f"{parameters.owner} requires y to be passed, but the target y is None. Pass class labels.")
    refuse_missing(y)
    names, row_names = getattr(y, "columns", None), names_of_rows(X)
    is_flat = parameters.hierarchy is None or parameters.learns_tree or has_own_structure(parameters.hierarchy)
    known = None if is_flat else tree_targets(parameters.hierarchy, y)
    # Paths may be tuples, which scikit-learn does not accept: check the numbers of the nodes instead.
    X, y, encoder = check(X, y if known is None else known.targets.argmax(axis=0))
    if known is None:
        targets, labels, classes = _targets(y, names)
        tree, likelihood = None, LIKELIHOODS["classes"]()
    else:
        tree, targets, likelihood = known
        labels, classes = y, tree.classes
    if len(classes) < 2:
        raise ValueError(
            f"`y` must have at least two classes, but has one class: {str(classes[0])!r}. Add rows of another class."
        )
    # If some label is an inner node, labels are numbers of nodes.
    nodes = None if tree is None or len(targets) == len(classes) else tree
    if nodes is not None:
        warn_of_guesses(nodes, targets)
    weights = weigh_rows(parameters.class_weight, labels, classes, sample_weight, nodes)
    kept = np.flatnonzero(weights > 0)
    _check_enough(targets, kept)
    points = training_points(X) if is_precomputed(parameters.kernel) else X
    return TrainingData(
        points[kept],
        np.ascontiguousarray(targets if len(kept) == len(weights) else targets[:, kept]),
        weights[kept],
        classes,
        class_structure(parameters, classes) if tree is None else tree,
        likelihood,
        labels[kept],
        kept,
        X.shape[0],
        labels,
        row_names,
        encoder,
    )


def check_together(
    estimator: Any, X: Any, y: Any, numbers_only: bool = False, reset: bool = True, encodes: bool = True
) -> Checked:
    """Inputs and targets as arrays with the same number of rows.

    Parameters
    ----------
    estimator : KernelLogisticClassifier or KernelRegressor
        Its `n_features_in_` and `feature_names_in_` are set.
    X, y : the arguments of `fit`
    numbers_only : bool, default=False
        Whether targets are numbers.
    reset : bool, default=True
        Whether this is a new fit; otherwise rows are checked against the last fit.
    encodes : bool, default=True
        Whether a table may have categories and missing values; otherwise it must hold numbers.
    """
    kernel = estimator.kernel if reset else estimator.kernels_[0]
    kinds = {"multi_output": numbers_only or is_table(y), "y_numeric": numbers_only}
    if takes_objects(kernel):
        X = as_objects(X)
        if not len(X):
            raise ValueError("`X` has 0 points, but at least 1 is required. Pass some data.")
        return Checked(X, _beside(X, y, estimator, kinds), None)
    form = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": reset}
    if is_precomputed(kernel):
        X, y = validate_data(estimator, X, y, **form, **kinds)
        return Checked(_check_matrix(X), y, None)
    chosen = estimator.categorical_features
    table = as_table(X, bool(list_chosen(chosen))) if encodes else None
    if table is None:
        X, y = validate_data(estimator, X, y, ensure_all_finite="allow-nan" if encodes else True, **form, **kinds)
    else:
        X = validate_data(estimator, table, skip_check_array=True, reset=reset)
        y = _beside(X, y, estimator, kinds)
    scaling = "raw" if compares_scalings(estimator) and not numbers_only else estimator.inputs
    encoder, X = learn_inputs(X, chosen, scaling, vars(estimator).get("feature_names_in_"))
    check_magnitude(X)
    return Checked(X, y, encoder)


def _beside(X: Any, y: Any, estimator: Any, kinds: dict[str, bool]) -> Any:
    """Targets of rows that scikit-learn does not check."""
    y = _check_y(y, estimator=estimator, **kinds)
    check_consistent_length(X, y)
    return y


def _check_matrix(X: Any) -> Any:
    """A matrix of kernel values, dense, square and symmetric."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed kernel matrix must be square, but `X` has shape {X.shape!r}. "
            "Pass the kernel values between all pairs of training points."
        )
    X = X.toarray() if is_sparse(X) else X
    _check_symmetric(X)
    return X


def check_magnitude(X: Any) -> None:
    """Reject inputs whose squares overflow, or whose squared differences all vanish."""
    largest = check_largest(X)
    spread = largest if is_sparse(X) or not X.size else float((X.max(axis=0) - X.min(axis=0)).max())
    if 0 < spread < SMALLEST_INPUT:
        raise ValueError(
            f"Rows of `X` must be equal or differ by at least {SMALLEST_INPUT:g}, but the largest "
            f"difference is {spread:g}, whose square underflows. {SCALE}"
        )


def check_largest(X: Any) -> float:
    """The largest magnitude of inputs. Raises an error if its square overflows."""
    values = X.data if is_sparse(X) else X
    largest = float(max(values.max(), -values.min())) if values.size else 0.0
    if largest > LARGEST_INPUT:
        raise ValueError(f"`X` must not contain magnitudes above {LARGEST_INPUT:g}, but one is {largest:g}. {SCALE}")
    return largest


def _check_symmetric(matrix: Array) -> None:
    tiles = [slice(start, start + ROW_TILE) for start in range(0, len(matrix), ROW_TILE)]
    asymmetry = max((np.abs(matrix[tile] - matrix[:, tile].T).max() for tile in tiles), default=0.0)
    largest = max((np.abs(matrix[tile]).max() for tile in tiles), default=0.0)
    if asymmetry > 1e-5 * max(largest, 1e-300):
        raise ValueError(
            f"A precomputed kernel matrix must be symmetric, but differs from its transpose by {asymmetry:g}. "
            "Pass k(x_i, x_j) for all pairs of training points."
        )


def as_objects(X: Any) -> Any:
    """Any sequence as an array of objects; a table as its rows."""
    if is_sparse(X):
        return X.toarray()
    if isinstance(X, np.ndarray) and X.ndim:
        return X
    if getattr(X, "columns", None) is not None:
        return np.asarray(X)
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise TypeError(
            f"`X` must be a sequence of objects for the kernel to compare, but is of type {type(X).__name__}. "
            "Pass a list."
        )
    items = list(X)
    objects = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        objects[place] = item
    return objects


def _targets(y: Any, names: Any) -> tuple[Array, Indices, Array]:
    """Distributions (C, n), most likely labels (n,), and classes (C,); `names` are the names of y's columns."""
    if is_table(y):
        targets = read_distributions(y)
        classes = np.arange(len(targets)) if names is None else np.asarray(names)
        return targets, targets.argmax(axis=0), classes
    classes, labels = read_labels(y)
    return from_labels(labels, len(classes)), labels, classes


def check_groups(groups: Any, n_rows: int) -> None:
    """Raise unless there is one group per row, or there are no groups."""
    if groups is not None and np.shape(groups) != (n_rows,):
        raise ValueError(
            f"`groups` must have one group for each of the {n_rows} rows, but has shape {np.shape(groups)!r}."
        )


def _check_enough(targets: Array, kept: Indices) -> None:
    n_present = int((targets[:, kept].sum(axis=1) > 0).sum())
    if n_present < 2:
        raise ValueError(
            f"Points with positive weight must belong to at least two classes, but belong to {n_present} of "
            f"{len(targets)}. Add rows of other classes, or change `sample_weight` or `class_weight`."
        )
