"""Classifiers at fixed hyperparameters."""

from typing import Any

import numpy as np

from logikern import KernelLogisticClassifier
from tests.fuzz.checks import Checks
from tests.fuzz.judging import judge_fit, problem_of
from tests.fuzz.kernels import draw_kernel
from tests.fuzz.labels import Targets, balanced_weights, draw_targets, draw_weights
from tests.fuzz.tables import FORMS, Inputs, Random, draw_inputs
from tests.reference.kernels import Kernel, linear
from tests.reference.model import Model, flat_paths
from tests.reference.tying import tie_classes

N_NEW = 12
# Most rows of a fit: with free constants, twenty steps of five classes take 20 seconds there.
LARGEST_FIT = 2000
# Rows up to which conjugate gradients may compute the kernel matrix in each of a thousand steps: 4 ms a step.
LARGEST_TILED = 500


def fit_small(random: Random, checks: Checks) -> None:
    """Few rows: against the optimum of the reference."""
    n_classes = int(random.choice([2, 2, 3, 4, 5, 8, 12]))
    n = int(random.integers(2, max(3, min(120, 400 // n_classes))))
    _fit(random, checks, n, n_classes)


def fit_large(random: Random, checks: Checks) -> None:
    """Many rows: against the reference at the dual, and the residual."""
    n = int(np.exp(random.uniform(np.log(150), np.log(LARGEST_FIT))))
    _fit(random, checks, n, int(random.integers(2, 6)))


def _fit(random: Random, checks: Checks, n: int, n_classes: int) -> None:
    inputs = draw_inputs(random, n, N_NEW)
    targets = draw_targets(random, inputs.values, n_classes)
    weights = draw_weights(random, targets.distributions)
    drawn = draw_kernel(random, inputs)
    settings = draw_settings(random, len(targets.classes))
    tying = draw_tying(random, len(targets.classes))
    model = draw_model(random, inputs, drawn.matrix, tying, len(targets.classes))
    settings |= drawn.arguments | {"tying": tying} | prior_arguments(random, model, tying)
    if np.isinf(model.bias_variance):
        settings |= {"solver": "auto", "operator": "auto"}
    elif drawn.arguments["kernel"] == "linear" and random.random() < 0.5:
        settings["operator"] = "features"
    if n > LARGEST_TILED and settings.get("solver") == "kcg":
        settings["operator"] = "auto"
    effective = weights
    if targets.distributions.max(axis=0).min() == 1.0 and random.random() < 0.15:
        settings["class_weight"] = "balanced"
        numbers = targets.distributions.argmax(axis=0)
        effective = balanced_weights(numbers, np.ones(n) if weights is None else weights)
    told = f"[{inputs.form}, {n} rows, {len(targets.classes)} classes, {drawn.told}, {settings}]"
    estimator = KernelLogisticClassifier(criterion=None, random_state=0, **settings)
    with checks.quiet("fit") as warned:
        estimator.fit(inputs.given, targets.given, sample_weight=weights)
    checks.that("fit: warns unless converged", bool(warned) != estimator.outcome_.converged, f"{warned} {told}")
    judge_classes(checks, estimator, targets, told)
    judge_fit(checks, estimator, problem_of(model, inputs, targets.distributions, effective), told)


def fit_texts(random: Random, checks: Checks) -> None:
    """Counts of words in sparse rows, a linear kernel, many classes: fitted row by row."""
    n, n_classes, n_words = int(random.integers(40, 500)), int(random.integers(3, 25)), int(random.integers(30, 400))
    values = random.poisson(random.gamma(0.3, 0.2, n_words), (n + N_NEW, n_words)).astype(float)
    if random.random() < 0.5:
        values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
    form = str(random.choice(["csr", "csr float32", "array"]))
    values = values.astype(np.float32).astype(float) if "float32" in form else values
    inputs = Inputs(FORMS[form](values[:n]), FORMS[form](values[n:]), values[:n], values[n:], form)
    targets = draw_targets(random, inputs.values, n_classes, soft=False)
    weights = draw_weights(random, targets.distributions)
    n_classes = len(targets.classes)
    variance = float(draw_variances(random, inputs, linear(), 1)[0])
    bias = float(random.choice([16.0, 0.0]))
    model = Model((linear(),), np.zeros(n_classes, int), np.full(n_classes, variance), flat_paths(n_classes), bias)
    settings = draw_settings(random, n_classes) | {"variance": variance, "bias_variance": bias, "tying": "shared"}
    told = f"[{form}, {n} rows, {n_words} words, {n_classes} classes, {settings}]"
    estimator = KernelLogisticClassifier("linear", criterion=None, random_state=0, **settings)
    with checks.quiet("fit"):
        estimator.fit(inputs.given, targets.given, sample_weight=weights)
    judge_fit(checks, estimator, problem_of(model, inputs, targets.distributions, weights), told)


def fit_by_three_doors(random: Random, checks: Checks) -> None:
    """A kernel by its name, as a matrix and as a function of two rows: one model."""
    n, n_classes = int(random.integers(3, 40)), int(random.choice([2, 3, 4]))
    drawn = draw_inputs(random, n, N_NEW, plain=True)
    inputs = Inputs(drawn.values, drawn.values_new, drawn.values, drawn.values_new, "array")
    targets = draw_targets(random, inputs.values, n_classes)
    kernel = draw_kernel(random, inputs)
    variance = float(draw_variances(random, inputs, kernel.matrix, 1)[0])
    bias = float(random.choice([16.0, 0.0]))
    n_classes = len(targets.classes)
    zeros, variances = np.zeros(n_classes, int), np.full(n_classes, variance)
    model = Model((kernel.matrix,), zeros, variances, flat_paths(n_classes), bias)
    settings = draw_settings(random, n_classes) | {"variance": variance, "bias_variance": bias, "tying": "shared"}
    rows = {
        "matrix": (kernel.matrix(inputs.values, inputs.values), kernel.matrix(inputs.values_new, inputs.values)),
        "function": (inputs.values, inputs.values_new),
    }
    doors: dict[str, Any] = {
        "matrix": {"kernel": "precomputed"},
        "function": {"kernel": lambda x, z: float(kernel.matrix(x[None], z[None])[0, 0])},
    }
    for door, arguments in doors.items():
        given, given_new = rows[door]
        told = f"[{door}, {n} rows, {n_classes} classes, {kernel.told}, {settings}]"
        estimator = KernelLogisticClassifier(criterion=None, random_state=0, **settings, **arguments)
        with checks.quiet("fit"):
            estimator.fit(given, targets.given)
        own = Inputs(given, given_new, inputs.values, inputs.values_new, door)
        judge_fit(checks, estimator, problem_of(model, own, targets.distributions, None), told)


def judge_classes(checks: Checks, estimator: Any, targets: Targets, told: str) -> None:
    """Classes are the sorted labels."""
    same = estimator.classes_.tolist() == np.asarray(targets.classes).tolist()
    checks.that("fit: classes are the sorted labels", same, f"{estimator.classes_} {targets.classes} {told}")


def draw_settings(random: Random, n_classes: int) -> dict[str, Any]:
    """How the fit is computed; none of it may change the result."""
    settings: dict[str, Any] = {}
    solver = str(random.choice(["auto", "auto", "newton", "exact", "kcg", "smo"]))
    if solver != "auto":
        settings["solver"] = solver
    operator = str(random.choice(["auto", "auto", "dense", "tiled"]))
    if operator != "auto":
        settings["operator"] = operator
    precision = str(random.choice(["auto", "auto", "double", "single"]))
    if precision != "auto":
        settings["precision"] = precision
    if random.random() < 0.5:
        settings["tol"] = float(10 ** random.uniform(-8, -2))
    if random.random() < 0.1:
        settings["n_jobs"] = int(random.choice([1, 2, -1]))
    if random.random() < 0.1:
        settings["max_iter"] = int(random.integers(1, 5))
    if random.random() < 0.05:
        settings["state_precision"] = "single"
    return settings


def draw_tying(random: Random, n_classes: int) -> Any:
    """The name of a tying, or a list of groups."""
    kind = str(random.choice(["shared", "shared", "scaled", "separate", "list"]))
    return random.choice(["a", "b", "c"], n_classes).tolist() if kind == "list" else kind


def draw_model(random: Random, inputs: Inputs, kernel: Kernel, tying: Any, n_classes: int) -> Model:
    """Variances of sensible size for the kernel, and a bias."""
    kernel_of, variance_of = tie_classes(tying, n_classes)
    variances = draw_variances(random, inputs, kernel, int(variance_of.max()) + 1)
    bias = float(random.choice([16.0, 16.0, 0.0, 1.0, 100.0, np.inf]))
    # Every class has the same kernel at first, whatever it may learn later.
    return Model((kernel,), np.zeros_like(kernel_of), variances[variance_of], flat_paths(n_classes), bias)


def draw_variances(random: Random, inputs: Inputs, kernel: Kernel, count: int) -> np.ndarray:
    """Such that latents have prior variances between 0.1 and 1000."""
    rows = inputs.values[:50]
    size = float(np.diag(kernel(rows, rows)).mean())
    whole = 10 ** random.uniform(-1, 3) / (size if size > 0 else 1.0)
    return np.asarray(whole * 10 ** random.uniform(-0.5, 0.5, count))


def prior_arguments(random: Random, model: Model, tying: Any) -> dict[str, Any]:
    """The variances and the bias of a model, as the estimator takes them."""
    _, variance_of = tie_classes(tying, model.n_classes)
    _, first = np.unique(variance_of, return_index=True)
    values = model.variances[first].tolist()
    given: Any = values[0] if len(values) == 1 and random.random() < 0.7 else values
    return {"variance": given, "bias_variance": model.bias_variance}
