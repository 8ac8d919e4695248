"""Cross-validation of labels that are present or absent independently."""

import numpy as np
import pytest

from logikern.criteria.cross_validation import CrossValidation
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.likelihoods.bernoulli import Bernoulli
from logikern.likelihoods.softmax import Softmax
from logikern.structure.mixing import Flat
from tests.criteria import catalogue

SOLVERS = {"dense": Exact(1e-11), "iterative": Newton(1e-10)}


def labels(n_labels):
    n = len(catalogue.points())
    return np.random.default_rng(3).integers(0, 2, (n_labels, n)).astype(float)


def evaluate(likelihood, targets, specification, solver=SOLVERS["dense"]):
    criterion = CrossValidation(likelihood, targets, catalogue.Case().folds(), solver)
    return criterion.evaluate(catalogue.Case().bind(specification), None, 1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("tying", ["shared", "scaled", "separate"])
@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_gradient_matches_differences(n_labels, tying, solver):
    own = catalogue.specify("gaussian", tying, Flat(n_labels), 1.7)
    found = own.collect(evaluate(Bernoulli(), labels(n_labels), own, SOLVERS[solver]).gradient)
    step, at = 1e-5, own.log_parameters
    for place, unit in enumerate(np.eye(len(at))):
        high, low = (
            evaluate(Bernoulli(), labels(n_labels), own.with_log_parameters(at + sign * step * unit)).value
            for sign in (1.0, -1.0)
        )
        np.testing.assert_allclose(found[place], (high - low) / (2 * step), atol=1e-7)


PARENTS = (-1, 0, 0, 2)


def tree_labels():
    targets = np.maximum(labels(4), [[1.0], [0.0], [0.0], [0.0]] * (np.arange(len(catalogue.points())) % 4 > 0))
    for label, parent in enumerate(PARENTS[1:], 1):
        targets[label] *= targets[parent]
    return targets


@pytest.mark.parametrize("tying", ["shared", "separate"])
def test_gradient_of_labels_in_a_tree_matches_differences(tying):
    own = catalogue.specify("gaussian", tying, Flat(4), 1.7)
    likelihood, targets = Bernoulli(PARENTS), tree_labels()
    found = own.collect(evaluate(likelihood, targets, own).gradient)
    step, at = 1e-5, own.log_parameters
    for place, unit in enumerate(np.eye(len(at))):
        high, low = (
            evaluate(likelihood, targets, own.with_log_parameters(at + sign * step * unit)).value
            for sign in (1.0, -1.0)
        )
        np.testing.assert_allclose(found[place], (high - low) / (2 * step), atol=1e-7)


def test_value_is_the_sum_over_labels_of_two_classes():
    whole = evaluate(Bernoulli(), labels(3), catalogue.specify("gaussian", "shared", Flat(3), 1.7))
    pair = catalogue.specify("gaussian", "shared", Flat(2), 1.7)
    alone = [evaluate(Softmax(), np.stack([1.0 - own, own]), pair) for own in labels(3)]
    np.testing.assert_allclose(whole.value, sum(own.value for own in alone), rtol=1e-9)
    np.testing.assert_allclose(whole.losses, sum(own.losses for own in alone), rtol=1e-8)
