"""What comes through the estimator's door: checked once here, trusted inside."""

import numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from logikern.estimators._inputs.hierarchy import tree_targets, warn_of_guesses
from logikern.estimators._inputs.labels import is_table, read_distributions, read_labels, refuse_missing
from logikern.estimators._inputs.weights import weigh_rows
from logikern.kernels import (
    KERNELS,
    FunctionKernel,
    Kernel,
    Precomputed,
    Stationary,
    leaves,
    training_points,
)
from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Array, Indices
from logikern.structure.base import Mixing
from logikern.structure.flat import Flat
from logikern.structure.targets import from_labels
from logikern.structure.tree import Tree

# Squares of larger inputs overflow, and those of inputs that are all smaller vanish.
LARGEST_INPUT, SMALLEST_INPUT = 1e150, 1e-150
# Rows of a kernel matrix that are compared with its columns at a time.
ROW_TILE = 256
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a fit works on: the rows that carry weight.

    Parameters
    ----------
    points : the inputs of those rows
    targets : array of shape (C, n), or (N, n) where labels name inner nodes
    weights : array of shape (n,)
    classes : array of shape (C,)
    tree : Tree or None
        Of the classes.
    likelihood : Likelihood
        What compares latents with the targets.
    labels : integer array of shape (n,) or None
        The most likely class of each row, in whose proportion rows are drawn; None where targets are numbers.
    kept : integer array of shape (n,)
        Their places among the rows given.
    n_rows : int
        Number of rows given.
    row_labels : integer array of shape (n_rows,) or None, default=None
        `labels` of all rows given, whatever their weight.
    """

    points: Any
    targets: Array
    weights: Array
    classes: Array
    tree: Tree | None
    likelihood: Likelihood
    labels: Indices | None
    kept: Indices
    n_rows: int
    row_labels: Indices | None = None

    @property
    def all_weights(self) -> Array:
        """Weights of all rows given, zero for those left out, (n_rows,)."""
        weights = np.zeros(self.n_rows)
        weights[self.kept] = self.weights
        return weights

    @property
    def mixing(self) -> Mixing:
        """How classes share latent functions."""
        return Flat(len(self.classes)) if self.tree is None else self.tree


def takes_objects(kernel: Any) -> bool:
    """Whether points are whatever a user's function understands, not rows of a table."""
    if isinstance(kernel, Kernel):
        return all(isinstance(leaf, FunctionKernel) for leaf in leaves(kernel))
    return callable(kernel)


def is_precomputed(kernel: Any) -> bool:
    """Whether X holds kernel values."""
    if isinstance(kernel, Kernel):
        return any(isinstance(leaf, Precomputed) for leaf in leaves(kernel))
    return isinstance(kernel, str) and kernel == "precomputed"


