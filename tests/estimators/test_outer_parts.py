"""Parts of the rows of a search that judge what is learned from the others."""

import numpy as np
import pytest

from logikern.criteria.folds import folds_from_splits
from logikern.estimators._subsets.cells import Subset
from logikern.estimators._subsets.outer import outer_rungs
from logikern.estimators._subsets.rungs import Rung
from logikern.operators.choose import Choice

ROWS = np.array([3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 22, 23])
LABELS = np.arange(30) % 3
CHOICE = Choice("dense", np.dtype(float), "", 1e9)


def rung(n_folds=None, groups=None, edges=(0, 12)):
    folds = None
    if n_folds is not None:
        held = [np.flatnonzero(np.arange(12) % n_folds == fold) for fold in range(n_folds)]
        folds = folds_from_splits([(np.setdiff1d(np.arange(12), own), own) for own in held], np.ones(12))
    return Rung(Subset(ROWS, np.array(edges), ROWS[:0]), folds, groups, False, CHOICE, 1e6)


@pytest.mark.parametrize("n_folds", [3, 5, 12, None])
def test_every_row_is_unseen_once(n_folds):
    outer = list(outer_rungs(rung(n_folds), LABELS, 0))
    assert sorted(np.concatenate([own.drawn.unseen for own in outer]).tolist()) == ROWS.tolist()
    for own in outer:
        assert sorted([*own.drawn.unseen, *own.drawn.rows]) == ROWS.tolist()


@pytest.mark.parametrize("n_folds", [3, 5, 12])
def test_folds_within_the_other_rows_are_those_of_the_search(n_folds):
    for own in outer_rungs(rung(n_folds), LABELS, 0):
        kept, held = own.folds
        assert kept.shape == held.shape == (len(kept), len(own.drawn.rows))
        assert (kept * held == 0).all() and (kept + held == 1).all()
        assert (held.sum(axis=0) <= 1).all() and held.any(axis=1).all() and kept.any(axis=1).all()


def test_two_folds_have_no_parts():
    # Without one of two folds, the other one would be learned from nothing.
    assert not list(outer_rungs(rung(2), LABELS, 0))


def test_groups_stay_together():
    groups = np.arange(12) // 2
    for own in outer_rungs(rung(groups=groups), LABELS, 0):
        inside = groups[np.isin(ROWS, own.drawn.rows)]
        assert not set(inside) & set(groups[np.isin(ROWS, own.drawn.unseen)])
        np.testing.assert_array_equal(own.groups, inside)


def test_neighbourhoods_have_no_parts():
    assert not list(outer_rungs(rung(3, edges=(0, 6, 12)), LABELS, 0))
