"""Random inputs, in the forms in which users have them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars
from scipy import sparse

Random = np.random.Generator


@dataclass(frozen=True, eq=False)
class Inputs:
    """Rows to learn from and rows to predict, as they are given and as plain numbers in double precision.

    Columns of a frame that are left out because all their values are equal are zero in the plain numbers.
    """

    given: Any
    given_new: Any
    values: np.ndarray
    values_new: np.ndarray
    form: str

    @property
    def is_single(self) -> bool:
        """Whether the numbers come in float32, so that predictions are computed in it."""
        return "float32" in self.form

    @property
    def spread(self) -> float:
        """A typical squared distance: the median over some pairs, without those of equal rows."""
        rows = self.values[:200]
        squared = np.square(rows[:, None, :] - rows[None, :, :]).sum(axis=2)
        positive = squared[squared > 0]
        return float(np.median(positive)) if positive.size else 1.0


FRAMES = ("pandas", "polars")
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda X: X,
    "array in columns": np.asfortranarray,
    "every other row of an array": lambda X: np.repeat(X, 2, axis=0)[::2],
    "lists": lambda X: X.tolist(),
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])]),
    "polars": lambda X: polars.DataFrame({f"column {j}": X[:, j] for j in range(X.shape[1])}),
}
_WEIGHTS = {"array": 10, "float32": 3, "csr": 3}


def draw_inputs(random: Random, n: int, n_new: int, plain: bool = False, encoded: bool = True) -> Inputs:
    """n rows and n_new more; `plain` ones have unit scale and no outliers.

    Unless `encoded`, all columns of a frame are inputs.
    """
    n_columns = int(random.integers(1, 9))
    X = random.normal(size=(n + n_new, n_columns))
    if random.random() < 0.3:
        X[random.integers(len(X), size=len(X) // 3)] = X[random.integers(len(X), size=len(X) // 3)]  # duplicates
    if random.random() < 0.15:
        X = np.round(2.0 * X)
    if random.random() < 0.25:
        X *= random.random(X.shape) < random.uniform(0.1, 0.9)
    if random.random() < 0.15:
        X[:, random.integers(n_columns)] = random.normal()
    if not plain:
        X = _roughen(random, X)
    names = list(FORMS)
    shares = np.array([_WEIGHTS.get(name, 1) for name in names], dtype=float)
    form = str(random.choice(names, p=shares / shares.sum()))
    if "float32" in form:
        X = X.astype(np.float32).astype(np.float64)
    if form == "array" and (np.round(X) == X).all() and np.abs(X).max() < 1e9 and random.random() < 0.5:
        return Inputs(X[:n].astype(np.int64), X[n:].astype(np.int64), X[:n], X[n:], "integers")
    values = _without_constants(X, n) if form in FRAMES and encoded else X
    return Inputs(FORMS[form](X[:n]), FORMS[form](X[n:]), values[:n], values[n:], form)


def _without_constants(X: np.ndarray, n: int) -> np.ndarray:
    """X with zeros in columns that are constant in the first n rows, unless all are: zeros change no kernel."""
    varies = np.ptp(X[:n], axis=0) > 0
    return X * varies if varies.any() else X


def _roughen(random: Random, X: np.ndarray) -> np.ndarray:
    """Clusters, scales from 1e-4 to 1e4, offsets up to 1e6 and outliers up to 1e8, each now and then."""
    n_rows, n_columns = X.shape
    if random.random() < 0.15:
        centres = 10 ** random.uniform(1, 4) * random.normal(size=(random.integers(2, 4), n_columns))
        X = X + centres[random.integers(len(centres), size=n_rows)]
    if random.random() < 0.3:
        X = X * 10 ** random.uniform(-4, 4, n_columns)
    elif random.random() < 0.2:
        X = X * 10 ** random.uniform(-4, 4)
    if random.random() < 0.2:
        X = X + random.choice([-1, 1], n_columns) * 10 ** random.uniform(0, 6, n_columns)
    if random.random() < 0.1:
        X[random.integers(n_rows)] *= 10 ** random.uniform(1, 8)
    if random.random() < 0.03:
        X[-1] = 10 ** random.uniform(10, 20)  # a row to predict, out of this world
    return X
