"""The data sets of the benchmarks, read from the folder that LOGIKERN_DATA names; never copied.

Without that folder a benchmark says so and ends with success: the sets are not part of the repository.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn import datasets

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_FOLDER = Path("..") / "shared" / "data"
# Sets that scikit-learn brings along.
BUNDLED = {"digits": datasets.load_digits, "breast_cancer": datasets.load_breast_cancer}


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows of one set.

    Parameters
    ----------
    name : str
    X, X_test : arrays of shape (n, d) and (m, d)
    y, y_test : integer arrays of shape (n,) and (m,)
        Classes 0 .. C - 1, all of which occur in `y`.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    @property
    def total_variance(self) -> float:
        """Sum of the variances of the inputs, the unit of rates."""
        return float(self.X.var(axis=0).sum())

    def standardised(self) -> "Split":
        """Inputs of mean 0 and variance 1 on the training rows; constant ones become 0."""
        centre, spread = self.X.mean(axis=0), self.X.std(axis=0)
        spread[spread == 0] = 1.0
        return replace(self, X=(self.X - centre) / spread, X_test=(self.X_test - centre) / spread)

    def head(self, n: int, seed: int = 0) -> "Split":
        """`n` training rows drawn at random, or all of them if there are fewer."""
        if n >= len(self.y):
            return self
        rows = np.sort(np.random.default_rng(seed).permutation(len(self.y))[:n])
        return _with_dense_labels(replace(self, X=self.X[rows], y=self.y[rows]))

    def redrawn(self, seed: int) -> "Split":
        """The same numbers of training and test rows, drawn at random from all of them."""
        order = np.random.default_rng(seed).permutation(len(self.y) + len(self.y_test))
        X, y = np.concatenate([self.X, self.X_test])[order], np.concatenate([self.y, self.y_test])[order]
        n = len(self.y)
        return _with_dense_labels(Split(self.name, X[:n], y[:n], X[n:], y[n:]))

    def classes(self, n_classes: int) -> "Split":
        """Only the rows of the first `n_classes` classes."""
        train, test = self.y < n_classes, self.y_test < n_classes
        return replace(self, X=self.X[train], y=self.y[train], X_test=self.X_test[test], y_test=self.y_test[test])


def folder() -> Path:
    """Where the sets are, from LOGIKERN_DATA; a relative path counts from the repository's root."""
    return (ROOT / os.environ.get("LOGIKERN_DATA", DEFAULT_FOLDER)).resolve()


def require_folder() -> None:
    """End the program, with success, if there are no sets."""
    if not (folder() / "satimage.npz").exists():
        print("skipped: no benchmark data. Set LOGIKERN_DATA to the folder that holds satimage.npz and the others.")
        sys.exit(0)


def load(name: str, seed: int = 0) -> Split:
    """A set in its original split, or half and half at random, classes in proportion, where it has none."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return _random_split(name, X, y, seed)
    with np.load(folder() / f"{name}.npz", allow_pickle=False) as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(np.int64)
        if "n_train" not in stored:
            return _random_split(name, X, y, seed)
        n_train = int(stored["n_train"])
    split = Split(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])
    return _with_dense_labels(split)


def covtype(n_rows: int, n_test: int, seed: int = 0) -> Split:
    """Random rows of covtype: numbers, and the codes of wilderness and soil as 0 and 1."""
    with np.load(folder() / "covtype.npz", allow_pickle=False) as stored:
        y = stored["y"].astype(np.int64)
        order = np.random.default_rng(seed).permutation(len(y))
        numbers, wilderness, soil = (stored[key] for key in ("numeric", "wilderness", "soil"))

    def inputs(rows: np.ndarray) -> np.ndarray:
        return np.hstack([numbers[rows], np.eye(4)[wilderness[rows]], np.eye(40)[soil[rows]]]).astype(float)

    test, train = order[:n_test], order[n_test : n_test + n_rows]
    return Split("covtype", inputs(train), y[train], inputs(test), y[test])


def _random_split(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> Split:
    random = np.random.default_rng(seed)
    train = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == label))
        train[rows[: (len(rows) + 1) // 2]] = True
    return _with_dense_labels(Split(name, X[train], y[train], X[~train], y[~train]))


def _with_dense_labels(split: Split) -> Split:
    """Classes renumbered 0 .. C - 1; test rows of classes that no training row has are left out."""
    names, labels = np.unique(split.y, return_inverse=True)
    known = np.isin(split.y_test, names)
    return replace(
        split,
        y=labels,
        X_test=split.X_test[known],
        y_test=np.searchsorted(names, split.y_test[known]),
    )
