"""Scores of probabilities: error-reject curve, information, Brier score, calibration, log loss of label sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlog1py

from logikern.decisions.cases import (
    Cases,
    Labels,
    align,
    as_numbers,
    as_probabilities,
    as_scores,
    as_shares,
    as_weights,
    check_count,
)
from logikern.decisions.indicators import as_indicator, as_marginals, as_share
from logikern.decisions.label_sets import independent_labels, listed_sets
from logikern.numerics.outcome import Array, Indices, Mask


@dataclass(frozen=True, eq=False)
class ErrorRejectCurve:
    """E(a), the error among the kept cases when the least confident fraction a is rejected.

    There is one entry for each distinct confidence, in ascending order. Cases of equal confidence are rejected in
    random order, and the curve between two entries is the expected value: with k = 1 - a the fraction kept, k E is
    linear in k. The order of the rows therefore does not matter, and a case of weight 2 counts as two equal cases.
    Beyond the last entry the curve is constant.

    Attributes
    ----------
    kept : array of shape (m,)
        Fraction of the weight that is kept, from 1 down.
    error : array of shape (m,)
        Error among the kept cases.
    thresholds : array of shape (m,)
        Cases of smaller confidence are rejected.
    """

    kept: Array
    error: Array
    thresholds: Array

    @property
    def rejected(self) -> Array:
        """Fraction of the weight that is rejected, from 0 up."""
        return 1.0 - self.kept

    @property
    def area(self) -> float:
        """The integral of E(a) over a from 0 to 1 (AURC): the mean error over all fractions.

        It equals the error e if confidence carries no information, and e + (1 - e) log(1 - e) if all wrong cases are
        rejected first. It is the limit of the mean over n fractions in Geifman, Uziel & El-Yaniv (2019).
        """
        kept, wrong = self.kept[::-1], (self.kept * self.error)[::-1]
        width = np.diff(kept)
        slope = np.divide(np.diff(wrong), width, out=np.zeros_like(width), where=width > 0)
        # k E = s + slope k on each piece, so E integrates to s log(k_1 / k_0) plus the rise of k E.
        offset = wrong[:-1] - slope * kept[:-1]
        return float(wrong[-1] + np.sum(offset * np.log1p(width / kept[:-1])))

    @property
    def excess_area(self) -> float:
        """The area minus the area of the best order: 0 if every wrong case is rejected first."""
        error = self.error[0]
        return float(self.area - (error + xlog1py(1.0 - error, -error)))

    def error_at(self, fractions: Any) -> Any:
        """E at the given rejected fractions.

        Parameters
        ----------
        fractions : float or array of floats
            From 0 to 1, such as [0.05, 0.10, 0.25].
        """
        fractions = as_numbers(fractions, "fractions")
        if not ((fractions >= 0) & (fractions <= 1)).all():
            raise ValueError(f"`fractions` must lie between 0 and 1, but are {fractions}. Divide percentages by 100.")
        kept = np.maximum(1.0 - fractions, self.kept[-1])
        return np.interp(kept, self.kept[::-1], (self.kept * self.error)[::-1]) / kept


def error_reject_curve(
    y: Any, proba: Any, classes: Labels | None = None, sample_weight: Any = None
) -> ErrorRejectCurve:
    """Error rate of the kept cases as a function of the rejected fraction: Seeger (2008), Figures 3 and 4.

    Cases are ranked by their largest score, and the class with that score is the prediction (the first one in a tie).
    Scores need not be distributions; one-vs-rest scores are accepted.

    Parameters
    ----------
    y : array of shape (n,)
        True labels.
    proba : array of shape (n, C)
        Probabilities, or other scores whose maximum measures confidence.
    classes : sequence of length C, default=None
        The label of each column of `proba`; None means the sorted labels in `y`.
    sample_weight : array of shape (n,), default=None
        Weights of the cases; None means equal weights.

    Returns
    -------
    ErrorRejectCurve
        With the attributes `rejected`, `error`, `thresholds`, `area` and `excess_area`, and the method
        `error_at(fractions)`.

    Examples
    --------
    >>> curve = error_reject_curve([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> curve.error.round(3).tolist(), curve.thresholds.tolist()
    ([0.333, 0.0, 0.0], [0.6, 0.8, 0.9])
    """
    cases = align(y, as_scores(proba), classes, sample_weight)
    thresholds, group = np.unique(cases.confidence, return_inverse=True)
    # Summed from the most confident case, so that small fractions stay accurate.
    kept = np.bincount(group, cases.weights)[::-1].cumsum()[::-1]
    wrong = np.bincount(group, cases.weights * ~cases.correct)[::-1].cumsum()[::-1]
    return ErrorRejectCurve(kept / kept[0], wrong / kept, thresholds)


def target_information(
    y: Any,
    proba: Any,
    classes: Labels | None = None,
    prior: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean of log2 p(true class) - log2 prior(true class): the information beyond the prior, in bits.

    This is the mean target information of Cawley & Talbot (2008), Section 4 and Table 3, for any number of classes.
    It is 0 for predictions equal to the prior, negative for worse predictions, and minus infinity if a true class has
    probability 0. If the prior is uniform, or consists of the class frequencies in `y`, the value equals mean log2
    p(true class) + entropy of the prior. `prior="uniform"` with two classes gives the formula of the paper, 1 + mean
    log2 p(true class), although the text of the paper describes the excess over the class frequencies.

    Parameters
    ----------
    y : array of shape (n,)
        True labels.
    proba : array of shape (n, C)
        Probabilities.
    classes : sequence of length C, default=None
        The label of each column of `proba`; None means the sorted labels in `y`.
    prior : "uniform" or array of shape (C,), default=None
        Prior probabilities of the classes, such as their frequencies in the training data. None means the
        frequencies in `y`.
    sample_weight : array of shape (n,), default=None
        Weights of the mean.

    Examples
    --------
    >>> target_information(["a", "b"], [[0.5, 0.5], [0.0, 1.0]])
    0.5
    """
    cases = align(y, as_probabilities(proba), classes, sample_weight)
    reference = _prior(prior, cases)
    with np.errstate(divide="ignore"):
        bits = np.log2(cases.true_scores) - np.log2(reference)[cases.true]
    return float(cases.weights @ bits)


def brier_score(y: Any, proba: Any, classes: Labels | None = None, sample_weight: Any = None) -> float:
    """Brier score: the mean over cases of sum_c (p(c) - [c is true])^2, between 0 and 2.

    Parameters
    ----------
    y : array of shape (n,)
        True labels.
    proba : array of shape (n, C)
        Probabilities.
    classes : sequence of length C, default=None
        The label of each column of `proba`; None means the sorted labels in `y`.
    sample_weight : array of shape (n,), default=None
        Weights of the cases; None means equal weights.
    """
    cases = align(y, as_probabilities(proba), classes, sample_weight)
    truth = np.eye(cases.scores.shape[1])[cases.true]
    return float(cases.weights @ np.sum((cases.scores - truth) ** 2, axis=1))


def joint_log_loss(
    y: Any, proba: Any, label_sets: Any = None, unseen_share: float = 0.0, sample_weight: Any = None
) -> float:
    """Log loss of label sets, in nats: the mean of -log P(label set of a row).

    For independent labels, it is the sum of the log losses of all labels. It is infinite if a set has probability 0.

    Parameters
    ----------
    y : array or sparse matrix of shape (n, L)
        Indicator matrix: 1 if a row has a label, else 0.
    proba : array of shape (n, L), or (n, S) with `label_sets`
        Probabilities of the labels, which are taken as independent; or, with `label_sets`, a distribution over these
        sets.
    label_sets : array of shape (S, L), default=None
        The label sets of the columns of `proba`, as indicators.
    unseen_share : float, default=0.0
        With `label_sets`, the probability r reserved for sets that are not listed. The probability of a set is
        (1 - r) times its probability in `proba`, plus r times the product of the marginal probabilities of its
        labels.
    sample_weight : array of shape (n,), default=None
        Weights of the mean.

    Examples
    --------
    >>> round(joint_log_loss([[1, 0], [1, 1]], [[0.5, 0.5], [0.5, 0.5]]), 3)
    1.386
    """
    sets = as_indicator(y, "y")
    if label_sets is None:
        distribution = independent_labels(as_marginals(proba, sets.shape))
    else:
        listed, own = as_indicator(label_sets, "label_sets"), as_probabilities(proba)
        _check_sets(sets, own, listed)
        distribution = listed_sets(own, listed, as_share(unseen_share, "unseen_share"))
    shares = as_shares(as_weights(sample_weight, len(sets)))
    used = shares > 0
    return float(shares[used] @ -distribution.log_probability(sets)[used])


def _check_sets(sets: Mask, proba: Array, listed: Mask) -> None:
    """Raise unless sets, distributions over the listed sets, and listed sets have matching shapes."""
    if proba.shape != (len(sets), len(listed)):
        raise ValueError(
            f"`proba` must have a row for each of the {len(sets)} rows of `y` and a column for each of the "
            f"{len(listed)} rows of `label_sets`, but has shape {proba.shape!r}."
        )
    if listed.shape[1] != sets.shape[1]:
        raise ValueError(f"`label_sets` must have {sets.shape[1]} columns like `y`, but has {listed.shape[1]}.")


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """Cases binned by the probability of the predicted class, without empty bins.

    Attributes
    ----------
    confidence : array of shape (n_bins,)
        Mean probability of the predicted class.
    accuracy : array of shape (n_bins,)
        Share of correct predictions.
    share : array of shape (n_bins,)
        Share of the weight; sums to 1.
    """

    confidence: Array
    accuracy: Array
    share: Array


def reliability_bins(
    y: Any,
    proba: Any,
    classes: Labels | None = None,
    sample_weight: Any = None,
    n_bins: int = 15,
    strategy: str = "quantile",
) -> ReliabilityBins:
    """Mean confidence and accuracy in bins; confidence is the probability of the predicted class.

    Parameters
    ----------
    y : array of shape (n,)
        True labels.
    proba : array of shape (n, C)
        Probabilities.
    classes : sequence of length C, default=None
        The label of each column of `proba`; None means the sorted labels in `y`.
    sample_weight : array of shape (n,), default=None
        Weights of the cases; None means equal weights.
    n_bins : int, default=15
        Number of bins.
    strategy : "quantile" or "uniform", default="quantile"
        "quantile" makes bins of equal weight, "uniform" bins of equal width. Cases of equal confidence always share a
        bin.
    """
    cases = align(y, as_probabilities(proba), classes, sample_weight)
    _check_binning(n_bins, strategy)
    bins = np.minimum((_BINNINGS[strategy](cases) * n_bins).astype(int), n_bins - 1)
    share = np.bincount(bins, cases.weights)
    filled = share > 0
    confidence, accuracy = (
        np.bincount(bins, cases.weights * values)[filled] / share[filled]
        for values in (cases.confidence, cases.correct)
    )
    return ReliabilityBins(confidence, accuracy, share[filled])


def calibration_error(
    y: Any,
    proba: Any,
    classes: Labels | None = None,
    sample_weight: Any = None,
    n_bins: int = 15,
    strategy: str = "quantile",
) -> float:
    """Expected calibration error: the mean absolute difference between confidence and accuracy of bins.

    This is sum_b share_b |confidence_b - accuracy_b|, where b runs over bins of the probability of the predicted
    class: Guo, Pleiss, Sun & Weinberger (2017), eq. (3), who use "uniform" bins. Noise alone makes this error
    positive, especially if bins have few cases.

    Parameters
    ----------
    y : array of shape (n,)
        True labels.
    proba : array of shape (n, C)
        Probabilities.
    classes : sequence of length C, default=None
        The label of each column of `proba`; None means the sorted labels in `y`.
    sample_weight : array of shape (n,), default=None
        Weights of the cases; None means equal weights.
    n_bins : int, default=15
        Number of bins.
    strategy : "quantile" or "uniform", default="quantile"
        As in `reliability_bins`.
    """
    bins = reliability_bins(y, proba, classes, sample_weight, n_bins, strategy)
    return float(bins.share @ np.abs(bins.confidence - bins.accuracy))


def _middle_ranks(cases: Cases) -> Array:
    """The fraction of the weight that is less confident, plus half of the equally confident weight."""
    group: Indices
    _, group = np.unique(cases.confidence, return_inverse=True)
    mass = np.bincount(group, cases.weights)
    return (mass.cumsum() - 0.5 * mass)[group]


# Name -> position of each case in [0, 1]; bins divide this range evenly.
_BINNINGS: dict[str, Callable[[Cases], Array]] = {
    "quantile": _middle_ranks,
    "uniform": lambda cases: cases.confidence,
}


def _check_binning(n_bins: Any, strategy: Any) -> None:
    check_count(n_bins, "n_bins")
    if strategy not in _BINNINGS:
        raise ValueError(f"`strategy` must be one of {list(_BINNINGS)}, but is {strategy!r}.")


def _prior(prior: Any, cases: Cases) -> Array:
    n_classes = cases.scores.shape[1]
    shares = np.bincount(cases.true, cases.weights, minlength=n_classes)
    if prior is None:
        return shares
    if isinstance(prior, str) and prior == "uniform":
        return np.full(n_classes, 1.0 / n_classes)
    values = as_numbers(prior, "prior")
    if values.shape != (n_classes,):
        raise ValueError(f"`prior` must be None, 'uniform' or {n_classes} probabilities, but is {prior!r}.")
    values = as_probabilities(values[None, :], "prior")[0]
    impossible = np.flatnonzero((values == 0) & (shares > 0))
    if impossible.size:
        raise ValueError(
            f"`prior` must be positive for classes that occur, but is 0 for {cases.names[impossible[0]]!r}."
        )
    return values
