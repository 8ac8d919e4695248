"""Partitions into cells of neighbours: balanced, complete, and followed by new points."""

import numpy as np
import pytest
from scipy import sparse

from logikern.kernels import Gaussian, GaussianLaplacian, Laplacian, Linear
from logikern.operators.partition import divide, mean_metric, metric_weights

RANDOM = np.random.default_rng(0)
PLAIN = RANDOM.standard_normal((500, 4))
POINTS = {
    "plain": PLAIN,
    "one input": PLAIN[:, :1],
    "clusters": PLAIN * 0.01 + RANDOM.integers(0, 5, (500, 1)) * 10.0,
    "integers": RANDOM.integers(0, 3, (500, 4)).astype(float),
    "copies": np.tile(PLAIN[:10], (50, 1)),
    "all equal": np.full((500, 3), 2.5),
    "all zero": np.zeros((500, 2)),
    "constant inputs": np.column_stack([PLAIN[:, 0], np.full((500, 3), 7.0)]),
    "more inputs than points": RANDOM.standard_normal((30, 80)),
    "far away": PLAIN + 1e9,
    "one point": PLAIN[:1],
    "sparse": sparse.random_array((500, 30), density=0.1, rng=np.random.default_rng(1), format="csr"),
    "sparse matrix": sparse.csr_matrix(sparse.random(500, 30, 0.1, random_state=1)),
    "empty rows": sparse.csr_array((500, 6)),
}
every_set = pytest.mark.parametrize("points", POINTS.values(), ids=POINTS)
sizes = pytest.mark.parametrize("largest", [2, 7, 64, 499, 500, 1000])


def cut(points, largest, seed=0, weights=None):
    weights = np.ones(points.shape[1]) if weights is None else weights
    return divide(points, weights, largest, np.random.default_rng(seed))


@every_set
@sizes
def test_every_point_is_in_one_cell_of_nearly_equal_size(points, largest):
    partition, cells = cut(points, largest)
    n = points.shape[0]
    np.testing.assert_array_equal(np.sort(np.concatenate(cells)), np.arange(n))
    counts = [len(cell) for cell in cells]
    assert len(cells) == partition.n_cells == -(-n // largest)
    assert min(counts) >= 1 and max(counts) <= largest
    assert max(counts) - min(counts) <= 1 + np.log2(len(cells))


@every_set
def test_thresholds_are_finite_and_children_form_a_tree(points):
    partition, _ = cut(points, 7)
    n_inner = partition.n_cells - 1
    assert np.isfinite(partition.thresholds).all() and np.isfinite(partition.directions).all()
    expected = sorted([*range(-n_inner - 1, 0), *range(1, n_inner)]) if n_inner else []
    assert np.sort(partition.children.ravel()).tolist() == expected


@pytest.mark.parametrize("name", ["plain", "one input", "clusters", "sparse", "more inputs than points"])
def test_points_are_assigned_to_their_own_cell(name):
    partition, cells = cut(POINTS[name], 20)
    found = partition.assign(POINTS[name])
    for number, cell in enumerate(cells):
        same = found[cell] == number
        if name != "sparse":
            assert same.all()
        else:  # rows without entries tie
            assert same[np.diff(POINTS[name].indptr)[cell] > 0].all()


def test_points_that_tie_with_a_threshold_go_to_the_lower_side():
    partition, cells = cut(np.ones((8, 1)), 4)
    assert [len(cell) for cell in cells] == [4, 4]
    assert set(partition.assign(np.ones((3, 1))).tolist()) == {0}


def test_no_points_and_one_cell():
    partition, cells = cut(PLAIN, 500)
    assert len(cells) == 1 and not partition.assign(PLAIN).any()
    assert cut(PLAIN, 20)[0].assign(PLAIN[:0]).shape == (0,)


def test_sparse_and_dense_points_have_the_same_cells():
    points = POINTS["sparse"]
    for one, other in zip(cut(points, 40)[1], cut(points.toarray(), 40)[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_cells_are_compact():
    """Four clusters that are far apart are four cells."""
    points = PLAIN[:400] + 100.0 * np.repeat(np.eye(4), 100, axis=0)
    _, cells = cut(points, 100)
    assert sorted(set((cell // 100).tolist()) == {cell[0] // 100} for cell in cells) == [True] * 4


def test_inputs_without_weight_do_not_matter():
    weights = np.array([1.0, 0.0, 0.0, 1.0])
    moved = PLAIN + np.array([0.0, 1.0, -1.0, 0.0]) * RANDOM.standard_normal((500, 1))
    for one, other in zip(cut(PLAIN, 50, weights=weights)[1], cut(moved, 50, weights=weights)[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_seed_decides():
    first, second, third = (cut(PLAIN, 50, seed)[1] for seed in (0, 0, 1))
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    assert not all(np.array_equal(one, other) for one, other in zip(first, third, strict=True))


def test_metric_weights_make_distances_those_of_the_kernel():
    x, z = PLAIN[:1], PLAIN[1:2]
    gaussian = Gaussian((0.2, 0.5), columns=(0, 0, 1, 1))
    scaled = metric_weights(gaussian, 4) * (x - z)
    np.testing.assert_allclose(np.exp(-0.5 * np.sum(scaled**2)), gaussian(x, z)[0, 0])
    laplacian = Laplacian((0.1, 0.2, 0.3, 0.4))
    scaled = metric_weights(laplacian, 4) * (x - z)
    np.testing.assert_allclose(np.exp(-np.abs(scaled).sum()), laplacian(x, z)[0, 0])


def test_metric_of_several_kernels_is_their_mean():
    both = mean_metric((Gaussian(4.0), Laplacian(4.0)), 3)
    np.testing.assert_allclose(both, np.full(3, 3.0))
    assert metric_weights(GaussianLaplacian(0.7), 3).shape == (3,)
    np.testing.assert_array_equal(metric_weights(Linear(), 3), np.ones(3))
