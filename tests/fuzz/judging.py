"""A fitted classifier against the reference at the same hyperparameters."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from tests.fuzz.checks import Checks
from tests.fuzz.tables import Inputs
from tests.reference.iterative import certify, probability_bound
from tests.reference.model import Model
from tests.reference.newton import Optimum, softmax_optimum
from tests.reference.scaling import scale_inputs
from tests.reference.softmax import (
    SMALLEST,
    SMALLEST_IN_SINGLE,
    complete,
    relative_norm,
    relative_norm_per_weight,
    residual,
    sharpen,
    softmax,
)

# Classes times rows up to which the reference finds the optimum itself.
LARGEST_DENSE = 420
# What predictions may differ by where the same sums are computed in double, and where inputs are float32.
DOUBLE, SINGLE = 1e-6, 1e-3
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Problem:
    """What was fitted, without rows of weight zero.

    Parameters
    ----------
    model : Model
    inputs : Inputs
        All rows.
    kept : array of int
        Rows that carry weight.
    targets : array, (C, n) of the rows kept
    weights : array, (n,) of the rows kept
    inside : array of 0 and 1, (C, n), or None
        Of rows that are only known to belong to one of several classes, these classes; None where all are known.
    """

    model: Model
    inputs: Inputs
    kept: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    inside: np.ndarray | None = None

    def targets_at(self, latent: np.ndarray) -> np.ndarray:
        """The targets, where only a set of classes is known completed by the probabilities within it."""
        return self.targets if self.inside is None else complete(latent, self.inside)

    @property
    def points(self) -> np.ndarray:
        return self.inputs.values[self.kept]


def problem_of(model: Model, inputs: Inputs, targets: np.ndarray, weights: np.ndarray | None) -> Problem:
    """The problem of all rows, weighed by one where nothing else is said."""
    weights = np.ones(len(inputs.values)) if weights is None else weights
    kept = np.flatnonzero(weights > 0)
    return Problem(model, inputs, kept, targets[:, kept], weights[kept])


def seen_by(fitted: Any, inputs: Inputs, weights: np.ndarray | None) -> Inputs:
    """The inputs that a search has learned from: without columns left out, on the scale that it chose."""
    weights = np.ones(len(inputs.values)) if weights is None else weights
    columns = np.unique(fitted.encoder_.columns)
    X, new = inputs.values[:, columns], inputs.values_new[:, columns]
    scale = (fitted.encoder_.scaling.kind, X[weights > 0], weights[weights > 0])
    is_sparse = sparse.issparse(inputs.given)
    return replace(inputs, values=scale_inputs(*scale, X, is_sparse), values_new=scale_inputs(*scale, new, is_sparse))


def judge_fit(checks: Checks, fitted: Any, problem: Problem, told: str) -> None:
    """The reported residual, the probabilities at the dual, and the optimum where that is cheap."""
    single = problem.inputs.is_single or fitted.state_precision == "single"
    _judge_forms(checks, fitted, problem, 1e-6 if single else 1e-9, told)
    model, specification = problem.model, fitted.model_.specification
    dual = np.asarray(fitted.dual_coef_, dtype=np.float64)[problem.kept].T
    constants = fitted.model_.constants if np.isinf(model.bias_variance) else np.zeros(model.n_classes)
    matrices = model.matrices(problem.points, problem.points)
    latent = model.image(matrices, dual) + constants[:, None]
    rounding = 32 * EPSILON * _sums(model, matrices, dual).max()
    judge_residual(checks, fitted, _as_held(fitted, problem), dual, latent, rounding, told)
    new = model.matrices(problem.inputs.values_new, problem.points)
    allowed = (SINGLE if single else DOUBLE) + 32 * EPSILON * _sums(model, new, dual).max()
    temperature = specification.temperature
    at_dual = sharpen(model.image(new, dual) + constants[:, None], temperature.certain, temperature.uncertain)
    found = fitted.predict_proba(problem.inputs.given_new)
    checks.close("fit: probabilities at the dual", found, softmax(at_dual).T, allowed, told)
    if dual.size > LARGEST_DENSE or problem.inside is not None:
        return  # too slow, or not convex: there may be several optima
    if np.isinf(model.bias_variance) and not fitted.outcome_.converged:
        return  # there is no certificate, and the fit says that it is not there
    optimum = softmax_optimum(model, problem.points, problem.targets, problem.weights)
    at_optimum = sharpen(optimum.latents_at(problem.inputs.values_new), temperature.certain, temperature.uncertain)
    bound = allowed + _distance_bound(fitted, problem, matrices, dual, optimum)
    checks.close("fit: probabilities at the optimum", found, softmax(at_optimum).T, bound, told)


def _as_held(fitted: Any, problem: Problem) -> Problem:
    """The problem that a fit with coefficients in single precision solves: targets and weights are rounded as well.

    Its gradient is computed in double, so the reported residual has no other error than one in double.
    """
    if fitted.dual_coef_.dtype != np.float32:
        return problem
    targets, weights = (array.astype(np.float32).astype(float) for array in (problem.targets, problem.weights))
    if fitted.solver == "smo":
        targets /= targets.sum(axis=0)  # its shares must be distributions in double
    return replace(problem, targets=targets, weights=weights)


def _sums(model: Model, matrices: list[np.ndarray], dual: np.ndarray) -> np.ndarray:
    """What rounding errors of latents are proportional to: their sums without signs."""
    return model.image([np.abs(matrix) for matrix in matrices], np.abs(dual))


def judge_residual(
    checks: Checks, fitted: Any, problem: Problem, dual: np.ndarray, latent: np.ndarray, rounding: float, told: str
) -> None:
    """The gradient norm that the fit reports is the one that the reference finds."""
    targets = problem.targets_at(latent)
    gradient = problem.weights * (softmax(latent) - targets)
    smallest = SMALLEST_IN_SINGLE if fitted.dual_coef_.dtype == np.float32 else SMALLEST
    rest = residual(dual, latent, targets, problem.weights)
    true = relative_norm(rest, gradient, problem.weights, smallest)
    unit = np.abs(rest).max() / true if true else 1.0
    reported = float(fitted.newton_trace_[-1].gradient_norm)
    small = max(reported, true) <= fitted.tol
    slack = 0.1 * true + rounding * problem.weights.max() / unit
    checks.that(
        "fit: reported residual is the true one",
        small or abs(reported - true) <= slack,
        f"reported {reported:.3g}, true {true:.3g}, outcome {fitted.outcome_.name}, tol {fitted.tol:g} {told}",
    )
    per_weight = relative_norm_per_weight(dual, gradient, problem.weights, smallest)
    judged = per_weight if fitted.solver == "kcg" else reported
    if abs(judged - fitted.tol) > slack:
        agrees = fitted.outcome_.converged == (judged <= fitted.tol)
        checks.that("fit: outcome agrees with residual", agrees, f"{judged:.3g} {fitted.outcome_.name} {told}")


def _distance_bound(
    fitted: Any, problem: Problem, matrices: list[np.ndarray], dual: np.ndarray, optimum: Optimum
) -> float:
    """How far probabilities at new points can be from the optimum, by the residuals of both."""
    model = problem.model
    if np.isinf(model.bias_variance):
        # There is no certificate without a penalty on the constants. The solver's own tolerance is 1e-8, but a fit
        # that `max_iter` stops is accepted below `tol`. Near the optimum distances are proportional to residuals.
        return 1e-5 * max(1.0, float(fitted.newton_trace_[-1].gradient_norm) / 1e-8)
    given = certify(model, matrices, dual, problem.targets, problem.weights)
    own = certify(model, matrices, optimum.dual, problem.targets, problem.weights)
    spread = np.sqrt(model.variance_at(problem.inputs.values_new).max(initial=0.0))
    return float(probability_bound(spread * (given.distance + own.distance)))


def _judge_forms(checks: Checks, fitted: Any, problem: Problem, within: float, told: str) -> None:
    """The different answers of one model agree with each other."""
    rows = problem.inputs.given_new
    proba, logs = fitted.predict_proba(rows), fitted.predict_log_proba(rows)
    checks.close("forms: rows sum to one", proba.sum(axis=1), np.ones(len(proba)), within, told)
    checks.close("forms: log probabilities", np.exp(logs), proba, within, told)
    best = fitted.classes_[proba.argmax(axis=1)]
    checks.that("forms: predict is the most probable class", (fitted.predict(rows) == best).all(), told)
    values = fitted.decision_function(rows)
    if proba.shape[1] == 2:
        values = np.stack([np.zeros(len(values)), values], axis=1)
    checks.close("forms: decision function", softmax(values.T).T, proba, within, told)
