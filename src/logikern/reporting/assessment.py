"""Scores of a model and of a baseline on some rows, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from logikern.decisions.intervals import Estimate, bootstrap_means, wilson_intervals
from logikern.decisions.metrics import ErrorRejectCurve, error_reject_curve, reliability_bins
from logikern.numerics.outcome import Array, Indices


@dataclass(frozen=True)
class AssessmentPolicy:
    """How scores are summarised."""

    most_bins: int = 15  # of the reliability diagram
    rows_per_bin: int = 20  # with fewer rows, the interval of a bin is wider than 0.4
    rejected: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)  # fractions in the table of the curve


USUAL = AssessmentPolicy()


@dataclass(frozen=True)
class Score:
    """A score of the model and of a baseline that predicts the shares in these rows; smaller is better."""

    name: str
    meaning: str
    model: Estimate
    baseline: Estimate
    is_share: bool = False


@dataclass(frozen=True)
class Bin:
    """Rows with similar probability of the predicted class."""

    n_rows: int
    confidence: float
    accuracy: Estimate


@dataclass(frozen=True, eq=False)
class Assessment:
    """Scores, reliability and rejection on rows whose target is a class."""

    n_rows: int
    scores: tuple[Score, ...]
    bins: tuple[Bin, ...]
    confidence: Array  # (n,): largest probability of each row
    curve: ErrorRejectCurve
    rejections: tuple[tuple[float, float], ...]  # fraction rejected, error among the others
    losses: Array  # (n,): -log p(true class)


# Name, meaning, and whether it is a share, of the columns of `row_losses`.
CLASS_SCORES = (
    ("log loss", "mean of -log(probability of the true class), natural logarithm", False),
    ("error", "share of rows whose predicted class is wrong", True),
    ("Brier score", "squared distance of the probabilities from the truth, summed over classes: 0 to 2", False),
)


def assess(
    log_probabilities: Array,
    true: Indices,
    predicted: Indices | None = None,
    groups: Array | None = None,
    policy: AssessmentPolicy = USUAL,
) -> Assessment:
    """Assess log probabilities (n, C); `true` is the column of each row's class.

    Parameters
    ----------
    log_probabilities : array of shape (n, C)
    true : array of shape (n,)
    predicted : array of shape (n,) or None, default=None
        Columns of the predicted classes; None means the most probable ones.
    groups : array of shape (n,) or None, default=None
        Rows that depend on each other: intervals resample groups.
    """
    probabilities, columns = np.exp(log_probabilities), np.arange(log_probabilities.shape[1])
    own, base = row_losses(log_probabilities, true, predicted), _losses_of_shares(true, len(columns))
    curve = error_reject_curve(true, probabilities, columns)
    errors = curve.error_at(policy.rejected)
    return Assessment(
        len(true),
        compare(CLASS_SCORES, own, base, groups),
        _bins(probabilities, true, policy),
        probabilities.max(axis=1),
        curve,
        tuple(zip(policy.rejected, map(float, errors), strict=True)),
        own[:, 0],
    )


def compare(
    told: Sequence[tuple[str, str, bool]], own: Array, base: Array, groups: Array | None = None
) -> tuple[Score, ...]:
    """Mean losses (n, k) of the model and of the baseline, with their names, meanings and whether they are shares."""
    means = bootstrap_means(np.hstack([own, base]), groups=groups)
    pairs = zip(told, means[: len(told)], means[len(told) :], strict=True)
    return tuple(Score(name, meaning, model, other, is_share) for (name, meaning, is_share), model, other in pairs)


def _losses_of_shares(true: Indices, n_classes: int) -> Array:
    """`row_losses` of a model that always predicts the class shares of these rows."""
    columns = np.arange(n_classes)
    with np.errstate(divide="ignore"):
        log_shares = np.log(np.bincount(true, minlength=n_classes) / len(true))
    # They are the same in all rows of a class.
    return row_losses(np.broadcast_to(log_shares, (n_classes, n_classes)), columns)[true]


def row_losses(log_probabilities: Array, true: Indices, predicted: Indices | None = None) -> Array:
    """Log loss, error and Brier score of each row, (n, 3); the most probable classes are predicted, or given ones."""
    rows, probabilities = np.arange(len(true)), np.exp(log_probabilities)
    of_true = probabilities[rows, true]
    # sum_c (p_c - [c is true])^2 = sum_c p_c^2 - 2 p_true + 1
    brier = np.einsum("ij,ij->i", probabilities, probabilities) - 2.0 * of_true + 1.0
    wrong = (probabilities.argmax(axis=1) if predicted is None else predicted) != true
    return np.stack([-log_probabilities[rows, true], wrong, brier], axis=1)


def _bins(probabilities: Array, true: Indices, policy: AssessmentPolicy) -> tuple[Bin, ...]:
    n_bins = n_bins_for(len(true), policy)
    found = reliability_bins(true, probabilities, np.arange(probabilities.shape[1]), n_bins=n_bins)
    counts = np.round(found.share * len(true))
    low, high = wilson_intervals(found.accuracy, counts)
    ends = zip(counts, found.confidence, found.accuracy, low, high, strict=True)
    return tuple(Bin(int(n), float(mean), Estimate(*map(float, own))) for n, mean, *own in ends)


def n_bins_for(n_rows: int, policy: AssessmentPolicy = USUAL) -> int:
    """Number of bins of the reliability diagram."""
    return int(np.clip(n_rows // policy.rows_per_bin, 1, policy.most_bins))
