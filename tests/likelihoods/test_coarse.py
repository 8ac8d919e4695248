"""Labels of inner nodes where latents are far apart."""

import numpy as np
import pytest

from logikern.likelihoods.coarse import CoarseSoftmax
from logikern.structure.hierarchy import read_tree

TREE = read_tree(["p/a", "p/b", "q"])


@pytest.mark.parametrize("dtype, gap", [(np.float32, 110.0), (np.float64, 400.0), (np.float64, 650.0)])
def test_far_latents_leave_numbers(dtype, gap):
    likelihood, weights = CoarseSoftmax(TREE), np.ones((1, 1))
    targets = (np.asarray(TREE.labels) == "p").astype(float)[:, None]
    latent = np.array([-gap, -gap - 1.0, 0.0], dtype=dtype)[None, :, None]
    wanted = gap - np.log1p(np.exp(-1.0))
    loss, gradient = likelihood.loss_and_gradient(latent, targets, weights)
    np.testing.assert_allclose(loss, [wanted], rtol=1e-6)
    share = 1.0 / (1.0 + np.exp(-1.0))
    np.testing.assert_allclose(gradient[0, :, 0], [-share, share - 1.0, 1.0], atol=1e-6)
    functions = np.array([1.0, -1.0, 0.5])[None, :, None]
    # Within the node, the curvature of the two leaves that share it.
    bent = likelihood.excess_curvature(
        latent, targets, weights, functions, likelihood.expand(latent, targets, weights).curvature
    )[0, :, 0]
    np.testing.assert_allclose(bent, [2 * share * (1 - share), -2 * share * (1 - share), 0.0], atol=1e-6)


DEEP = read_tree(["p/a", "p/r/b", "p/r/c", "q/d", "q/e", "s"])
N_CLASSES = DEEP.n_classes


def labelled(*names):
    """Targets (N, n) with one label for each point."""
    return np.stack([np.asarray(DEEP.labels) == name for name in names], axis=1).astype(float)


TARGETS = labelled("p", "p/r", "q", "p/a", "s", "p")
# A point that may be either of two nodes is left to the majoriser.
TARGETS[:, 4] = 0.5 * (TARGETS[:, 0] + TARGETS[:, 2])
WEIGHTS = np.array([[1.0, 2.0, 0.5, 1.0, 3.0, 0.0], [0.3, 1.0, 1.0, 2.0, 1.0, 1.0]])
LATENT = 2.0 * np.random.default_rng(0).standard_normal((2, N_CLASSES, TARGETS.shape[1]))


def true_curvature(functions, step=1e-5):
    """Central differences of the gradient."""
    likelihood = CoarseSoftmax(DEEP)
    above, below = (
        likelihood.loss_and_gradient(LATENT + sign * step * functions, TARGETS, WEIGHTS)[1] for sign in (1.0, -1.0)
    )
    return (above - below) / (2 * step)


def dense_curvature(curvature, member, point):
    """W of one point, (C, C)."""
    units = np.zeros((N_CLASSES, *LATENT.shape[1:]))
    units[np.arange(N_CLASSES), np.arange(N_CLASSES), point] = 1.0
    own = curvature.take_members(np.full(N_CLASSES, member))
    return own.matmul(units)[:, :, point]


@pytest.mark.parametrize("close", [False, True])
def test_curvature_less_what_it_has_too_much_is_the_true_one(close):
    likelihood = CoarseSoftmax(DEEP)
    expand = likelihood.expand_closely if close else likelihood.expand
    curvature = expand(LATENT, TARGETS, WEIGHTS).curvature
    functions = np.random.default_rng(1).standard_normal(LATENT.shape)
    excess = likelihood.excess_curvature(LATENT, TARGETS, WEIGHTS, functions, curvature)
    found = curvature.matmul(functions) - excess
    np.testing.assert_allclose(found, true_curvature(functions), atol=1e-8)


def test_merged_classes_are_between_the_true_curvature_and_the_majoriser():
    likelihood = CoarseSoftmax(DEEP)
    near, far = (
        expand(LATENT, TARGETS, WEIGHTS).curvature for expand in (likelihood.expand_closely, likelihood.expand)
    )
    for member in range(2):
        for point in range(TARGETS.shape[1]):
            own, above = (dense_curvature(curvature, member, point) for curvature in (near, far))
            np.testing.assert_allclose(own, own.T, atol=1e-12)
            assert np.linalg.eigvalsh(above - own)[0] > -1e-12
            assert np.linalg.eigvalsh(own)[0] > -1e-12


def test_only_points_of_one_inner_node_are_merged():
    merged = CoarseSoftmax(DEEP).expand_closely(LATENT, TARGETS, WEIGHTS).curvature.merged
    np.testing.assert_array_equal(merged.points, [0, 1, 2, 5])
    np.testing.assert_array_equal(merged.inside.sum(axis=0), [3, 2, 2, 3])


def test_some_points_and_members_of_merged_classes():
    whole = CoarseSoftmax(DEEP).expand_closely(LATENT, TARGETS, WEIGHTS).curvature
    functions = np.random.default_rng(2).standard_normal(LATENT.shape)
    expected = whole.project(functions.copy())
    some = whole.at(slice(1, 5)).take_members(np.array([1]))
    np.testing.assert_allclose(some.project(functions[1:, :, 1:5].copy()), expected[1:, :, 1:5])
    np.testing.assert_allclose(whole.project(expected.copy()), expected, atol=1e-12)


def test_what_is_sure_is_what_leaves_say():
    targets, weights = CoarseSoftmax(DEEP).fully_labelled_part(TARGETS, WEIGHTS)
    np.testing.assert_array_equal(np.flatnonzero(weights.any(axis=0)), [3])
    assert DEEP.classes[targets[:, 3].argmax()] == "p/a"
