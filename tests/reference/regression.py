"""Penalised least squares in closed form, and its held-out errors by fitting again. Outputs are (n, C)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tests.reference.model import Model


@dataclass(frozen=True, eq=False)
class Regression:
    """u_c(x) = offset_c + constant_c + sum_i dual_ci K_c(x, x_i)."""

    model: Model
    points: np.ndarray
    dual: np.ndarray
    constants: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Outputs at new points, (m, C)."""
        return self.model.image(self.model.matrices(X, self.points), self.dual).T + self.constants


def mean_and_spread(model: Model, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean, or zero for a model without constants, and the root mean square around it, (C,) each."""
    mean = (weights @ y) / weights.sum() if model.bias_variance > 0 else np.zeros(y.shape[1])
    return mean, np.sqrt(weights @ (y - mean) ** 2 / weights.sum())


def fit_regression(model: Model, X: np.ndarray, y: np.ndarray, weights: np.ndarray, offset: np.ndarray) -> Regression:
    """argmin_u sum_i w_i |y_i - offset - u(x_i)|^2 / 2 + |u|^2 / 2: (K + diag(1 / w)) dual = y - offset.

    Free constants b (infinite bias variance) add the equations sum_i dual_i = 0.
    """
    n, n_outputs = y.shape
    targets = (y - offset).T.ravel()
    system = model.covariance(X, X).reshape(n_outputs * n, n_outputs * n) + np.diag(np.tile(1.0 / weights, n_outputs))
    if not np.isinf(model.bias_variance):
        return Regression(model, X, np.linalg.solve(system, targets).reshape(n_outputs, n), offset)
    ones = np.kron(np.eye(n_outputs), np.ones((n, 1)))
    bordered = np.block([[system, ones], [ones.T, np.zeros((n_outputs, n_outputs))]])
    solution = np.linalg.solve(bordered, np.append(targets, np.zeros(n_outputs)))
    return Regression(model, X, solution[: n_outputs * n].reshape(n_outputs, n), offset + solution[n_outputs * n :])


def held_out_error(
    model: Model, X: np.ndarray, y: np.ndarray, weights: np.ndarray, splits: Iterable[tuple[np.ndarray, np.ndarray]]
) -> float:
    """Weighted mean squared error of held-out points, outputs in units of their spread over all points."""
    mean, spread = mean_and_spread(model, y, weights)
    total, mass = 0.0, 0.0
    for kept, out in splits:
        # The mean is that of all points: outputs are centred once, before anything is held out.
        fit = fit_regression(model, X[kept], y[kept], weights[kept], mean)
        errors = (((y[out] - fit.predict(X[out])) / spread) ** 2).mean(axis=1)
        total, mass = total + float(weights[out] @ errors), mass + float(weights[out].sum())
    return total / mass
