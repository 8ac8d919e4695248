"""Classifiers that are divided into neighbourhoods, against the reference in each neighbourhood."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from logikern import KernelLogisticClassifier, NeighbourhoodSettings, load_model
from tests.fuzz.checks import Checks
from tests.fuzz.fits import draw_tying, draw_variances, prior_arguments
from tests.fuzz.kernels import STATIONARY, draw_rate
from tests.fuzz.labels import draw_targets, draw_weights
from tests.fuzz.tables import Inputs, Random, draw_inputs
from tests.reference.model import Model, flat_paths
from tests.reference.newton import softmax_optimum
from tests.reference.softmax import softmax
from tests.reference.tying import tie_classes

N_NEW = 12
# Gradients of 1e-9 leave latents wrong by that times an eigenvalue of the covariance, up to 1e5.
WITHIN = 1e-4


def fit_cells(random: Random, checks: Checks) -> None:
    """Few rows in a few neighbourhoods, with landmarks or without."""
    n_classes, n = int(random.choice([2, 3, 3, 4, 5])), int(random.integers(2, 110))
    inputs = draw_inputs(random, n, N_NEW, plain=True)
    targets = draw_targets(random, inputs.values, n_classes)
    weights = draw_weights(random, targets.distributions)
    name, rate, n_classes = str(random.choice(list(STATIONARY))), draw_rate(random, inputs), len(targets.classes)
    kernel, tying = STATIONARY[name][1](rate), draw_tying(random, n_classes)
    kernel_of, variance_of = tie_classes(tying, n_classes)
    drawn = np.minimum(draw_variances(random, inputs, kernel, int(variance_of.max()) + 1), 100.0)
    bias = float(random.choice([16.0, 1.0, 0.0]))
    model = Model((kernel,), np.zeros_like(kernel_of), drawn[variance_of], flat_paths(n_classes), bias)
    landmarks = int(random.integers(1, 12)) if random.random() < 0.4 else 0
    settings = NeighbourhoodSettings(int(random.integers(2, n + 5)), landmarks, int(random.integers(1, 4)))
    arguments = {"kernel": name, "rate": list(rate) if isinstance(rate, tuple) else rate, "tying": tying}
    arguments |= prior_arguments(random, model, tying) | {"operator": settings, "tol": 1e-9, "max_iter": 200}
    arguments |= {"n_jobs": int(random.choice([1, 2])), "random_state": int(random.integers(100))}
    told = f"[{inputs.form}, {n} rows, {n_classes} classes, {arguments}]"
    estimator = KernelLogisticClassifier(criterion=None, inputs="raw", precision="double", **arguments)
    with checks.quiet("neighbourhoods") as warned:
        estimator.fit(inputs.given, targets.given, sample_weight=weights)
    if warned:
        return  # it says that it has not converged
    weights = np.ones(n) if weights is None else weights
    kept = np.flatnonzero(weights > 0)
    points, own = inputs.values[kept], targets.distributions[:, kept]
    _judge_members(checks, estimator, len(kept), settings, told)
    found = estimator.predict_proba(inputs.given_new)
    judge = _judge_coupled if landmarks else _judge_apart
    judge(checks, estimator, model, (points, own, weights[kept]), inputs, told)
    if isinstance(inputs.given_new, np.ndarray):
        apart = np.concatenate([estimator.predict_proba(inputs.given_new[[row]]) for row in range(3)])
        checks.close("neighbourhoods: rows one by one", apart, found[:3], 1e-10, told)
    again = _kept(estimator).predict_proba(inputs.given_new)
    checks.that("neighbourhoods: a file keeps every bit", np.array_equal(again, found), told)


def _judge_members(checks: Checks, estimator: Any, n: int, settings: NeighbourhoodSettings, told: str) -> None:
    """Every partition has each row once, in cells that are not too large."""
    members = estimator.model_.members
    checks.that("neighbourhoods: number of partitions", len(members) == settings.partitions, told)
    for member in members:
        covers = np.array_equal(np.sort(member.order), np.arange(n))
        sizes = np.diff(member.edges)
        checks.that("neighbourhoods: cells are a partition", covers and sizes.sum() == n, told)
        checks.that("neighbourhoods: cells are small", sizes.min() > 0 and sizes.max() <= settings.size, told)


def _cell_of(partition: Any, x: np.ndarray) -> int:
    """Follow the splits, one point at a time; -1 if it is too close to a threshold to tell."""
    node = 0
    while node >= 0 and len(partition.thresholds):
        value, threshold = float(partition.directions[node] @ x), partition.thresholds[node]
        if abs(value - threshold) <= 1e-9 * (np.abs(partition.directions[node]) @ np.abs(x) + abs(threshold)):
            return -1
        node = int(partition.children[node, int(value > threshold)])
    return -1 - node if len(partition.thresholds) else 0


def _judge_apart(checks: Checks, estimator: Any, model: Model, data: Any, inputs: Inputs, told: str) -> None:
    """Probabilities are means of those of the reference's fits in the cells of each new row."""
    points, targets, weights = data
    found, columns = estimator.predict_proba(inputs.given_new), estimator.encoder_.columns
    for place, x in enumerate(inputs.values_new[:4]):
        total = np.zeros(model.n_classes)
        for member in estimator.model_.members:
            cell = _cell_of(member.partition, x[columns])  # constant columns are left out
            if cell < 0:
                break
            rows = member.order[member.edges[cell] : member.edges[cell + 1]]
            optimum = softmax_optimum(model, points[rows], targets[:, rows], weights[rows])
            total += softmax(optimum.latents_at(x[None]))[:, 0] / len(estimator.model_.members)
        else:
            checks.close("neighbourhoods: probabilities of cells", found[place], total, WITHIN, told)


def _judge_coupled(checks: Checks, estimator: Any, model: Model, data: Any, inputs: Inputs, told: str) -> None:
    """The dual is minus the gradient of the loss at latents of the approximated covariance, by dense algebra."""
    points, targets, weights = data
    for member in estimator.model_.members:
        own, some = points[member.order], points[member.landmarks.points]
        rows = model.kernels[0](some, own)
        inner = model.kernels[0](some, some) + 1e-9 * np.eye(len(some))
        matrix, exact = rows.T @ np.linalg.solve(inner, rows), model.kernels[0](own, own)
        for start, stop in zip(member.edges[:-1], member.edges[1:], strict=True):
            matrix[start:stop, start:stop] = exact[start:stop, start:stop]
        latent = model.image([matrix], member.dual)
        gradient = weights[member.order] * (targets[:, member.order] - softmax(latent))
        checks.close("neighbourhoods: optimum with landmarks", member.dual, gradient, WITHIN, told)


def _kept(estimator: Any) -> Any:
    """The estimator as a file keeps it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        estimator.save_model(path)
        return load_model(path)
