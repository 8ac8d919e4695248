"""Learned hyperparameters: the criterion's value, and the fit at what was found."""

from typing import Any

import numpy as np

from logikern import KernelLogisticClassifier
from tests.fuzz.checks import Checks
from tests.fuzz.judging import judge_fit, problem_of, seen_by
from tests.fuzz.labels import draw_targets, draw_weights
from tests.fuzz.tables import Random, draw_inputs
from tests.reference.criteria import held_out_loss, leave_one_out, one_step_without
from tests.reference.kernels import gaussian, linear
from tests.reference.model import Model, flat_paths
from tests.reference.newton import softmax_optimum
from tests.reference.reading import read_model
from tests.reference.softmax import log_softmax, softmax

N_NEW = 8
# Inner fits to fewer than 100 rows are exact, and so is leave-one-out. With more rows inner fits end at a gradient of
# 1e-4.
EXACT_ROWS, EXACT, APPROXIMATE = 99, 1e-6, 2e-3


def search(random: Random, checks: Checks) -> None:
    """A search with splits that are known, and its criterion by refits."""
    large = random.random() < 0.15
    n = int(random.integers(100, 160) if large else random.integers(12, 70))
    n_classes = 2 if large else int(random.choice([2, 2, 3, 4]))
    inputs = draw_inputs(random, n, N_NEW)
    targets = draw_targets(random, inputs.values, n_classes)
    weights = draw_weights(random, targets.distributions)
    settings = _draw_settings(random, n, len(targets.classes))
    told = f"[{inputs.form}, {n} rows, {len(targets.classes)} classes, {_without_splits(settings)}]"
    estimator = KernelLogisticClassifier(random_state=0, **settings)
    grouped = random.random() < 0.15 and not isinstance(settings.get("cv"), list)
    groups = random.integers(6, size=n) if grouped else None
    with checks.quiet("search"):
        estimator.fit(inputs.given, targets.given, sample_weight=weights, groups=groups)
    inputs = seen_by(estimator, inputs, weights)
    problem = problem_of(read_model(estimator.model_.specification), inputs, targets.distributions, weights)
    judge_fit(checks, estimator, problem, told)
    temperature = estimator.model_.specification.temperature
    if np.isnan(estimator.criterion_value_) or (temperature.certain, temperature.uncertain) != (1.0, 1.0):
        return
    if settings["criterion"] == "cv" and isinstance(settings["cv"], list):
        place = np.full(n, -1)
        place[problem.kept] = np.arange(len(problem.kept))
        splits = [tuple(own[own >= 0] for own in (place[kept], place[out])) for kept, out in settings["cv"]]
        splits = [(kept, out) for kept, out in splits if len(kept) and len(out)]
        wanted = held_out_loss(problem.model, problem.points, problem.targets, problem.weights, splits)
        within = (EXACT if len(problem.kept) <= EXACT_ROWS else APPROXIMATE) * (1 + wanted)
        checks.close("search: cross-validated loss", estimator.criterion_value_, wanted, within, told)
    elif settings["criterion"] == "loo" and groups is None and n * n_classes <= 120:
        fit = softmax_optimum(problem.model, problem.points, problem.targets, problem.weights)
        losses = -(problem.targets * log_softmax(one_step_without(fit, problem.weights))).sum(axis=0)
        wanted = float(np.average(losses, weights=problem.weights))
        within = EXACT * (1 + wanted)
        checks.close("search: leave-one-out loss", estimator.criterion_value_, wanted, within, told)


def _draw_settings(random: Random, n: int, n_classes: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"criterion": str(random.choice(["cv", "cv", "loo"]))}
    settings["kernel"] = str(random.choice(["auto", "gaussian", "laplacian", "matern32", "linear", "polynomial"]))
    settings["tying"] = str(random.choice(["auto", "shared", "scaled", "separate"]))
    if settings["criterion"] == "cv":
        order, n_folds = random.permutation(n), int(random.integers(2, 5))
        settings["cv"] = [
            (np.sort(np.concatenate(order_parts[:fold] + order_parts[fold + 1 :])), np.sort(order_parts[fold]))
            for order_parts in [np.array_split(order, n_folds)]
            for fold in range(n_folds)
        ]
        if random.random() < 0.2:
            settings["cv"] = n_folds
    settings["bias_variance"] = float(random.choice([16.0, 16.0, 0.0, 2.0]))
    if settings["criterion"] == "loo" and random.random() < 0.2:
        settings["bias_variance"] = np.inf
    elif settings["bias_variance"] and random.random() < 0.2:
        settings["learn_bias"] = True
    if settings["kernel"] not in ("linear", "polynomial"):
        settings["ard"] = [False, False, "auto", True][random.integers(4)]
    else:
        settings["ard"] = False
    if random.random() < 0.1:
        settings["sharpen"] = True
    if random.random() < 0.1:
        settings["precision"] = "double"
    return settings


def _without_splits(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "cv"}


def left_out(random: Random, checks: Checks) -> None:
    """Probabilities of rows left out: one Newton step, and refits."""
    n_classes = int(random.choice([2, 2, 3]))
    n = int(random.integers(4, 70 // n_classes))
    inputs = draw_inputs(random, n, N_NEW, plain=True)
    targets = draw_targets(random, inputs.values, n_classes)
    weights = draw_weights(random, targets.distributions)
    is_linear = random.random() < 0.2
    rate, variance = 10 ** random.uniform(-1, 0.5) / inputs.spread, 10 ** random.uniform(-1, 2)
    kernel = linear() if is_linear else gaussian(rate)
    chosen: dict[str, Any] = {"kernel": "linear"} if is_linear else {"rate": rate}
    bias = float(random.choice([16.0, 0.0, np.inf]))
    n_classes = len(targets.classes)
    model = Model((kernel,), np.zeros(n_classes, int), np.full(n_classes, variance), flat_paths(n_classes), bias)
    estimator = KernelLogisticClassifier(
        **chosen, criterion=None, variance=variance, bias_variance=bias, tying="shared", tol=1e-9
    )
    told = f"[{inputs.form}, {n} rows, {n_classes} classes, variance {variance:g}, bias {bias}, {chosen}]"
    with checks.quiet("left out"):
        estimator.fit(inputs.given, targets.given, sample_weight=weights)
    problem = problem_of(model, inputs, targets.distributions, weights)
    fit = softmax_optimum(model, problem.points, problem.targets, problem.weights)
    single = 1e-3 if inputs.is_single else 0.0
    wanted = softmax(one_step_without(fit, problem.weights)).T
    checks.close("left out: one Newton step", estimator.loo_proba_[problem.kept], wanted, 1e-5 + single, told)
    if np.isinf(bias) and not _all_classes_remain(problem.targets):
        return  # without its only row the constant of a class has no optimum
    again = softmax(leave_one_out(model, problem.points, problem.targets, problem.weights)).T
    with checks.quiet("left out"):
        found = estimator.exact_loo()[problem.kept]
    # A gradient of 1e-6 in units of the weights, and a variance of 100.
    checks.close("left out: refits", found, again, 2e-4 + single, told)


def _all_classes_remain(targets: np.ndarray) -> bool:
    return bool(((targets > 0).sum(axis=1) >= 2).all())
