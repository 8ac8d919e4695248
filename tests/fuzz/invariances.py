"""Changes of the data that may not change the model."""

from typing import Any

import numpy as np

from logikern import KernelLogisticClassifier
from tests.fuzz.checks import Checks
from tests.fuzz.fits import draw_tying, draw_variances
from tests.fuzz.kernels import draw_kernel
from tests.fuzz.labels import draw_targets
from tests.fuzz.tables import Inputs, Random, draw_inputs
from tests.reference.tying import tie_classes

N_NEW = 8
# Both fits are exact to 1e-8 in the gradient; variances are at most 1000 and rows at most 60.
WITHIN = 1e-5


def invariances(random: Random, checks: Checks) -> None:
    """Order of rows and classes, weights for copies, rows without weight, shifts of the inputs."""
    n, n_classes = int(random.integers(4, 60)), int(random.choice([2, 3, 4, 6]))
    inputs = draw_inputs(random, n, N_NEW, plain=True)
    X, X_new = inputs.values, inputs.values_new
    inputs = Inputs(X, X_new, X, X_new, "array")
    y = np.asarray(draw_targets(random, X, n_classes, soft=False).distributions.argmax(axis=0))
    n_classes = int(y.max()) + 1
    drawn = draw_kernel(random, inputs)
    tying = draw_tying(random, n_classes)
    _, variance_of = tie_classes(tying, n_classes)
    variances = draw_variances(random, inputs, drawn.matrix, int(variance_of.max()) + 1)
    settings: dict[str, Any] = drawn.arguments | {"tying": tying, "variance": variances.tolist(), "tol": 1e-8}
    settings["bias_variance"] = float(random.choice([0.0, 16.0, np.inf]))
    settings["solver"] = "auto" if np.isinf(settings["bias_variance"]) else str(random.choice(["exact", "newton"]))
    weights = random.integers(1, 4, n)
    told = f"[{n} rows, {n_classes} classes, {settings}]"

    def predict(X: np.ndarray, y: np.ndarray, own: dict[str, Any] | None = None, at: np.ndarray = X_new, **fit: Any):
        estimator = KernelLogisticClassifier(criterion=None, **(settings | (own or {})))
        with checks.quiet("invariances"):
            estimator.fit(X, y, **fit)
        return estimator.predict_proba(at)

    plain, weighted = predict(X, y), predict(X, y, sample_weight=weights)
    order = random.permutation(n)
    checks.close("invariances: order of rows", predict(X[order], y[order]), plain, WITHIN, told)
    copies = np.repeat(np.arange(n), weights)
    checks.close("invariances: weights are copies", predict(X[copies], y[copies]), weighted, WITHIN, told)
    more = np.concatenate([np.arange(n), random.integers(n, size=3)])
    ignored = np.concatenate([np.ones(n), np.zeros(3)])
    found = predict(X[more] + 1e3 * (1.0 - ignored)[:, None], y[more], sample_weight=ignored)
    checks.close("invariances: rows of weight zero", found, plain, WITHIN, told)
    names = random.permutation(n_classes)  # class c gets the name names[c]
    own = _renamed(tying, variances, variance_of, names)
    checks.close("invariances: names of classes", predict(X, names[y], own)[:, names], plain, WITHIN, told)
    _judge_columns(random, checks, predict, X, y, X_new, plain, drawn.arguments, told)


def order_of_search(random: Random, checks: Checks) -> None:
    """A search does not depend on the order of the rows, given its splits."""
    n, n_classes = int(random.integers(20, 80)), int(random.choice([2, 3]))
    inputs = draw_inputs(random, n, N_NEW, plain=True)
    X = inputs.values
    y = draw_targets(random, X, n_classes, soft=False).distributions.argmax(axis=0)
    folds = np.array_split(random.permutation(n), 3)
    splits = [(np.concatenate(folds[:f] + folds[f + 1 :]), folds[f]) for f in range(3)]
    order = random.permutation(n)
    place = np.argsort(order)  # where each row went
    moved = [(place[kept], place[out]) for kept, out in splits]
    settings: dict[str, Any] = {"tying": "shared", "ard": False, "random_state": 0}
    settings["kernel"] = str(random.choice(["gaussian", "matern52", "laplacian", "linear"]))
    told = f"[{n} rows, {n_classes} classes, {settings}]"
    with checks.quiet("invariances"):
        first = KernelLogisticClassifier(cv=splits, **settings).fit(X, y)
        second = KernelLogisticClassifier(cv=moved, **settings).fit(X[order], y[order])
    # A search ends where two steps in a row gain less than 1e-3 of the criterion.
    within = 2e-3 * (1 + abs(first.criterion_value_))
    checks.close("invariances: order of a search", second.criterion_value_, first.criterion_value_, within, told)


def _renamed(tying: Any, variances: np.ndarray, variance_of: np.ndarray, names: np.ndarray) -> dict[str, Any]:
    """Tying and variances for classes in the order of their new names."""
    old = np.argsort(names)  # the class that has each name
    groups = variance_of[old]
    first = [int(np.flatnonzero(groups == group)[0]) for group in dict.fromkeys(groups.tolist())]
    own = {"variance": [float(variances[groups[place]]) for place in first]}
    return own if isinstance(tying, str) else own | {"tying": [tying[place] for place in old]}


def _judge_columns(
    random: Random,
    checks: Checks,
    predict: Any,
    X: np.ndarray,
    y: np.ndarray,
    X_new: np.ndarray,
    plain: np.ndarray,
    kernel: dict[str, Any],
    told: str,
) -> None:
    """Kernels of distances do not see a shift, nor the order of inputs that have one rate."""
    if kernel.get("kernel") not in ("gaussian", "matern12", "matern32", "matern52", "laplacian"):
        return
    shift = random.normal(size=X.shape[1]) * 100.0
    found = predict(X + shift, y, at=X_new + shift)
    checks.close("invariances: shifted inputs", found, plain, WITHIN, told)
    columns = random.permutation(X.shape[1])
    rate = kernel["rate"]
    own = {"rate": [rate[column] for column in columns] if isinstance(rate, list) else rate}
    found = predict(X[:, columns], y, own, at=X_new[:, columns])
    checks.close("invariances: order of columns", found, plain, WITHIN, told)
