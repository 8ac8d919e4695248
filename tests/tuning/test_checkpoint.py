"""A checkpoint belongs to its data and settings, and a finished search is not repeated."""

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from logikern.criteria.cross_validation import CrossValidation
from logikern.estimators import _tuning
from tests.tuning.samples import MOONS, NAMES, SIDES, X, default_fit, same, tuned

WEIGHTS = np.linspace(1, 2, len(X))
GROUPS = np.arange(len(X)) // 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search"


@pytest.fixture
def forbidden(monkeypatch):
    """Call to let no evaluation be computed any more."""

    def refuse(*arguments):
        raise AssertionError("nothing should be computed")

    return lambda: monkeypatch.setattr(CrossValidation, "evaluate", refuse)


def test_checkpoint_does_not_change_the_answer(path):
    assert same(tuned(checkpoint=path).fit(X, NAMES), default_fit())


@pytest.mark.parametrize("kind", [str, lambda path: path], ids=["text", "path"])
def test_checkpoint_is_a_text_or_a_path(path, kind):
    tuned(checkpoint=kind(path), tying="shared", ard=False).fit(X, NAMES)
    assert path.exists()


def test_finished_search_is_reused(path, forbidden):
    first = tuned(checkpoint=path).fit(X, NAMES)
    forbidden()
    assert same(tuned(checkpoint=path).fit(X, NAMES), first)


def test_reused_search_has_its_trace(path):
    first = tuned(checkpoint=path).fit(X, NAMES)
    assert tuned(checkpoint=path).fit(X, NAMES).trace_ == first.trace_


def test_search_without_a_random_state_is_reused(path, forbidden):
    first = tuned(checkpoint=path, random_state=None).fit(X, NAMES)
    forbidden()
    assert same(tuned(checkpoint=path, random_state=None).fit(X, NAMES), first)


@pytest.mark.parametrize("harmless", [{"max_time": 1e3}, {"verbose": 1}, {"n_jobs": 1}], ids=str)
def test_settings_that_change_no_answer_may_differ(path, forbidden, harmless):
    first = tuned(checkpoint=path).fit(X, NAMES)
    forbidden()
    assert same(tuned(checkpoint=path, **harmless).fit(X, NAMES), first)


@pytest.mark.parametrize("later", [{"tol": 1e-2}, {"max_iter": 20}], ids=str)
def test_settings_of_the_final_fit_may_differ(path, forbidden, later):
    first = tuned(checkpoint=path).fit(X, NAMES)
    forbidden()
    again = tuned(checkpoint=path, **later).fit(X, NAMES)
    assert again.variances_.tolist() == first.variances_.tolist()
    assert again.criterion_value_ == first.criterion_value_


@pytest.mark.parametrize(
    "other",
    [
        {"kernel": "matern32"},
        {"tying": "scaled"},
        {"rate": 0.3},
        {"variance": 3.0},
        {"bias_variance": 4.0},
        {"cv": 4},
        {"cv": StratifiedKFold(5)},
        {"ard": False},
        {"learn_bias": True},
        {"search_size": 40},
        {"n_starts": 2},
        {"class_weight": "balanced"},
        {"random_state": 1},
    ],
    ids=str,
)
def test_checkpoint_of_other_settings_is_refused(path, other):
    tuned(checkpoint=path).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(**{"checkpoint": path, **other}).fit(X, NAMES)


@pytest.mark.parametrize(
    "data",
    [
        (X + 1e-6, NAMES),
        (X[:-1], NAMES[:-1]),
        (X, NAMES[::-1]),
        (X, NAMES, WEIGHTS),
        (X, NAMES, None, GROUPS),
    ],
    ids=["inputs", "rows", "labels", "weights", "groups"],
)
def test_checkpoint_of_other_data_is_refused(path, data):
    tuned(checkpoint=path).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(checkpoint=path).fit(*data)


def test_file_that_is_no_checkpoint_is_refused_and_kept(path):
    path.write_text("my notes")
    with pytest.raises(ValueError, match="`checkpoint` must be a file that an earlier search wrote"):
        tuned(checkpoint=path).fit(X, NAMES)
    assert path.read_text() == "my notes"


def test_missing_folder_is_refused_before_any_work(tmp_path, forbidden):
    forbidden()
    with pytest.raises(ValueError, match="folder"):
        tuned(checkpoint=tmp_path / "nowhere" / "search").fit(X, NAMES)


def new_function():
    """The same function at another address, as in another process."""

    def kernel(left, right):
        return float(left @ right)

    return kernel


def test_function_as_kernel_is_known_again(path, forbidden):
    functions = [new_function(), new_function()]
    first = tuned(functions[0], checkpoint=path).fit(X, NAMES)
    forbidden()
    again = tuned(functions[1], checkpoint=path).fit(X, NAMES)
    assert np.array_equal(again.dual_coef_, first.dual_coef_)


def test_random_state_is_known_by_what_it_draws(path, forbidden):
    settings = {"checkpoint": path, "tying": "shared", "ard": False}
    tuned(**settings, random_state=np.random.RandomState(3)).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(**settings, random_state=np.random.RandomState(4)).fit(X, NAMES)
    forbidden()
    tuned(**settings, random_state=np.random.RandomState(3)).fit(X, NAMES)


def many_splits(seed):
    """So many places that NumPy abbreviates them when it writes them out."""
    return list(StratifiedKFold(2, shuffle=True, random_state=seed).split(*many()))


def many():
    return np.tile(MOONS, (30, 1)), np.tile(SIDES, 30)


def test_splits_are_known_by_every_place(path):
    settings = {"tying": "shared", "ard": False, "search_size": 60, "checkpoint": path}
    splits = many_splits(0)
    tuned(cv=splits, **settings).fit(*many())
    kept, held_out = splits[0]
    half = len(kept) // 2
    moved = [(kept[:half], held_out), splits[1]]
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(cv=moved, **settings).fit(*many())


def test_splitter_that_draws_anew_is_refused(path):
    # Its answers would be mixed with those of other folds.
    settings = {"tying": "shared", "ard": False, "cv": ShuffleSplit(3), "checkpoint": path}
    tuned(**settings).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        tuned(**settings).fit(X, NAMES)


def test_checkpoint_of_a_growing_search_spans_all_its_sizes(path, forbidden, monkeypatch):
    monkeypatch.setattr(_tuning, "COARSE_SIZE", 20)
    monkeypatch.setattr(_tuning, "COARSE_PER_CLASS", 5)
    first = tuned(checkpoint=path, ard=False).fit(X, NAMES)
    assert first.trace_[-1].n_points == len(X) > first.trace_[0].n_points
    forbidden()
    assert same(tuned(checkpoint=path, ard=False).fit(X, NAMES), first)
