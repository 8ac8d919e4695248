"""Passes along a tree, function by function and level by level."""

import numpy as np
import pytest

from logikern.structure import forest
from logikern.structure.forest import ROOT, ClassForest

N_POINTS = 5


def random_tree(n_inner, n_leaves, seed):
    """Parents of latent functions, inner ones first, and the functions of classes; some have no parent."""
    random = np.random.default_rng(seed)
    inner = [int(random.integers(number)) if number and random.random() < 0.9 else ROOT for number in range(n_inner)]
    # Every inner function has a class below it, and further ones hang anywhere.
    parents = [*range(n_inner), *random.integers(-1, n_inner, n_leaves - n_inner)]
    leaves = np.arange(n_inner, n_inner + n_leaves)
    return [*inner, *map(int, parents)], leaves


TREES = {f"{n} inner": random_tree(n, n + 12, n) for n in (1, 2, 9, 40)}
every_tree = pytest.mark.parametrize("parents, leaves", TREES.values(), ids=TREES.keys())
both_ways = pytest.mark.parametrize("most_one_by_one", [60, 0], ids=["one by one", "by levels"])
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def dense_parents(parents, leaves):
    """Which inner function is the parent of each class, and of each inner function: matrices of zeros and ones."""
    upper = {node: parent for node, parent in enumerate(parents) if parent != ROOT}
    inner = sorted(set(upper.values()))
    of_class = np.array([[upper.get(int(leaf)) == number for leaf in leaves] for number in inner], dtype=float)
    of_inner = np.array([[upper.get(below) == number for below in inner] for number in inner], dtype=float)
    return of_class, of_inner


def arrays(dtype, *counts):
    random = np.random.default_rng(1)
    return [random.standard_normal((2, count, N_POINTS)).astype(dtype) for count in counts]


@both_ways
@every_type
@every_tree
def test_sums_over_classes(parents, leaves, dtype, most_one_by_one, monkeypatch):
    monkeypatch.setattr(forest, "MOST_ONE_BY_ONE", most_one_by_one)
    of_class, _ = dense_parents(parents, leaves)
    functions, weights = arrays(dtype, len(leaves), len(leaves))
    own = ClassForest(parents, leaves).inner
    for weight in (None, weights):
        found = own.collect(functions, weight)
        assert found.dtype == dtype
        expected = np.einsum("pc,bcn->bpn", of_class, functions if weight is None else functions * weight)
        np.testing.assert_allclose(found, expected, atol=1e-5)


@both_ways
@every_type
@every_tree
def test_what_is_handed_down(parents, leaves, dtype, most_one_by_one, monkeypatch):
    monkeypatch.setattr(forest, "MOST_ONE_BY_ONE", most_one_by_one)
    of_class, _ = dense_parents(parents, leaves)
    functions, start, weights = arrays(dtype, len(of_class), len(leaves), len(leaves))
    for weight in (None, weights):
        found = start.copy()
        ClassForest(parents, leaves).inner.hand_down(functions, found, weight)
        below = np.einsum("pc,bpn->bcn", of_class, functions)
        np.testing.assert_allclose(found, start + (below if weight is None else weight * below), atol=1e-5)


@pytest.mark.parametrize("way", ["rise", "fall"])
@both_ways
@every_type
@every_tree
def test_passes_solve_the_equations_of_a_tree(parents, leaves, dtype, most_one_by_one, monkeypatch, way):
    monkeypatch.setattr(forest, "MOST_ONE_BY_ONE", most_one_by_one)
    _, of_inner = dense_parents(parents, leaves)
    start, gains = arrays(dtype, len(of_inner), len(of_inner))
    for gain in (None, gains):
        found = start.copy()
        getattr(ClassForest(parents, leaves).inner, way)(found, gain)
        factor = np.ones_like(start) if gain is None else gain
        # Up: x_p = start_p + sum of gain x below p. Down: x_p = start_p + gain_p x above p.
        moved = (
            np.einsum("pq,bqn->bpn", of_inner, factor * found)
            if way == "rise"
            else factor * np.einsum("qp,bqn->bpn", of_inner, found)
        )
        np.testing.assert_allclose(found, start + moved, rtol=1e-4, atol=1e-4)
