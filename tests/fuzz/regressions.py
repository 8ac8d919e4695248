"""Regressors against the closed form."""

from typing import Any

import numpy as np

from logikern import KernelRegressor
from tests.fuzz.checks import Checks
from tests.fuzz.fits import draw_tying, draw_variances
from tests.fuzz.kernels import draw_kernel
from tests.fuzz.tables import Random, draw_inputs
from tests.reference.model import Model, flat_paths
from tests.reference.reading import read_model
from tests.reference.regression import fit_regression, held_out_error, mean_and_spread
from tests.reference.tying import tie_classes

N_NEW = 10


def regress(random: Random, checks: Checks) -> None:
    """Fixed hyperparameters."""
    inputs = draw_inputs(random, int(random.integers(3, 90)), N_NEW)
    y, weights = draw_numbers(random, inputs.values), _draw_weights(random, len(inputs.values))
    drawn = draw_kernel(random, inputs)
    tying = draw_tying(random, y.shape[1])
    _, variance_of = tie_classes(tying, y.shape[1])
    variances = draw_variances(random, inputs, drawn.matrix, int(variance_of.max()) + 1)
    bias = float(random.choice([16.0, 0.0, 1.0, np.inf]))
    model = Model((drawn.matrix,), np.zeros(y.shape[1], int), variances[variance_of], flat_paths(y.shape[1]), bias)
    settings: dict[str, Any] = {"tying": tying, "variance": variances.tolist(), "bias_variance": bias, "tol": 1e-9}
    if not np.isinf(bias):
        settings["solver"] = str(random.choice(["auto", "exact", "newton", "kcg"]))
        settings["operator"] = str(random.choice(["auto", "dense", "tiled"]))
        settings["precision"] = str(random.choice(["auto", "double"]))
    told = f"[{inputs.form}, {len(y)} rows, {y.shape[1]} outputs, {drawn.arguments}, {settings}]"
    estimator = KernelRegressor(criterion=None, **drawn.arguments, **settings)
    with checks.quiet("regression"):
        estimator.fit(inputs.given, _given(random, y), sample_weight=weights)
    own = np.ones(len(y)) if weights is None else weights
    kept = own > 0
    mean, spread = mean_and_spread(model, y[kept], own[kept])
    fit = fit_regression(model, inputs.values[kept], y[kept], own[kept], mean)
    found = estimator.predict(inputs.given_new).reshape(N_NEW, -1)
    size = np.abs(fit.dual).sum(axis=1).max() * model.variance_at(inputs.values_new).max(initial=0.0)
    within = 1e-6 * np.maximum(spread, np.abs(y).max(axis=0) * 1e-6) + 1e-13 * size + 1e-300
    if not estimator.outcome_.converged or inputs.is_single:
        within = within + 1e-3 * spread
    checks.close("regression: closed form", found, fit.predict(inputs.values_new), within[None, :], told)


def regress_search(random: Random, checks: Checks) -> None:
    """A search by exact leave-one-out or by folds: the error that it states."""
    inputs = draw_inputs(random, int(random.integers(8, 60)), N_NEW)
    y, weights = draw_numbers(random, inputs.values), _draw_weights(random, len(inputs.values))
    n, settings = len(y), {"ard": False, "bias_variance": float(random.choice([16.0, 0.0]))}
    settings["kernel"] = str(random.choice(["gaussian", "matern52", "linear"]))
    order = np.array_split(random.permutation(n), int(random.integers(2, 5)))
    splits = [(np.sort(np.concatenate(order[:f] + order[f + 1 :])), np.sort(order[f])) for f in range(len(order))]
    kind = str(random.choice(["loo", "loo of folds", "cv"]))
    settings["criterion"] = "cv" if kind == "cv" else "loo"
    if kind == "loo":
        splits = [(np.flatnonzero(np.arange(n) != i), np.array([i])) for i in range(n)]
    else:
        settings["cv"] = splits
    told = f"[{inputs.form}, {n} rows, {y.shape[1]} outputs, {kind}, {settings['kernel']}]"
    estimator = KernelRegressor(random_state=0, **settings)
    with checks.quiet("regression"):
        estimator.fit(inputs.given, _given(random, y), sample_weight=weights)
    if np.isnan(estimator.criterion_value_):
        return
    own = np.ones(n) if weights is None else weights
    kept = np.flatnonzero(own > 0)
    place = np.full(n, -1)
    place[kept] = np.arange(len(kept))
    splits = [tuple(part[part >= 0] for part in (place[inside], place[out])) for inside, out in splits]
    splits = [(inside, out) for inside, out in splits if len(inside) and len(out)]
    model = read_model(estimator.model_.specification)
    if mean_and_spread(model, y[kept], own[kept])[1].min() <= 1e-12 * np.abs(y).max():
        return  # a constant output has no spread to measure errors in
    wanted = held_out_error(model, inputs.values[kept], y[kept], own[kept], splits)
    within = 1e-6 + (1e-2 if inputs.is_single else 1e-6) * wanted
    checks.close("regression: held-out error", estimator.held_out_error_, wanted, within, told)


def draw_numbers(random: Random, values: np.ndarray) -> np.ndarray:
    """Outputs that depend on the inputs, in some unit, (n, C)."""
    spread = values.std(axis=0)
    standard = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    n_outputs = int(random.choice([1, 1, 1, 2, 4]))
    y = np.sin(standard @ random.normal(size=(values.shape[1], n_outputs)))
    y += 10 ** random.uniform(-2, 0) * random.normal(size=y.shape)
    if random.random() < 0.3:
        y = y * 10 ** random.uniform(-5, 5) + random.choice([0.0, 1.0]) * 10 ** random.uniform(0, 3)
    return y


def _given(random: Random, y: np.ndarray) -> Any:
    return y[:, 0] if y.shape[1] == 1 and random.random() < 0.8 else y


def _draw_weights(random: Random, n: int) -> np.ndarray | None:
    if random.random() < 0.6:
        return None
    weights = random.gamma(1.0, size=n) + 0.01
    weights[random.random(n) < 0.1] = 0.0
    return weights if (weights > 0).sum() >= 2 else None
