"""abalone: our regressor, tuned by exact leave-one-out, beside scikit-learn's kernel machines.

3000 rows for training and 1177 for testing, drawn at random, inputs standardised on the training rows; the sex of a
shell is three columns. Ours is fitted as it comes and with one rate for all inputs (ard=False). Peers: KernelRidge
with alpha and gamma on a 6 x 6 grid of five folds, on the targets less their mean, and a Gaussian process with
variance, length scale and noise learned by the marginal likelihood, on the rows that it can stand. Wanted: lower
error than the grid, or a tenth of its time.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from data import folder
from logikern import KernelRegressor
from report import Report, Row, main

N_TRAIN = 3000
QUICK_ROWS = 400
PROCESS_ROWS = 1000
SEEDS = (0, 1, 2)
WANTED_RATIO = 10.0
GRID = "KernelRidge, 6 x 6 grid"
OURS = {"ours, as it comes": {}, "ours, one rate": {"ard": False}}


def split(seed: int, n_train: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, X_test, y_test."""
    with np.load(folder() / "abalone.npz", allow_pickle=False) as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(float)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_train], order[N_TRAIN:]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def ridge_grid(X: np.ndarray, quick: bool) -> Any:
    """36 settings around one over the total variance of the inputs."""
    unit = 1.0 / X.shape[1]
    grid = {
        "regressor__alpha": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0],
        "regressor__gamma": [unit * 4.0**power for power in range(-4, 2)],
    }
    if quick:
        grid = {name: values[1::2] for name, values in grid.items()}
    ridge = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    return GridSearchCV(ridge, grid, cv=5, scoring="neg_mean_squared_error")


def process(X: np.ndarray) -> GaussianProcessRegressor:
    kernel = ConstantKernel(10.0, (1e-3, 1e6)) * RBF(X.shape[1] ** 0.5, (1e-2, 1e4)) + WhiteKernel(1.0, (1e-6, 1e3))
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)


def contenders(X: np.ndarray, quick: bool) -> dict[str, tuple[Any, int]]:
    """Model and largest number of training rows, by name."""
    rows = QUICK_ROWS // 2 if quick else PROCESS_ROWS
    ours = {name: (KernelRegressor(random_state=0, **settings), len(X)) for name, settings in OURS.items()}
    return {**ours, GRID: (ridge_grid(X, quick), len(X)), f"Gaussian process, {rows} rows": (process(X), rows)}


def measure(seed: int, quick: bool, progress: Callable[[str], None]) -> list[Row]:
    """Root of the mean squared error and seconds of every contender on one split."""
    X, y, X_test, y_test = split(seed, QUICK_ROWS if quick else N_TRAIN)
    rows = []
    for name, (model, n_rows) in contenders(X, quick).items():
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:n_rows], y[:n_rows])
        seconds = time.perf_counter() - began
        error = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
        rows.append({"model": name, "seed": seed, "rows": n_rows, "error": error, "seconds": seconds})
        progress(f"{name}: {error:.4f} in {seconds:.1f} s")
    return rows


def means(rows: list[Row]) -> list[Row]:
    """Over the splits."""
    names = list(dict.fromkeys(row["model"] for row in rows))
    own = {name: [row for row in rows if row["model"] == name] for name in names}
    return [
        {
            "model": name,
            "rows": parts[0]["rows"],
            "error": float(np.mean([row["error"] for row in parts])),
            "seconds": float(np.mean([row["seconds"] for row in parts])),
        }
        for name, parts in own.items()
    ]


def run(report: Report, quick: bool) -> None:
    KernelRegressor(random_state=0).fit(np.eye(20), np.arange(20.0))  # the first fit of a process loads libraries
    rows = [row for seed in SEEDS[: 1 if quick else None] for row in measure(seed, quick, report.progress)]
    report.table("Each split", rows)
    summary = means(rows)
    report.table("Means", summary)
    by_name = {row["model"]: row for row in summary}
    peer = by_name[GRID]
    for name in OURS:
        own = by_name[name]
        ratio = peer["seconds"] / own["seconds"]
        seen = f"{own['error']:.4f} against {peer['error']:.4f}, {ratio:.1f} times less time"
        met = own["error"] < peer["error"] or ratio >= WANTED_RATIO
        report.verdict(f"{name} against the grid", "lower error, or 10 times less time", seen, met)


if __name__ == "__main__":
    main("regression", __doc__, run)
