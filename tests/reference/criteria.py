"""Held-out losses by fitting again, and the leave-one-out step by its definition."""

from collections.abc import Iterable

import numpy as np

from tests.reference.model import Model
from tests.reference.newton import Optimum, softmax_optimum
from tests.reference.softmax import log_softmax, softmax

Splits = Iterable[tuple[np.ndarray, np.ndarray]]


def held_out_loss(model: Model, X: np.ndarray, targets: np.ndarray, weights: np.ndarray, splits: Splits) -> float:
    """Weighted mean of -sum_c t_c log p_c over held-out points, each fold fitted to what it keeps."""
    total, mass = 0.0, 0.0
    for kept, out in splits:
        # Points may be held out by several splits, and left out by all.
        fit = softmax_optimum(model, X[kept], targets[:, kept], weights[kept])
        losses = -(targets[:, out] * log_softmax(fit.latents_at(X[out]))).sum(axis=0)
        total, mass = total + float(weights[out] @ losses), mass + float(weights[out].sum())
    return total / mass


def leave_one_out(model: Model, X: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Latents (C, n) of every point from the fit to all others."""
    columns = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        fit = softmax_optimum(model, X[others], targets[:, others], weights[others])
        columns.append(fit.latents_at(X[[i]])[:, 0])
    return np.array(columns).T


def one_step_without(fit: Optimum, weights: np.ndarray) -> np.ndarray:
    """Latents (C, n) of every point after one Newton step from the optimum without that point.

    Without point i the penalised loss has the gradient -g_i at the optimum, in latents, and the Hessian K^-1 + W with
    W_i = 0. The step in latents is (K^-1 + W)^-1 g_i = K (I + W K)^-1 g_i, at point i itself. With free constants b
    it is K a + E b, where a + W (K a + E b) = g_i and E' a = 0.
    """
    model, X = fit.model, fit.points
    shape, size = fit.latent.shape, fit.latent.size
    covariance = model.covariance(X, X).reshape(size, size)
    # The constant of the last class is zero: a constant of all classes changes nothing.
    n_free = shape[0] - 1 if np.isinf(model.bias_variance) else 0
    free = np.kron(np.eye(shape[0]), np.ones((shape[1], 1)))[:, :n_free]
    probability = softmax(fit.latent)
    result = np.empty(shape)
    for i in range(shape[1]):
        own = np.where(np.arange(shape[1]) == i, 0.0, weights)
        curvature = np.zeros((*shape, *shape))
        for j in range(shape[1]):
            p = probability[:, j]
            curvature[:, j, :, j] = own[j] * (np.diag(p) - np.outer(p, p))
        pull = np.zeros(shape)
        pull[:, i] = -fit.dual[:, i]  # the loss's gradient at i, which the others no longer have to bear
        curvature = curvature.reshape(size, size)
        system = np.block(
            [[np.eye(size) + curvature @ covariance, curvature @ free], [free.T, np.zeros((n_free, n_free))]]
        )
        solution = np.linalg.solve(system, np.append(pull.ravel(), np.zeros(n_free)))
        step = covariance @ solution[:size] + free @ solution[size:]
        result[:, i] = fit.latent[:, i] + step.reshape(shape)[:, i]
    return result
