"""Labels that need their parents, against sums over all sets that are closed upwards."""

import itertools

import numpy as np
import pytest

from logikern.decisions.label_forest import LabelForest
from logikern.decisions.label_sets import decide_sets, independent_labels, listed_sets

N_ROWS = 30
# Parents in any order of the columns.
FORESTS = {
    "no links": (-1, -1, -1),
    "one chain": (-1, 0, 1, 2),
    "chain from the right": (1, 2, 3, -1),
    "two trees": (-1, 0, 0, -1, 3, 1),
    "children first": (4, 4, 5, -1, 5, -1),
    "star": (-1, 0, 0, 0, 0),
}
# Loss of each true set (rows) and each decision (columns).
LOSSES = {
    "hamming": lambda sets: (sets[:, None] != sets).mean(axis=2),
    "subset": lambda sets: 1.0 - np.eye(len(sets)),
    "f1": lambda sets: 1.0 - _f1(sets.astype(float)),
}


def _f1(sets):
    sizes = sets.sum(axis=1)[:, None] + sets.sum(axis=1)
    return np.divide(2.0 * (sets @ sets.T), sizes, out=np.ones_like(sizes), where=sizes > 0)


every_forest = pytest.mark.parametrize("name", FORESTS)


def all_sets(parents):
    return np.array(list(itertools.product([False, True], repeat=len(parents))))


def is_closed(chosen, parents):
    return all(not present or parent < 0 or chosen[parent] for present, parent in zip(chosen, parents, strict=True))


def conditionals(parents):
    return np.random.default_rng(0).beta(0.7, 0.7, (N_ROWS, len(parents)))


def product_of(own, chosen, parents):
    """P of one set: a factor for each label whose parent is present."""
    if not is_closed(chosen, parents):
        return 0.0
    exposed = [parent < 0 or chosen[parent] for parent in parents]
    return np.where(exposed, np.where(chosen, own, 1.0 - own), 1.0).prod()


def independent(name):
    parents = FORESTS[name]
    forest = LabelForest(np.array(parents))
    distribution = independent_labels(conditionals(parents), forest)
    expected = [[product_of(own, chosen, parents) for chosen in all_sets(parents)] for own in conditionals(parents)]
    return distribution, np.array(expected)


def mixed(name):
    """Some sets are listed; the others have the product of the conditionals that follow from the marginals.

    A label that all listed sets with its parent have is a coin in the product.
    """
    parents, share = FORESTS[name], 0.3
    sets = all_sets(parents)
    closed = np.flatnonzero([is_closed(chosen, parents) for chosen in sets])[::2]
    listed = np.random.default_rng(1).dirichlet(np.full(len(closed), 0.6), N_ROWS)
    distribution = listed_sets(listed, sets[closed], share, LabelForest(np.array(parents)))
    marginals = listed @ sets[closed]
    above = np.column_stack([np.ones(N_ROWS) if parent < 0 else marginals[:, parent] for parent in parents])
    given = np.divide(marginals, above, out=np.zeros_like(above), where=above > 0)
    for label, parent in enumerate(parents):
        if parent >= 0 and sets[closed][sets[closed][:, parent]][:, label].all():
            given[:, label] *= 0.5
    expected = share * np.array([[product_of(own, chosen, parents) for chosen in sets] for own in given])
    expected[:, closed] += (1 - share) * listed
    return distribution, expected


CASES = {(make.__name__, name): make(name) for make in (independent, mixed) for name in FORESTS}
every_case = pytest.mark.parametrize("case", CASES, ids=": ".join)


@every_case
def test_probabilities_of_all_sets_sum_to_one_and_to_the_marginals(case):
    distribution, expected = CASES[case]
    sets = all_sets(FORESTS[case[1]])
    found = distribution.at_sets(sets)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found @ sets, distribution.marginals, rtol=1e-12, atol=1e-200)


def test_no_set_that_is_closed_upwards_is_impossible():
    """All listed sets with the first label have the second one; sets with the first one alone are unseen."""
    sets = np.array([[False, False, False], [True, True, False], [True, True, True]])
    listed = np.random.default_rng(4).dirichlet(np.ones(3), N_ROWS)
    found = listed_sets(listed, sets, 0.1, LabelForest(np.array([-1, 0, 1])))
    alone = np.tile([True, False, False], (N_ROWS, 1))
    expected = 0.1 * listed[:, 1:].sum(axis=1) / 2
    np.testing.assert_allclose(np.exp(found.log_probability(alone)), expected, rtol=1e-12)


@every_case
def test_log_probabilities_are_those_of_the_sum(case):
    distribution, expected = CASES[case]
    sets = all_sets(FORESTS[case[1]])
    drawn = np.random.default_rng(2).integers(0, len(sets), N_ROWS)
    with np.errstate(divide="ignore"):
        logs = np.log(expected[np.arange(N_ROWS), drawn])
    np.testing.assert_allclose(distribution.log_probability(sets[drawn]), logs, rtol=1e-10)


@every_case
def test_marginals_never_exceed_those_of_the_parents(case):
    distribution, _ = CASES[case]
    for label, parent in enumerate(FORESTS[case[1]]):
        assert parent < 0 or (distribution.marginals[:, label] <= distribution.marginals[:, parent]).all()


@pytest.mark.parametrize("loss", LOSSES)
@every_case
def test_decisions_are_closed_upwards_and_no_set_has_a_smaller_expected_loss(case, loss):
    distribution, probabilities = CASES[case]
    parents = FORESTS[case[1]]
    sets = all_sets(parents)
    expected = probabilities @ LOSSES[loss](sets)
    decided = decide_sets(distribution, loss)
    assert all(is_closed(chosen, parents) for chosen in decided)
    chosen = decided @ (1 << np.arange(len(parents))[::-1])
    np.testing.assert_allclose(expected[np.arange(N_ROWS), chosen], expected.min(axis=1), rtol=1e-12)


@every_forest
def test_certain_and_impossible_labels_leave_numbers(name):
    parents = FORESTS[name]
    forest, n_labels = LabelForest(np.array(parents)), len(parents)
    own = np.random.default_rng(3).choice([0.0, 0.5, 1.0], (N_ROWS, n_labels))
    distribution = independent_labels(own, forest)
    found = distribution.at_sets(all_sets(parents))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    for loss in LOSSES:
        decided = decide_sets(distribution, loss)
        assert forest.is_closed(decided).all()
        assert np.isfinite(distribution.log_probability(decided)).all() or loss == "f1"


@every_forest
def test_closure_adds_ancestors_and_nothing_else(name):
    parents = FORESTS[name]
    sets = all_sets(parents)
    expected = sets.copy()
    for row in expected:
        for label in np.flatnonzero(row):
            while label >= 0:
                row[label] = True
                label = parents[label]
    forest = LabelForest(np.array(parents))
    np.testing.assert_array_equal(forest.close(sets), expected)
    np.testing.assert_array_equal(forest.is_closed(sets), (sets == expected).all(axis=1))


def test_long_chains_have_sizes_of_their_prefixes():
    """In a chain of certain labels up to place k, every label up to k is present among exactly k labels."""
    n_labels = 40
    forest = LabelForest(np.arange(n_labels) - 1)
    own = (np.arange(n_labels) < 17).astype(float)[None]
    expected = np.zeros((n_labels, n_labels))
    expected[:17, 16] = 1.0
    np.testing.assert_allclose(forest.presence_by_size(own)[0], expected, atol=1e-13)
