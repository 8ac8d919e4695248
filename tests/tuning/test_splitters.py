"""Splitters see all rows as they were passed to `fit`; the search has what of their splits it sees."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from logikern import KernelRegressor
from logikern.criteria.cross_validation import CrossValidation
from logikern.estimators import _search_plan
from tests.policies import change_policy
from tests.tuning.samples import NAMES, SPECIES, X, same, tuned

N = len(X)
GROUPS = np.arange(N) % 7
FOLD_OF = np.where(np.arange(N) % 6 == 5, -1, np.arange(N) % 3)
SHARED = {"tying": "shared", "ard": False}
# A row's weight tells its number, and changes next to nothing.
STEP = 1e-6
NUMBERED = 1.0 + STEP * np.arange(N)


class ByFirstInput:
    """Holds out the rows below a threshold of the first input, or those above it."""

    def __init__(self, threshold):
        self.threshold = threshold
        self.calls = []

    def split(self, X, y=None, groups=None):
        self.calls.append((X, y, groups))
        below = np.asarray(X["length"] if hasattr(X, "columns") else X[:, 0]) < self.threshold
        for held_out in (below, ~below):
            yield np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2


SPLITTERS = {
    "predefined": PredefinedSplit(FOLD_OF),
    "plain": KFold(4),
    "stratified": StratifiedKFold(4),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "overlapping": ShuffleSplit(3, random_state=0),
    "in time": TimeSeriesSplit(3),
    "groups": GroupKFold(3),
    "one group": LeaveOneGroupOut(),
    "reads X": ByFirstInput(np.median(X[:, 0])),
}
every_splitter = pytest.mark.parametrize("name", SPLITTERS)
PARTS = {
    "all rows": ({}, NUMBERED),
    "some rows": ({"search_size": 30}, NUMBERED),
    "some weights": ({}, np.where(np.arange(N) % 5 == 2, 0.0, NUMBERED)),
    "both": ({"search_size": 30}, np.where(np.arange(N) % 5 == 2, 0.0, NUMBERED)),
}
every_part = pytest.mark.parametrize("part", PARTS)


@pytest.fixture
def folds(monkeypatch):
    """The folds of all evaluations, each as pairs of sets of row numbers."""
    seen = []
    evaluate = CrossValidation.evaluate

    def spy(self, *arguments):
        pairs = zip(self.folds.kept, self.folds.held_out, strict=True)
        seen.append([tuple(rows_of(side) for side in pair) for pair in pairs])
        return evaluate(self, *arguments)

    monkeypatch.setattr(CrossValidation, "evaluate", spy)
    return seen


def rows_of(weights):
    return frozenset(np.rint((weights[weights > 0] - 1.0) / STEP).astype(int).tolist())


def one_evaluation(model, *arguments, **named):
    """Fitted with the time for a single evaluation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.set_params(max_time=1e-9).fit(*arguments, **named)


@every_part
@every_splitter
def test_folds_are_those_of_all_rows_as_far_as_the_search_sees_them(name, part, folds):
    settings, weights = PARTS[part]
    groups = GROUPS if "group" in name else None
    one_evaluation(tuned(cv=SPLITTERS[name], **SHARED, **settings), X, NAMES, weights, groups=groups)
    seen = frozenset.union(*[kept | held_out for kept, held_out in folds[0]])
    assert len(seen) == min(settings.get("search_size", N), np.count_nonzero(weights))
    wanted = [(seen & set(kept), seen & set(held)) for kept, held in SPLITTERS[name].split(X, NAMES, groups)]
    assert folds[0] == [pair for pair in wanted if all(pair)]


@every_part
@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_predefined_folds_of_numbers(part, criterion):
    settings, weights = PARTS[part]
    splitter = PredefinedSplit(np.arange(N) % 3)
    given = list(splitter.split())
    fit = partial(KernelRegressor, criterion=criterion, ard=False, random_state=0, **settings)
    models = [one_evaluation(fit(cv=cv), X[:, 1:], X[:, 0], weights) for cv in (splitter, given)]
    assert models[0].held_out_error_ == models[1].held_out_error_ > 0


def test_splitter_gets_the_frame_that_was_passed():
    frame = pd.DataFrame(X, columns=["length", "width", "third", "fourth"], index=np.arange(N) + 100)
    labels, groups = pd.Series(NAMES), pd.Series(GROUPS)
    splitter = ByFirstInput(5.8)
    one_evaluation(tuned(cv=splitter, search_size=30, **SHARED), frame, labels, NUMBERED, groups=groups)
    assert len(splitter.calls) == 1 and all(map(lambda a, b: a is b, splitter.calls[0], (frame, labels, groups)))


def test_splitter_of_numbers_gets_them_as_they_were_passed():
    splitter = ByFirstInput(3.0)
    one_evaluation(KernelRegressor(criterion="cv", cv=splitter, ard=False), X[:, 1:], X[:, 0])
    assert np.array_equal(splitter.calls[0][1], X[:, 0])


