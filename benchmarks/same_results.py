"""Whether a change of the code's shape has changed results: 40 fits, stored before it and compared after it.

    python benchmarks/same_results.py store before.npz
    python benchmarks/same_results.py compare before.npz

The fits cover the catalogue: flat classes and trees, coarse and soft labels, weights and groups, text, precomputed
and callable kernels, both criteria, all solvers, streams, regression, both precisions. Each gives its criterion
value, its hyperparameters, and predictions on rows that were not fitted. They run on one thread, so that sums keep
their order.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from logikern import KernelLogisticClassifier, KernelRegressor

TOLERANCE = 1e-6
N_TEST = 40
DIGIT_TREE = {"round": [0, 6, 8, 9], "straight": [1, 4, 7], "bent": [2, 3, 5]}
WORDS = 60


def table(load: Callable, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Standardised inputs and labels of a data set of scikit-learn, in random order."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))[: n + N_TEST]
    return StandardScaler().fit_transform(X[order].astype(float)), y[order]


def texts(n: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Counts of words whose frequencies depend on the class, normalised."""
    random = np.random.default_rng(3)
    labels = np.arange(n + N_TEST) % 4
    frequencies = random.dirichlet(np.full(WORDS, 0.2), size=4)
    counts = np.stack([random.multinomial(12, frequencies[label]) for label in labels]).astype(float)
    return sparse.csr_matrix(counts / np.linalg.norm(counts, axis=1, keepdims=True)), labels


