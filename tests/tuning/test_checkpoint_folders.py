"""Several searches whose checkpoints are files in one folder."""

import warnings

import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from logikern.criteria.cross_validation import CrossValidation
from logikern.selection.journal import opened_in, write
from tests.tuning.samples import NAMES, X, tuned


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.search"


@pytest.fixture
def forbidden(monkeypatch):
    """Call to let no evaluation be computed any more."""

    def refuse(*arguments):
        raise AssertionError("nothing should be computed")

    return lambda: monkeypatch.setattr(CrossValidation, "evaluate", refuse)


SMALL = {"tying": "shared", "ard": False}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_of_a_cross_validation_share_a_folder(tmp_path, n_jobs):
    settings = {"cv": 3, "n_jobs": n_jobs, "error_score": "raise"}
    scores = cross_val_score(tuned(checkpoint=tmp_path, **SMALL), X, NAMES, **settings)
    assert scores.tolist() == cross_val_score(tuned(**SMALL), X, NAMES, **settings).tolist()
    assert len(list(tmp_path.iterdir())) == 3


def test_cross_validation_is_resumed_from_a_folder(tmp_path, forbidden):
    first = cross_val_score(tuned(checkpoint=tmp_path, **SMALL), X, NAMES, cv=3)
    forbidden()
    again = cross_val_score(tuned(checkpoint=tmp_path, **SMALL), X, NAMES, cv=3, error_score="raise")
    assert again.tolist() == first.tolist()


def test_fits_of_a_grid_share_a_folder(tmp_path):
    grid = GridSearchCV(tuned(checkpoint=tmp_path, **SMALL), {"kernel": ["gaussian", "matern32"]}, cv=2)
    grid.set_params(error_score="raise").fit(X, NAMES)
    assert len(list(tmp_path.iterdir())) == 2 * 2 + 1  # and one of the best kernel for all rows


def test_new_folder_is_named_by_a_slash_at_the_end(tmp_path):
    cross_val_score(tuned(checkpoint=f"{tmp_path}/searches/", **SMALL), X, NAMES, cv=2, error_score="raise")
    assert len(list((tmp_path / "searches").iterdir())) == 2


def test_new_name_without_a_suffix_is_a_folder(tmp_path):
    grid = GridSearchCV(tuned(checkpoint=tmp_path / "searches", **SMALL), {"kernel": ["gaussian", "matern32"]}, cv=2)
    grid.set_params(error_score="raise").fit(X, NAMES)
    assert len(list((tmp_path / "searches").iterdir())) == 2 * 2 + 1


def test_missing_parents_of_a_new_folder_are_created(tmp_path):
    tuned(checkpoint=tmp_path / "a" / "b" / "c", **SMALL).fit(X, NAMES)
    assert len(list((tmp_path / "a" / "b" / "c").iterdir())) == 1


def test_existing_file_without_a_suffix_is_a_file(tmp_path):
    tuned(checkpoint=tmp_path / "fit.search", **SMALL).fit(X, NAMES)
    (tmp_path / "fit.search").rename(tmp_path / "fit")
    before = (tmp_path / "fit").read_bytes()
    tuned(checkpoint=tmp_path / "fit", **SMALL).fit(X, NAMES)
    assert (tmp_path / "fit").read_bytes() == before


def test_models_of_one_vs_rest_share_a_folder(tmp_path):
    tuned(checkpoint=tmp_path, one_vs_rest=True, **SMALL).fit(X, NAMES)
    assert len(list(tmp_path.iterdir())) == 3


def test_same_search_twice_at_a_time_has_two_files_in_a_folder(tmp_path):
    with opened_in(tmp_path, "ab" * 32) as first, opened_in(tmp_path, "ab" * 32) as second:
        assert (first.path.name, second.path.name) == ("abababababababab.search", "abababababababab.1.search")
        write(first)
    with opened_in(tmp_path, "ab" * 32) as again:
        assert again.path == first.path


def test_grid_that_shares_a_file_is_told_to_pass_a_folder(path):
    grid = GridSearchCV(tuned(checkpoint=path, **SMALL), {"kernel": ["gaussian", "matern32"]}, cv=2)
    with pytest.raises(ValueError, match="as in GridSearchCV .* pass a folder"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of the fits that failed, and of scores that are nan
        grid.fit(X, NAMES)


def test_other_data_for_one_file_is_refused_with_advice(path):
    tuned(checkpoint=path, **SMALL).fit(X, NAMES)
    with pytest.raises(ValueError, match="in which every search has its own file"):
        tuned(checkpoint=path, **SMALL).fit(X[:40], NAMES[:40])
