"""Data whose optimum lies at latents of zero: a fit finds it, and says so."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.estimators.samples import fixed

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.standard_normal((30, 3))
NEARLY_EVEN = np.full((30, 7), 1 / 7) + 1e-9 * RANDOM.standard_normal((30, 7))
CASES = {
    "all classes at every point": (np.repeat(POINTS, 5, axis=0), np.tile(np.arange(5), 30), {"variance": 1e6}),
    "all classes, single products": (
        np.repeat(POINTS, 5, axis=0),
        np.tile(np.arange(5), 30),
        {"variance": 1e6, "precision": "single"},
    ),
    "constant inputs": (np.ones((30, 2)), np.arange(30) % 5, {"variance": 1e6}),
    "no inputs": (np.zeros((30, 2)), np.arange(30) % 3, {"kernel": "linear", "bias_variance": 1e6}),
    "constant inputs, single state": (np.ones((30, 2)), np.arange(30) % 3, {"state_precision": "single"}),
    "even targets": (POINTS, np.full((30, 7), 1 / 7), {}),
    "even targets, single state": (POINTS, np.full((30, 7), 1 / 7), {"state_precision": "single"}),
    "nearly even targets": (POINTS, NEARLY_EVEN, {}),
    "nearly even targets, single state": (POINTS, NEARLY_EVEN, {"state_precision": "single"}),
}


SOLVERS = ("auto", "newton", "exact", "kcg", "smo")
# Sweeps creep at a variance of 1e6, whatever the labels.
PAIRS = [(name, solver) for name in CASES for solver in SOLVERS if (name[:3], solver) != ("all", "smo")]


@pytest.mark.parametrize("name, solver", PAIRS)
def test_optimum_at_zero_is_found(name, solver):
    points, targets, settings = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = fixed(**settings, solver=solver, random_state=0).fit(points, targets)
    assert model.outcome_.converged
    np.testing.assert_allclose(model.predict_proba(points), 1 / len(model.classes_), atol=1e-3)
