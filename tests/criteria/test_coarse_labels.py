"""The cross-validated likelihood where labels name inner nodes."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import folds_from_splits
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.iterative import Newton
from logikern.kernels import Gaussian
from logikern.likelihoods.coarse import CoarseSoftmax
from logikern.operators.choose import Choice
from logikern.structure.specification import Specification
from logikern.structure.tree import Tree
from logikern.structure.tying import tie

TREE = Tree(("a", "a/x", "a/y", "b", "b/x", "b/y", "c"), (-1, 0, 0, -1, 3, 3, -1))
N = 40
TOLERANCE = 1e-10


def sample(coarse: float) -> tuple[np.ndarray, np.ndarray]:
    """Points around a centre per leaf, of which a part is known by its parent only."""
    generator = np.random.default_rng(3)
    labels = generator.integers(0, TREE.n_classes, N)
    X = generator.standard_normal((TREE.n_classes, 2))[labels] * 2 + generator.standard_normal((N, 2))
    nodes = TREE.leaves[labels]
    parents = np.array(TREE.parents)[nodes]
    nodes = np.where((generator.random(N) < coarse) & (parents >= 0), parents, nodes)
    targets = np.zeros((len(TREE.labels), N))
    targets[nodes, np.arange(N)] = 1.0
    return X, targets


def criterion(coarse: float):
    X, targets = sample(coarse)
    places = np.arange(N)
    splits = [(places[places % 3 != fold], places[places % 3 == fold]) for fold in range(3)]
    folds = folds_from_splits(splits, np.ones(N))
    solver = Newton(TOLERANCE, Budget(newton=500))
    points = Choice("dense", np.dtype(float), "", 1e8).points(X)
    return CrossValidation(CoarseSoftmax(TREE), targets, folds, solver), points


@pytest.mark.parametrize("coarse", [0.1, 0.4])
@pytest.mark.parametrize("tying", ["shared", "level"])
def test_gradient_matches_differences_at_a_minimum(coarse, tying):
    own, points = criterion(coarse)
    tied = tie(tying, TREE)
    specification = Specification((Gaussian(0.3),), (1.5,) * tied.n_variances, 1.0, tied, TREE)
    logs = specification.log_parameters
    here = own.evaluate(specification.bind(points), None, TOLERANCE)
    gradient = specification.collect(here.gradient)

    def value(at):
        return own.evaluate(specification.with_log_parameters(at).bind(points), here.state, TOLERANCE).value

    for place, step in enumerate(1e-4 * np.eye(len(logs))):
        difference = (value(logs + step) - value(logs - step)) / 2e-4
        assert gradient[place] == pytest.approx(difference, rel=1e-4, abs=1e-7)


def test_value_is_that_of_the_node_that_is_known():
    own, points = criterion(0.4)
    tied = tie("shared", TREE)
    specification = Specification((Gaussian(0.3),), (1.5,), 1.0, tied, TREE)
    here = own.evaluate(specification.bind(points), None, TOLERANCE)
    latent = here.state - here.state.max(axis=1, keepdims=True)
    probabilities = np.exp(latent) / np.exp(latent).sum(axis=1, keepdims=True)
    below = np.array([[str(leaf).startswith(str(label)) for leaf in TREE.classes] for label in TREE.labels])
    known = below[own.targets.argmax(axis=0)]  # (n, C)
    losses = -np.log(np.einsum("fcn,nc->fn", probabilities, known))
    assert here.value == pytest.approx((own.folds.held_out * losses).sum() / N, rel=1e-9)


@pytest.mark.parametrize("coarse", [0.1, 0.4])
def test_value_of_rough_fits_is_corrected_to_that_of_accurate_ones(coarse):
    own, points = criterion(coarse)
    specification = Specification((Gaussian(0.3),), (1.5,), 1.0, tie("shared", TREE), TREE)
    exact = own.evaluate(specification.bind(points), None, TOLERANCE).value
    rough = replace(own, solver=Newton(1e-2)).evaluate(specification.bind(points), None, 1e-2)
    error = abs(rough.value - exact)
    assert error <= 1e-5 and error < abs(rough.losses.mean() - exact)