def numbers(n: int, n_outputs: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of three inputs, with noise."""
    random = np.random.default_rng(4)
    X = random.standard_normal((n + N_TEST, 3))
    y = np.stack([np.sin(X[:, 0] + k) + 0.3 * X[:, 1] for k in range(n_outputs)], axis=1)
    y += 0.1 * random.standard_normal(y.shape)
    return X, y[:, 0] if n_outputs == 1 else y


def learn(X: Any, y: Any, fit: dict | None = None, **settings: Any) -> Any:
    """Fit the first rows; the model and the rows left."""
    n = X.shape[0] - N_TEST
    model = KernelLogisticClassifier(**{"random_state": 0} | settings).fit(X[:n], y[:n], **(fit or {}))
    return model, X[n:]


def regress(X: np.ndarray, y: np.ndarray, **settings: Any) -> Any:
    n = X.shape[0] - N_TEST
    return KernelRegressor(**{"random_state": 0} | settings).fit(X[:n], y[:n]), X[n:]


def soft(n: int) -> Any:
    X, y = table(load_iris, n)
    rows = np.eye(3)[y] * 0.8 + 0.2 / 3
    return learn(X, rows)


def coarse(n: int, **settings: Any) -> Any:
    X, y = table(load_digits, n)
    names = {leaf: inner for inner, leaves in DIGIT_TREE.items() for leaf in leaves}
    labels = np.array([names[label] if row % 5 == 0 else label for row, label in enumerate(y)], dtype=object)
    return learn(X, labels, hierarchy=DIGIT_TREE, **settings)


def precomputed() -> Any:
    X, y = table(load_wine, 130)
    gram = np.exp(-0.05 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = KernelLogisticClassifier(kernel="precomputed", random_state=0).fit(gram[:130, :130], y[:130])
    return model, gram[130:, :130]


def overlap(first: Any, second: Any) -> float:
    """A kernel of rows as objects."""
    return float(np.exp(-0.05 * np.sum((np.asarray(first) - np.asarray(second)) ** 2)))


def callable_kernel() -> Any:
    X, y = table(load_wine, 90)
    model = KernelLogisticClassifier(kernel=overlap, random_state=0).fit(list(X[:90]), y[:90])
    return model, list(X[90:])


def stream() -> Any:
    X, y = table(load_iris, 110)
    model = KernelLogisticClassifier(rate=0.3, variance=8.0, criterion=None, random_state=0)
    for start in range(0, 110, 40):
        rows = slice(start, min(start + 40, 110))
        model.partial_fit(X[rows], y[rows], classes=range(3))
    return model, X[110:]


def grouped() -> Any:
    X, y = table(load_wine, 130)
    return learn(X, y, {"groups": np.arange(130) % 13}, cv=GroupKFold(4))


def weighted(**settings: Any) -> Any:
    X, y = table(load_iris, 110)
    return learn(X, y, {"sample_weight": np.linspace(0.0, 2.0, 110)}, **settings)


CANCER, DIGITS = (load_breast_cancer, 300), (load_digits, 400)
FIXED: dict[str, Any] = {"criterion": None, "rate": 0.05, "variance": 10.0}
FITS: dict[str, Callable[[], Any]] = {
    "defaults, iris": lambda: learn(*table(load_iris, 110)),
    "defaults, wine": lambda: learn(*table(load_wine, 130)),
    "defaults, digits": lambda: learn(*table(*DIGITS)),
    "two classes": lambda: learn(*table(*CANCER)),
    "two classes, leave-one-out": lambda: learn(*table(*CANCER), criterion="loo"),
    "leave-one-out, iris": lambda: learn(*table(load_iris, 110), criterion="loo"),
    "auto criterion": lambda: learn(*table(*CANCER), criterion="auto"),
    "rate per input": lambda: learn(*table(load_wine, 130), ard=True, tying="shared"),
    "separate kernels": lambda: learn(*table(load_iris, 110), tying="separate"),
    "groups of classes": lambda: learn(*table(load_iris, 110), tying=["first", "first", "last"]),
    "bias learned": lambda: learn(*table(load_iris, 110), learn_bias=True, tying="shared"),
    "free bias": lambda: learn(*table(load_iris, 110), bias_variance=np.inf, criterion="loo"),
    "several starts": lambda: learn(*table(load_iris, 110), n_starts=2, tying="shared"),
    "Nelder-Mead": lambda: learn(*table(load_iris, 110), optimizer="nelder-mead", tying="shared", ard=False),
    "Matern": lambda: learn(*table(load_wine, 130), kernel="matern32", tying="shared"),
    "sum of kernels": lambda: learn(*table(load_iris, 110), kernel=sum_of_kernels(), tying="shared"),
    "tree": lambda: learn(*table(*DIGITS), hierarchy=DIGIT_TREE),
    "tree, one variance per subtree": lambda: learn(*table(*DIGITS), hierarchy=DIGIT_TREE, tying="subtree"),
    "tree, exact": lambda: learn(*table(load_digits, 100), hierarchy=DIGIT_TREE, solver="exact", **FIXED),
    "coarse labels": lambda: coarse(300, tying="level", ard=False),
    "soft labels": lambda: soft(110),
    "weights": lambda: weighted(),
    "class weights": lambda: learn(*table(load_iris, 110), class_weight="balanced", criterion="loo"),
    "groups": grouped,
    "predefined split": lambda: learn(*table(load_wine, 130), cv=PredefinedSplit(np.arange(130) % 4), tying="shared"),
    "given splitter": lambda: learn(*table(load_wine, 130), cv=StratifiedKFold(3), tying="shared"),
    "text": lambda: learn(*texts(300), kernel="linear"),
    "text, many rows": lambda: learn(*texts(900), kernel="linear", tying="shared"),
    "precomputed kernel": precomputed,
    "callable kernel": callable_kernel,
    "exact": lambda: learn(*table(*DIGITS), solver="exact", **FIXED),
    "newton, single": lambda: learn(*table(*DIGITS), solver="newton", precision="single", tol=1e-7, **FIXED),
    "newton, double": lambda: learn(*table(*DIGITS), solver="newton", precision="double", tol=1e-9, **FIXED),
    "smo": lambda: learn(*table(*DIGITS), solver="smo", tol=1e-7, **FIXED),
    "kcg": lambda: learn(*table(*DIGITS), solver="kcg", tol=1e-7, **FIXED),
    "tiled": lambda: learn(*table(*DIGITS), operator="tiled", tol=1e-7, **FIXED),
    "stream": stream,
    "one against the rest": lambda: learn(*table(load_iris, 110), one_vs_rest=True),
    "regression": lambda: regress(*numbers(150)),
    "regression, two outputs, folds": lambda: regress(*numbers(120, 2), criterion="cv"),
}


def sum_of_kernels() -> Any:
    from logikern.kernels import Gaussian, Linear

    return Gaussian(0.3) + Linear()


def results(fit: Callable[[], Any]) -> dict[str, np.ndarray]:
    """Numbers that a change of shape must keep."""
    model, X = fit()
    found = {"prediction": model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)}
    models = getattr(model, "binaries_", [model])
    found["criterion"] = np.array([own.criterion_value_ for own in models])
    own = [own.model_.specification.log_parameters for own in models]
    found["hyperparameters"] = np.concatenate(own)
    return {name: np.asarray(value, dtype=float) for name, value in found.items()}


def run_all(only: str) -> dict[str, np.ndarray]:
    warnings.simplefilter("ignore")
    stored = {}
    for name, fit in FITS.items():
        if only in name:
            stored |= {f"{name}: {part}": value for part, value in results(fit).items()}
            print(name, file=sys.stderr, flush=True)
    return stored


def compare(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> list[str]:
    """Names of results that differ, with the largest difference."""
    wrong = [f"{name}: missing" for name in before.keys() ^ after.keys()]
    for name in before.keys() & after.keys():
        first, second = before[name], after[name]
        if first.shape != second.shape:
            wrong.append(f"{name}: shape {first.shape} became {second.shape}")
            continue
        difference = np.abs(first - second) / np.maximum(1.0, np.abs(first))
        if not np.all((difference <= TOLERANCE) | (np.isnan(first) & np.isnan(second)) | (first == second)):
            wrong.append(f"{name}: differs by {np.nanmax(difference):.1e}")
    return sorted(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("store", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="fits whose names contain this")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        found = run_all(arguments.only)
    if arguments.action == "store":
        np.savez(arguments.file, **found)
        print(f"{len(FITS)} fits stored")
        return 0
    with np.load(arguments.file) as stored:
        before = {name: stored[name] for name in stored.files if arguments.only in name.rpartition(":")[0]}
    wrong = compare(before, found)
    print("\n".join(wrong) or f"{len(before)} results equal to {TOLERANCE:g}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
