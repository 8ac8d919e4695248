"""What the number of hyperparameters adds to one evaluation of the criterion and its gradient.

Twelve against two: six kernels on 2000 rows of satimage. Twelve free numbers (a rate and a variance for each class),
or the same six kernels whose rates and variances are two numbers times fixed factors: the covariance is the same, and
so is the number of operators; the gradient differs in how it is collected. One kernel for all classes, which has two
hyperparameters and one operator, is given for comparison. Two hundred against one: synthetic inputs of 200 columns,
one rate for all or one for each, at equal values. Every evaluation starts cold, kernel matrices included, at the
settings of the estimator's search. Evaluations are interleaved and the medians compared.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold

from data import Split, load
from logikern.criteria.base import Evaluation
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import folds_from_splits
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.preconditioning.adaptive import LowRankConditioning
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.parallel import own_threads
from logikern.operators.choose import PointSet, choose
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie
from measure import BIAS_VARIANCE, separate, shared
from report import Report, Row, main

VARIANCE = 30.0
# Of the inner fits, as in the first steps of the estimator's search.
SEARCH_TOLERANCE = 2e-3
N_INPUTS = 200
REPEATS = 9
# Rates and variances of the classes in units of those two that they are tied to.
RATE_FACTORS = np.array([0.5, 0.7, 0.9, 1.1, 1.4, 2.0])
VARIANCE_FACTORS = RATE_FACTORS[::-1]


@dataclass(frozen=True, eq=False)
class Case:
    """A specification, and how its gradient is collected."""

    label: str
    specification: Specification
    collect: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Timing:
    """Seconds of every repeat, and the last evaluation with its gradient."""

    seconds: list[float]
    evaluation: Evaluation
    gradient: np.ndarray


def criterion_of(split: Split) -> CrossValidation:
    """Five folds, solved as in the estimator's search."""
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(split.X, split.y)
    folds = folds_from_splits(splits, np.ones(len(split.y)))
    solver = Newton(SEARCH_TOLERANCE, conditioning=LowRankConditioning(seed=0))
    return CrossValidation(Softmax(), from_labels(split.y, split.n_classes), folds, solver)


def without_bias(gradient: np.ndarray) -> np.ndarray:
    return gradient[:-1]


def sum_by_kind(gradient: np.ndarray) -> np.ndarray:
    """Derivatives by the two numbers to which rates and variances are tied."""
    rates, variances = np.split(gradient[:-1], 2)
    return np.array([rates.sum(), variances.sum()])


def measure_cases(split: Split, cases: list[Case], repeats: int) -> list[Timing]:
    """Interleaved: a slow moment of the machine hits all cases alike."""
    criterion = criterion_of(split)
    points = choose(cases[0].specification.kernels, split.X, "dense", "single").points(split.X, keep_distances=True)
    timings = [_evaluate(case, criterion, points) for case in cases]  # the distances are computed here, once
    for timing in timings:
        timing.seconds.clear()
    for _ in range(repeats):
        for case, timing in zip(cases, timings, strict=True):
            timing.seconds.extend(_evaluate(case, criterion, points).seconds)
    return timings


def _evaluate(case: Case, criterion: CrossValidation, points: PointSet) -> Timing:
    began = time.perf_counter()
    evaluation = criterion.evaluate(case.specification.bind(points), None, SEARCH_TOLERANCE)
    gradient = case.collect(case.specification.collect(evaluation.gradient))
    return Timing([time.perf_counter() - began], evaluation, gradient)


def tabulate(cases: list[Case], timings: list[Timing]) -> list[Row]:
    base = float(np.median(timings[0].seconds))
    return [
        {
            "hyperparameters": len(timing.gradient),
            "model": case.label,
            "operators": len(case.specification.kernels),
            "median seconds": float(np.median(timing.seconds)),
            "fastest": min(timing.seconds),
            "slowest": max(timing.seconds),
            "ratio": float(np.median(timing.seconds)) / base,
            "products": timing.evaluation.n_products,
            "criterion": timing.evaluation.value,
            "usable": timing.evaluation.usable,
        }
        for case, timing in zip(cases, timings, strict=True)
    ]


def compare(report: Report, title: str, split: Split, cases: list[Case], repeats: int, wanted: float) -> None:
    with own_threads():  # as in a fit
        rows = tabulate(cases, measure_cases(split, cases, repeats))
    report.table(title, rows)
    many, few = rows[1], rows[0]
    claim = f"{title}: {many['hyperparameters']} against {few['hyperparameters']} hyperparameters"
    report.verdict(claim, f"<= {wanted:g}", f"{many['ratio']:.2f}", many["ratio"] <= wanted)
    report.say("")


def class_cases(split: Split) -> list[Case]:
    rate = 9.0 / split.total_variance
    free = separate(split, rate * RATE_FACTORS, VARIANCE * VARIANCE_FACTORS)
    return [
        Case("six kernels, tied", free, sum_by_kind),
        Case("six kernels, free", free, without_bias),
        Case("one kernel for all", shared(split, rate, VARIANCE), without_bias),
    ]


def input_cases(split: Split) -> list[Case]:
    rate = 2.0 / split.total_variance
    mixing = Flat(split.n_classes)
    each = Specification((Gaussian((rate,) * N_INPUTS),), (VARIANCE,), BIAS_VARIANCE, tie("shared", mixing), mixing)
    return [
        Case("one rate", shared(split, rate, VARIANCE), without_bias),
        Case("a rate for each input", each, without_bias),
    ]


def synthetic(n: int) -> Split:
    """Four classes that depend on ten of the 200 columns."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, N_INPUTS))
    latent = np.tanh(X[:, :10] @ random.standard_normal((10, 4)))
    y = (3 * latent + random.gumbel(size=latent.shape)).argmax(axis=1)
    return Split("synthetic", X, y, X[:0], y[:0])


def run(report: Report, quick: bool) -> None:
    repeats = 3 if quick else REPEATS
    satimage = load("satimage").standardised().head(500 if quick else 2000)
    compare(report, f"satimage, {len(satimage.y)} rows", satimage, class_cases(satimage), repeats, 1.5)
    for n in (500,) if quick else (1000, 2000):
        split = synthetic(n)
        compare(report, f"{n} rows of {N_INPUTS} inputs", split, input_cases(split), repeats, 3.0)


if __name__ == "__main__":
    main("cost_of_hyperparameters", __doc__, run)