@pytest.mark.parametrize("weights", [None, np.where(np.arange(N) % 5 == 2, 0.0, 1.0)], ids=["equal", "some zero"])
def test_splitter_gets_most_likely_classes_of_distributions(weights):
    table = 0.8 * np.eye(3)[SPECIES] + 0.2 / 3
    soft, hard = (one_evaluation(tuned(cv=StratifiedKFold(4), **SHARED), X, y, weights) for y in (table, SPECIES))
    assert soft.criterion_value_ > hard.criterion_value_ > 0


@pytest.mark.parametrize("as_array", [False, True])
def test_splitter_gets_numbers_of_paths(as_array):
    paths = [("flower", name) if name == "setosa" else ("flower", "other", name) for name in NAMES]
    paths = np.array([*paths, None], dtype=object)[:-1] if as_array else paths
    model = one_evaluation(tuned(cv=StratifiedKFold(4), hierarchy="paths", tying="shared"), X, paths)
    assert 0 < model.criterion_value_ < 1


def test_random_splitter_is_drawn_once_for_all_sizes_of_a_search(monkeypatch, folds):
    change_policy(monkeypatch, _search_plan, coarse_size=20, coarse_per_class=5)
    tuned(cv=ShuffleSplit(2, test_size=0.5), **SHARED).fit(X, NAMES, NUMBERED)
    small, large = folds[0], folds[-1]
    assert len(large[0][0] | large[0][1]) == N
    for (kept, held_out), (all_kept, all_held_out) in zip(small, large, strict=True):
        assert kept < all_kept and held_out < all_held_out


@pytest.mark.parametrize("name", ["predefined", "overlapping", "reads X"])
def test_search_on_a_part_of_the_splits_is_resumed(name, tmp_path, monkeypatch):
    settings = {"cv": SPLITTERS[name], "search_size": 30, "checkpoint": tmp_path / "fit.search", **SHARED}
    first = tuned(**settings).fit(X, NAMES)
    monkeypatch.setattr(CrossValidation, "evaluate", None)
    assert same(tuned(**settings).fit(X, NAMES), first)


def test_models_against_the_rest_share_splits_that_are_read_once():
    splits = list(StratifiedKFold(4).split(X, NAMES))
    fit = partial(tuned, one_vs_rest=True, **SHARED)
    once, listed = fit(cv=iter(splits)).fit(X, NAMES), fit(cv=splits).fit(X, NAMES)
    assert np.array_equal(once.dual_coef_, listed.dual_coef_)


def test_splitter_of_models_against_the_rest_gets_the_labels():
    splitter = ByFirstInput(5.8)
    one_evaluation(tuned(cv=splitter, one_vs_rest=True, **SHARED), X, NAMES)
    assert len(splitter.calls) == 1 and splitter.calls[0][1] is NAMES


def test_splits_without_rows_that_the_search_sees_are_skipped(folds):
    one_evaluation(tuned(cv=LeaveOneGroupOut(), search_size=30, **SHARED), X, NAMES, NUMBERED, groups=np.arange(N))
    assert len(folds[0]) == 30 and all(len(held_out) == 1 for _, held_out in folds[0])


def test_splits_of_rows_that_the_search_does_not_see_are_refused():
    weights = np.where(np.arange(N) == 3, 0.0, 1.0)
    with pytest.raises(ValueError, match="`cv` must hold out some points .* no split does so among the 49 rows"):
        tuned(cv=PredefinedSplit(np.where(np.arange(N) == 3, 0, -1)), **SHARED).fit(X, NAMES, weights)


def test_rows_that_a_splitter_cannot_read_again_are_refused():
    with pytest.raises(ValueError, match="A splitter as `cv` needs `X`, but `X` is an exhausted iterator"):
        tuned(lambda left, right: float(left @ right), cv=KFold(3)).fit(iter(X), NAMES)


class Unwilling:
    def split(self, X, y=None, groups=None):
        raise AssertionError("nothing is held out")

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2


@pytest.mark.parametrize("criterion", [None, "loo"])
@pytest.mark.parametrize("one_vs_rest", [False, True])
def test_splitter_is_not_asked_if_nothing_is_held_out_by_it(criterion, one_vs_rest):
    model = tuned(cv=Unwilling(), criterion=criterion, one_vs_rest=one_vs_rest, **SHARED)
    assert one_evaluation(model, X, NAMES).score(X, NAMES) > 0.8


WRONG = {
    "row beyond the last": [([0, 1], [N])],
    "mask of another length": [(np.ones(N - 1, bool), np.ones(N - 1, bool))],
    "fractions": [([0.5], [1.5])],
    "three sides": [([0], [1], [2])],
    "numbers": [3, 4],
}


@pytest.mark.parametrize("kind", WRONG)
def test_splits_that_are_not_of_these_rows_are_refused(kind):
    wanted = "Split 0 of `cv` must be a pair of index arrays or masks"
    with pytest.raises(ValueError, match=f"{wanted}, .* but is invalid: .* Pass splits of the {N} rows"):
        tuned(cv=WRONG[kind]).fit(X, NAMES)


@pytest.mark.parametrize("cv", ["five", b"five", 2.5, object()], ids=["text", "bytes", "fraction", "object"])
def test_cv_of_another_kind_is_refused(cv):
    with pytest.raises(ValueError, match="`cv` must be a number of folds, a splitter or pairs"):
        tuned(cv=cv).fit(X, NAMES)
