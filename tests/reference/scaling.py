"""Scales of inputs, learned on training rows."""

import numpy as np


def scale_inputs(kind: str, X: np.ndarray, weights: np.ndarray, new: np.ndarray, is_sparse: bool) -> np.ndarray:
    """New rows (m, d) on the scale that the training rows X (n, d) with weights (n,) define.

    "raw" is as it is. "standard" has mean zero and variance one in training; sparse rows keep their zeros, and
    columns without any spread their values. "ranks" is the share of training values below, plus half of those
    that are equal, linear in between and constant beyond; it is centred, and multiplied so that a uniform
    distribution has variance one.
    """
    if kind == "raw":
        return new
    if kind == "standard":
        mean = np.average(X, axis=0, weights=weights)
        spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        return (new - (0.0 if is_sparse else mean)) / np.where(np.ptp(X, axis=0) > 0, spread, 1.0)
    return np.stack([_ranks(X[:, j], weights, new[:, j]) for j in range(X.shape[1])], axis=1)


def _ranks(values: np.ndarray, weights: np.ndarray, new: np.ndarray) -> np.ndarray:
    known = np.unique(values)
    shares = np.array([weights @ ((values < one) + 0.5 * (values == one)) for one in known]) / weights.sum()
    return np.sqrt(12.0) * (np.interp(new, known, shares) - 0.5)