def training_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingData:
    """Check inputs, targets and weights together."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. Pass class labels."
        )
    refuse_missing(y)
    names = getattr(y, "columns", None)
    known = None if estimator.hierarchy is None else tree_targets(estimator.hierarchy, y)
    # Paths may be tuples, which only the hierarchy understands: rows and numbers of nodes are checked together.
    X, y = check_together(estimator, X, y if known is None else known.targets.argmax(axis=0))
    if known is None:
        targets, labels, classes = _targets(y, names)
        tree, likelihood = None, cast(Likelihood, Softmax())
    else:
        tree, targets, likelihood = known
        labels, classes = y, tree.classes
    if len(classes) < 2:
        raise ValueError(
            f"`y` must have at least two classes, but has one class: {str(classes[0])!r}. "
            "A classifier of one class has nothing to learn."
        )
    # Where some label is an inner node, labels are numbers of nodes.
    nodes = None if tree is None or len(targets) == len(classes) else tree
    if nodes is not None:
        warn_of_guesses(nodes, targets)
    weights = weigh_rows(estimator.class_weight, labels, classes, sample_weight, nodes)
    kept = np.flatnonzero(weights > 0)
    _check_enough(targets, kept)
    points = training_points(X) if is_precomputed(estimator.kernel) else X
    return TrainingData(
        points[kept],
        np.ascontiguousarray(targets if len(kept) == len(weights) else targets[:, kept]),
        weights[kept],
        classes,
        tree,
        likelihood,
        labels[kept],
        kept,
        X.shape[0],
        labels,
    )


def check_together(estimator: Any, X: Any, y: Any, numbers_only: bool = False, reset: bool = True) -> tuple[Any, Any]:
    """Inputs and targets of as many rows, as arrays that can be trusted; unless `reset`, those of an earlier fit."""
    kernel = estimator.kernel if reset else estimator.kernels_[0]
    if takes_objects(kernel):
        X = as_objects(X)
        if not len(X):
            raise ValueError("`X` has 0 points, but at least 1 is required. Pass some data.")
        y = _check_y(y, multi_output=numbers_only or is_table(y), y_numeric=numbers_only, estimator=estimator)
        check_consistent_length(X, y)
        return X, y
    kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "y_numeric": numbers_only, "reset": reset}
    X, y = validate_data(estimator, X, y, multi_output=numbers_only or is_table(y), **kinds)
    if not is_precomputed(kernel):
        _check_magnitude(X)
    if is_precomputed(kernel) and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed kernel matrix must be square, but `X` has shape {X.shape!r}. "
            "Pass the kernel values of all training points against each other."
        )
    if is_precomputed(kernel):
        X = X.toarray() if sparse.issparse(X) else X
        _check_symmetric(X)
    return X, y


def _check_magnitude(X: Any) -> None:
    """Refuse inputs whose squares overflow, or whose squared differences all vanish."""
    values = X.data[:, None] if sparse.issparse(X) else X
    highest, lowest = (values.max(axis=0), values.min(axis=0)) if len(values) else (np.zeros(1), np.zeros(1))
    largest = float(max(highest.max(), -lowest.min()))
    advice = "Scale the inputs, for instance by StandardScaler or by a change of units."
    if largest > LARGEST_INPUT:
        raise ValueError(f"`X` must not hold values beyond {LARGEST_INPUT:g}, but one is {largest:g}. {advice}")
    spread = largest if sparse.issparse(X) else float((highest - lowest).max())
    if 0 < spread < SMALLEST_INPUT:
        raise ValueError(
            f"`X` must have rows that differ by {SMALLEST_INPUT:g} or more, or not at all, but the largest "
            f"difference is {spread:g}, whose square vanishes. {advice}"
        )


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
    """Any sequence as something that can be indexed by arrays; a table as its rows."""
    if sparse.issparse(X):
        return X.toarray()
    if isinstance(X, np.ndarray) and X.ndim:
        return X
    if getattr(X, "columns", None) is not None:
        return np.asarray(X)
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise TypeError(
            f"`X` must be a sequence of objects for the kernel to compare, but is {type(X).__name__}. Pass a list."
        )
    items = list(X)
    objects = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        objects[place] = item
    return objects


def _targets(y: Any, names: Any) -> tuple[Array, Indices, Array]:
    """Distributions (C, n), most likely labels (n,), and classes (C,); `names` are those of the columns of y."""
    if is_table(y):
        targets = read_distributions(y)
        classes = np.arange(len(targets)) if names is None else np.asarray(names)
        return targets, targets.argmax(axis=0), classes
    classes, labels = read_labels(y)
    return from_labels(labels, len(classes)), labels, classes


def check_groups(groups: Any, n_rows: int) -> None:
    """One group per row, where there are any."""
    if groups is not None and np.shape(groups) != (n_rows,):
        raise ValueError(
            f"`groups` must have one group for each of the {n_rows} rows, but has shape {np.shape(groups)!r}."
        )


def _check_enough(targets: Array, kept: Indices) -> None:
    n_present = int((targets[:, kept].sum(axis=1) > 0).sum())
    if n_present < 2:
        raise ValueError(
            f"Points with positive weight must belong to at least two classes, but {n_present} of {len(targets)} "
            "classes have any. Pass rows of others, or change `sample_weight` or `class_weight`."
        )


def parse_memory(limit: Any) -> float | None:
    """Bytes from a number or from text like "500MB" and "1.5 GB"."""
    if limit is None:
        return None
    if isinstance(limit, numbers.Real) and not isinstance(limit, bool):
        value = float(limit)
    else:
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)i?b?\s*", str(limit).lower())
        value = float(match[1]) * _UNITS[match[2]] if match else float("nan")
    if not value > 0:
        raise ValueError(f"`memory_limit` must be bytes or a text like '500MB' or '2GB', but is {limit!r}.")
    return value


def parse_numbers(argument: str, values: Any) -> tuple[float, ...]:
    """Several numbers from any sequence of them."""
    try:
        if isinstance(values, str | dict | set):
            raise TypeError
        return tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise ValueError(f"`{argument}` must be a number or a sequence of numbers, but is {values!r}.") from None


def make_kernel(kernel: Any, rate: Any, default_rate: Any) -> Kernel:
    """The kernel that a name, a function or an object stands for.

    Parameters
    ----------
    kernel : str, callable or Kernel
    rate : float, sequence of float or None
    default_rate : callable
        From the kernel's name to a rate, asked only where it is needed.
    """
    if isinstance(kernel, str) and kernel in KERNELS:
        kind = KERNELS[kernel]
        if "rate" not in kind.__dataclass_fields__:
            return kind() if rate is None else _refuse_rate(kernel)
        value = default_rate(kernel) if rate is None else rate
        if not isinstance(value, numbers.Real):
            if not issubclass(kind, Stationary):
                raise ValueError(f"`rate` must be one number for kernel={kernel!r}, but is {rate!r}.")
            value = parse_numbers("rate", value)
        return kind(rate=value)
    if rate is not None:
        _refuse_rate(kernel)
    if isinstance(kernel, Kernel):
        if is_precomputed(kernel) and not all(isinstance(leaf, Precomputed) for leaf in leaves(kernel)):
            raise ValueError(
                f"`kernel` mixes kernels on inputs with Precomputed, but is {kernel!r}: `X` cannot hold both inputs "
                "and kernel values. Compute the other kernels as well, and pass their combination."
            )
        return kernel
    if is_precomputed(kernel):
        return Precomputed()
    if callable(kernel) and not (isinstance(kernel, type) and issubclass(kernel, Kernel)):
        return FunctionKernel(kernel)
    raise ValueError(
        f"`kernel` must be one of {[*KERNELS, 'precomputed']}, a Kernel or a function of two points, "
        f"but is {kernel!r}."
        + (f" Pass {kernel.__name__}() instead of the class." if isinstance(kernel, type) else "")
    )


def _refuse_rate(kernel: Any) -> Kernel:
    raise ValueError(
        f"`rate` is a parameter of the named kernels that measure distances, but `kernel` is {kernel!r}. "
        "Leave `rate` at None, and give the parameters to the Kernel object itself."
    )
