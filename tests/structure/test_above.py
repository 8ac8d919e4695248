"""Passes along a tree, function by function and level by level."""

import numpy as np
import pytest

from logikern.structure.above import MOST_ONE_BY_ONE, Above, ManyAbove, above_of

N_POINTS = 5


def random_tree(n_inner, n_leaves, seed):
    """Links of a tree whose inner functions come first, and the functions of classes; some stand alone."""
    random = np.random.default_rng(seed)
    links = [(number, int(random.integers(number))) for number in range(1, n_inner) if random.random() < 0.9]
    # Every inner function has a class below it, and further ones hang anywhere.
    parents = [*range(n_inner), *random.integers(-1, n_inner, n_leaves - n_inner)]
    leaves = np.arange(n_inner, n_inner + n_leaves)
    return links + [(int(leaf), int(p)) for leaf, p in zip(leaves, parents, strict=True) if p >= 0], leaves


TREES = {f"{n} inner": random_tree(n, n + 12, n) for n in (1, 2, 9, 40)}
every_tree = pytest.mark.parametrize("links, leaves", TREES.values(), ids=TREES.keys())
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def dense_parents(links, leaves):
    """Which function is right above each class, and above each inner function: matrices of zeros and ones."""
    upper = dict(links)
    inner = sorted(set(upper.values()))
    of_class = np.array([[upper.get(int(leaf)) == number for leaf in leaves] for number in inner], dtype=float)
    of_inner = np.array([[upper.get(below) == number for below in inner] for number in inner], dtype=float)
    return of_class, of_inner


def arrays(dtype, *counts):
    random = np.random.default_rng(1)
    return [random.standard_normal((2, count, N_POINTS)).astype(dtype) for count in counts]


@pytest.mark.parametrize("kind", [Above, ManyAbove])
@every_type
@every_tree
def test_sums_over_classes(links, leaves, dtype, kind):
    of_class, _ = dense_parents(links, leaves)
    functions, weights = arrays(dtype, len(leaves), len(leaves))
    own = kind(links, leaves)
    for weight in (None, weights):
        found = own.collect(functions, weight)
        assert found.dtype == dtype
        expected = np.einsum("pc,bcn->bpn", of_class, functions if weight is None else functions * weight)
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", [Above, ManyAbove])
@every_type
@every_tree
def test_what_is_handed_down(links, leaves, dtype, kind):
    of_class, _ = dense_parents(links, leaves)
    functions, start, weights = arrays(dtype, len(of_class), len(leaves), len(leaves))
    for weight in (None, weights):
        found = start.copy()
        kind(links, leaves).hand_down(functions, found, weight)
        below = np.einsum("pc,bpn->bcn", of_class, functions)
        np.testing.assert_allclose(found, start + (below if weight is None else weight * below), atol=1e-5)


@pytest.mark.parametrize("way", ["rise", "fall"])
@pytest.mark.parametrize("kind", [Above, ManyAbove])
@every_type
@every_tree
def test_passes_solve_the_equations_of_a_tree(links, leaves, dtype, kind, way):
    _, of_inner = dense_parents(links, leaves)
    start, gains = arrays(dtype, len(of_inner), len(of_inner))
    for gain in (None, gains):
        found = start.copy()
        getattr(kind(links, leaves), way)(found, gain)
        factor = np.ones_like(start) if gain is None else gain
        # Up: x_p = start_p + sum of gain x below p. Down: x_p = start_p + gain_p x above p.
        moved = (
            np.einsum("pq,bqn->bpn", of_inner, factor * found)
            if way == "rise"
            else factor * np.einsum("qp,bqn->bpn", of_inner, found)
        )
        np.testing.assert_allclose(found, start + moved, rtol=1e-4, atol=1e-4)


def test_many_functions_go_level_by_level():
    kinds = [type(above_of(*random_tree(n, n + 3, 0))) for n in (MOST_ONE_BY_ONE, MOST_ONE_BY_ONE + 1)]
    assert kinds == [Above, ManyAbove]
