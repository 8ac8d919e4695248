"""Criteria whose minimum is known, and searches over them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from logikern.criteria.base import Criterion, Evaluation, unusable
from logikern.kernels import Gaussian
from logikern.numerics.outcome import Outcome
from logikern.operators.choose import Choice
from logikern.selection.growth import FirstModel, Learned, Plan, learn
from logikern.selection.journal import Journal
from logikern.selection.search import Effort, SearchData, SearchLog
from logikern.structure.covariance import ClassCovariance, CovarianceGradient
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tying import tie

N_CLASSES = 3
N_LOSSES = 100
POINTS = np.random.default_rng(0).standard_normal((6, 2))
EXACT = Effort(relative_worth=1e-9, certain_loss=0.0)  # with priors of full weight, minima are known


def no_interruption(number: int) -> None:
    """Let every evaluation pass."""


@dataclass(eq=False)
class Bowl(Criterion):
    """1 + 1/2 sum (log h - minimum)^2 over rates and class variances, as if it were expensive.

    `usable` sees rates and variances in logs, `before` the number of each evaluation, and may raise. A minimum is one
    number, or one for each kernel or class.
    """

    log_rate: Any = 1.0
    log_variance: Any = 2.0
    usable: Callable[[np.ndarray, np.ndarray], bool] = lambda rates, variances: True
    before: Callable[[int], None] = no_interruption
    starts: list[Any] = field(default_factory=list)
    tolerances: list[float] = field(default_factory=list)
    n_points: int = N_LOSSES

    @property
    def loss_weights(self):
        return np.ones(N_LOSSES)

    @property
    def loss_points(self):
        return np.arange(N_LOSSES) % self.n_points

    def evaluate(self, covariance: ClassCovariance, start: Any, tolerance: float) -> Evaluation:
        self.starts.append(start)
        self.tolerances.append(tolerance)
        self.before(len(self.starts))
        rates = np.concatenate([operator.kernel.log_parameters for operator in covariance.operators])
        variances = np.log(covariance.variances)
        if not self.usable(rates, variances):
            return unusable(Outcome.OUT_OF_STEPS, 3)
        by_rate, by_variance = rates - self.log_rate, variances - self.log_variance
        value = 1.0 + 0.5 * float(by_rate @ by_rate + by_variance @ by_variance)
        gradient = CovarianceGradient(tuple(np.split(by_rate, len(covariance.operators))), by_variance, 0.0)
        state = np.full((1, N_CLASSES, len(POINTS)), float(len(self.starts)))
        return Evaluation(value, gradient, np.full(N_LOSSES, value), state, Outcome.CONVERGED, 5)


@dataclass(eq=False)
class Fixed(Criterion):
    """Losses that depend on the number of kernels alone, and on no hyperparameter; of points of their own or few."""

    losses: dict[int, np.ndarray]
    weight: float = 1.0
    n_points: int = N_LOSSES

    @property
    def loss_weights(self):
        return np.full(N_LOSSES, self.weight)

    @property
    def loss_points(self):
        return np.arange(N_LOSSES) % self.n_points

    def evaluate(self, covariance: ClassCovariance, start: Any, tolerance: float) -> Evaluation:
        losses = self.losses[len(covariance.operators)]
        nothing = CovarianceGradient(
            tuple(np.zeros(1) for _ in covariance.operators), np.zeros(len(covariance.variances)), 0.0
        )
        return Evaluation(float(losses.mean()), nothing, losses, np.zeros((1, 3, 6)), Outcome.CONVERGED, 1)


def rung(criterion: Criterion) -> SearchData:
    points = Choice("dense", np.dtype(float), "", 1e8).points(POINTS)
    return SearchData(criterion, points, len(POINTS))


def start(tying: Any = "shared", log_rate: float = 0.0, log_variance: float = 0.0) -> Specification:
    own = tie(tying, Flat(N_CLASSES))
    kernels = (Gaussian(float(np.exp(log_rate))),) * own.n_kernels
    return Specification(kernels, (float(np.exp(log_variance)),) * own.n_variances, 1.0, own, Flat(N_CLASSES))


def log(**settings: Any) -> SearchLog:
    return SearchLog(**{"journal": Journal(), "callback": lambda record: None, **settings})


def plan(*names: str, **settings: Any) -> Plan:
    tyings = tuple((name, tie(name, Flat(N_CLASSES))) for name in names or ("shared",))
    usual = {"tyings": tyings, "compare": True, "relevance": False, "n_inputs": 2, "n_points": len(POINTS)}
    return Plan(**{**usual, **settings})


def first_model(rungs: Sequence[SearchData], origin: Specification | None = None, name: str = "") -> FirstModel:
    """A model on these rungs."""
    own = start() if origin is None else origin
    return FirstModel(name, own, lambda number, _: rungs[number], lambda best, best_start: best)


def grow_on(
    rungs: Sequence[SearchData],
    own_plan: Plan,
    own_log: SearchLog | None = None,
    effort: Effort = EXACT,
    seed: int = 0,
) -> Learned | None:
    """Growth of one first model."""
    kept = log() if own_log is None else own_log
    return learn([first_model(rungs)], own_plan, len(rungs), effort, kept, np.random.default_rng(seed))
