"""Points that come in chunks, and one model per class."""

import numpy as np
from scipy import sparse

from logikern import KernelLogisticClassifier
from tests.fuzz.checks import Checks
from tests.fuzz.judging import judge_fit, problem_of
from tests.fuzz.labels import draw_targets, draw_weights
from tests.fuzz.tables import Random, draw_inputs
from tests.reference.kernels import gaussian
from tests.reference.model import Model, flat_paths
from tests.reference.newton import softmax_optimum
from tests.reference.softmax import softmax

N_NEW = 8


def stream(random: Random, checks: Checks) -> None:
    """After every chunk the model is that of all points so far."""
    n, n_classes = int(random.integers(6, 60)), int(random.choice([2, 3, 5]))
    inputs = draw_inputs(random, n, N_NEW, encoded=False)
    targets = draw_targets(random, inputs.values, n_classes, soft=False)
    weights = draw_weights(random, targets.distributions)
    own = np.ones(n) if weights is None else weights
    rate, variance = float(10 ** random.uniform(-1, 0.5) / inputs.spread), float(10 ** random.uniform(-1, 2))
    solver = str(random.choice(["auto", "newton", "exact", "kcg"]))
    estimator = KernelLogisticClassifier(
        tying="shared", rate=rate, variance=variance, solver=solver, tol=float(10 ** random.uniform(-7, -3))
    )
    cuts = np.sort(random.integers(1, n, 2))
    cuts[0] = max(cuts[0], int(np.flatnonzero(own > 0)[0]) + 1)  # the first chunk has some weight
    pieces = [piece for piece in np.split(np.arange(n), np.maximum.accumulate(cuts)) if len(piece)]
    told = f"[{inputs.form}, {n} rows in {[len(piece) for piece in pieces]}, {n_classes} classes, {estimator}]"
    rows = inputs.given.tocsr() if sparse.issparse(inputs.given) else inputs.given
    labels = np.asarray(targets.given)
    with checks.quiet("stream"):
        for piece in pieces:
            part = slice(int(piece[0]), int(piece[-1]) + 1)
            estimator.partial_fit(rows[part], labels[part], classes=targets.classes, sample_weight=own[part])
    model = _shared(rate, variance, len(targets.classes))
    judge_fit(checks, estimator, problem_of(model, inputs, targets.distributions, weights), told)


def one_against_rest(random: Random, checks: Checks) -> None:
    """A binary model per class; their probabilities are normalised."""
    n, n_classes = int(random.integers(6, 60)), int(random.choice([2, 3, 5]))
    inputs = draw_inputs(random, n, N_NEW)
    targets = draw_targets(random, inputs.values, n_classes, soft=False)
    rate, variance = float(10 ** random.uniform(-1, 0.5) / inputs.spread), float(10 ** random.uniform(-1, 2))
    estimator = KernelLogisticClassifier(
        tying="shared", rate=rate, variance=variance, tol=1e-8, criterion=None, one_vs_rest=True
    )
    told = f"[{inputs.form}, {n} rows, {n_classes} classes, rate {rate:g}, variance {variance:g}]"
    with checks.quiet("one against rest"):
        estimator.fit(inputs.given, targets.given)
    columns = []
    for own in targets.distributions:
        fit = softmax_optimum(_shared(rate, variance, 2), inputs.values, np.stack([1.0 - own, own]), np.ones(n))
        columns.append(softmax(fit.latents_at(inputs.values_new))[1])
    wanted = np.array(columns).T
    wanted /= wanted.sum(axis=1, keepdims=True)
    within = 1e-3 if inputs.is_single else 1e-5
    checks.close("one against rest: probabilities", estimator.predict_proba(inputs.given_new), wanted, within, told)


def _shared(rate: float, variance: float, n_classes: int) -> Model:
    return Model(
        (gaussian(rate),), np.zeros(n_classes, int), np.full(n_classes, variance), flat_paths(n_classes), 16.0
    )
