"""The optimum of the penalised softmax loss by dense Newton steps on all classes and points at once."""

from dataclasses import dataclass

import numpy as np

from tests.reference.model import Model
from tests.reference.softmax import softmax

# Eigenvalues of the covariance below this part of the largest are rounding.
NEGLIGIBLE = 1e-15


@dataclass(frozen=True, eq=False)
class Optimum:
    """Dual and latents (C, n) at the optimum, free constants (C,), and the penalised loss there."""

    model: Model
    points: np.ndarray
    dual: np.ndarray
    latent: np.ndarray
    constants: np.ndarray
    value: float

    def latents_at(self, X: np.ndarray) -> np.ndarray:
        """Class functions at new points, (C, m)."""
        return self.model.image(self.model.matrices(X, self.points), self.dual) + self.constants[:, None]


def softmax_optimum(model: Model, X: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> Optimum:
    """argmin_u sum_i w_i (log sum_c exp u_ic - sum_c t_ic u_ic) + |u|^2 / 2 for targets (C, n), weights (n,).

    Latents are u = F z with F F' the covariance, so the penalty is z'z / 2. Infinite bias variances add columns to F
    whose coefficients have no penalty. At the optimum the dual is minus the gradient of the loss.
    """
    features, penalty = _features(model, X)
    shape = targets.shape

    def loss_and_gradient(z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        latent = (features @ z).reshape(shape)
        highest = latent.max(axis=0)
        totals = highest + np.log(np.exp(latent - highest).sum(axis=0))
        loss = float(weights @ (totals - (targets * latent).sum(axis=0)) + 0.5 * penalty @ z**2)
        return loss, features.T @ (weights * (softmax(latent) - targets)).ravel() + penalty * z, latent

    z = np.zeros(features.shape[1])
    loss, gradient, latent = loss_and_gradient(z)
    scale = 1.0 + np.abs(features).max(initial=0.0)  # a kernel may be zero everywhere
    for _ in range(500):
        if np.abs(gradient).max(initial=0.0) <= 1e-13 * scale:
            break
        step = -_solve(_hessian(features, penalty, softmax(latent), weights), gradient)
        length = 1.0
        while length > 1e-10:
            trial = loss_and_gradient(z + length * step)
            # Close to the optimum rounding hides the descent: there a smaller gradient tells.
            level = trial[0] <= loss + 1e-12 * (1.0 + abs(loss))
            smaller = np.abs(trial[1]).max() < np.abs(gradient).max()
            if trial[0] <= loss + 1e-4 * length * (gradient @ step) or (level and smaller):
                break
            length *= 0.5
        else:
            break
        z = z + length * step
        loss, gradient, latent = trial
    dual = weights * (targets - softmax(latent))
    n_free = len(penalty) - int(penalty.sum())
    constants = z[len(z) - n_free :] if n_free else np.zeros(shape[0])
    return Optimum(model, X, dual, latent, constants, loss)


def _features(model: Model, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F with F F' = covariance, (C n, r), and the penalty of each coefficient, 1 or 0."""
    size = model.n_classes * len(X)
    values, vectors = np.linalg.eigh(model.covariance(X, X).reshape(size, size))
    used = values > NEGLIGIBLE * max(values.max(), 1e-300)
    features, penalty = vectors[:, used] * np.sqrt(values[used]), np.ones(used.sum())
    if np.isinf(model.bias_variance):
        free = np.kron(np.eye(model.n_classes), np.ones((len(X), 1)))
        features, penalty = np.hstack([features, free]), np.append(penalty, np.zeros(model.n_classes))
    return features, penalty


def _hessian(features: np.ndarray, penalty: np.ndarray, probability: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """F' W F + diag(penalty), W = diag(w pi) - w pi pi' at every point."""
    blocks = features.reshape(*probability.shape, -1)  # (C, n, r)
    mean = np.einsum("cn,cnr->nr", probability, blocks)
    spread = np.einsum("cnr,cn,cns->rs", blocks, probability * weights, blocks, optimize=True)
    return spread - np.einsum("nr,n,ns->rs", mean, weights, mean, optimize=True) + np.diag(penalty)


def _solve(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Newton's step; constants that shift all classes alike change nothing and stay where they are."""
    return np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
