"""Scores of predicted numbers, with intervals."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from logikern.decisions.intervals import Estimate, bootstrap_means, resampled_means


@dataclass(frozen=True)
class NumberScores:
    """Scores of predictions; all except the baselines have a 95 % interval."""

    rows: int
    rmse: Estimate
    baseline_rmse: float  # RMSE of predicting the mean of the targets
    mean_absolute_error: Estimate
    r2: Estimate | None  # None if all targets are equal
    log_loss: Estimate | None  # None if the model has no standard deviation
    baseline_log_loss: float | None  # of a normal distribution with the mean and variance of the targets


def score_numbers(true: np.ndarray, predicted: np.ndarray, deviation: float) -> NumberScores:
    """Scores of predictions (n,) whose errors have this standard deviation, which may be nan."""
    errors, spread = true - predicted, float(true.std())
    squared, absolute = bootstrap_means(np.stack([errors**2, np.abs(errors)], axis=1))
    varies, knows = spread > 0, bool(deviation > 0)
    return NumberScores(
        rows=len(true),
        rmse=Estimate(*np.sqrt([squared.value, squared.low, squared.high]).tolist()),
        baseline_rmse=spread,
        mean_absolute_error=absolute,
        r2=_explained(true, errors) if varies else None,
        log_loss=bootstrap_means(_log_losses(errors, deviation)[:, None])[0] if knows else None,
        baseline_log_loss=float(_log_losses(true - true.mean(), spread).mean()) if knows and varies else None,
    )


def _log_losses(errors: np.ndarray, deviation: float) -> np.ndarray:
    """-log of the normal density of each error."""
    return 0.5 * np.log(2.0 * np.pi * deviation**2) + 0.5 * (errors / deviation) ** 2


def _explained(true: np.ndarray, errors: np.ndarray) -> Estimate:
    """1 - mean squared error / variance; rows are resampled for both together."""
    centred = true - true.mean()
    columns = np.stack([errors**2, centred, centred**2], axis=1)
    means = resampled_means(columns)
    variances = means[:, 2] - means[:, 1] ** 2
    usable = variances > 1e-12 * centred.var()  # a resampling may repeat a single row
    low, high = np.quantile(1.0 - means[usable, 0] / variances[usable], [0.025, 0.975])
    return Estimate(float(1.0 - np.mean(errors**2) / centred.var()), float(low), float(high))


def named_scores(scores: NumberScores) -> Iterator[tuple[str, Estimate | float | None]]:
    """Each score with its name for a reader."""
    yield "RMSE", scores.rmse
    yield "RMSE of always predicting the mean", scores.baseline_rmse
    yield "mean absolute error", scores.mean_absolute_error
    yield "R^2", scores.r2
    if scores.log_loss is not None:
        yield "log loss", scores.log_loss
        yield "log loss of a normal distribution fitted to the targets", scores.baseline_log_loss
