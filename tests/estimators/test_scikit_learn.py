"""The estimator among scikit-learn's tools: pipelines, searches, copies, routing, callbacks of weights."""

import logging
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from logikern.kernels import Gaussian, Linear, Matern52
from tests.estimators.samples import DISTRIBUTIONS, NAMES, SPECIES, X, fixed

FOLDS = KFold(3, shuffle=True, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)


def test_pipeline_equals_its_steps():
    scaled = StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), fixed()).fit(X, NAMES)
    alone = fixed().fit(scaled, NAMES)
    assert np.array_equal(pipeline.predict_proba(X), alone.predict_proba(scaled))


def test_search_over_numbers_and_kernel_objects():
    grid = {"kernel": [Gaussian(0.3), Linear(), Gaussian(0.3) + 0.5 * Linear()], "variance": [1.0, 10.0]}
    search = GridSearchCV(fixed(), grid, cv=FOLDS, scoring="neg_log_loss").fit(X, SPECIES)
    assert search.cv_results_["mean_test_score"].shape == (6,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.kernels_ == (search.best_params_["kernel"],)


def test_search_inside_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), fixed())
    grid = {"kernellogisticclassifier__rate": [0.1, 1.0], "kernellogisticclassifier__tying": ["shared", "separate"]}
    search = GridSearchCV(pipeline, grid, cv=FOLDS, scoring="neg_log_loss").fit(X, NAMES)
    assert search.best_score_ > -0.3


def test_cross_validation_scores():
    assert cross_val_score(fixed(), X, NAMES, cv=FOLDS).min() > 0.85


def test_cross_validation_in_parallel_processes_is_the_same():
    alone = cross_val_score(fixed(), X, SPECIES, cv=FOLDS, scoring="neg_log_loss")
    parallel = cross_val_score(fixed(), X, SPECIES, cv=FOLDS, scoring="neg_log_loss", n_jobs=2)
    # Other processes may use another number of threads, hence another order of sums.
    np.testing.assert_allclose(parallel, alone, rtol=1e-9)


def test_cross_validation_on_distributions():
    found = cross_val_predict(fixed(), X, DISTRIBUTIONS, cv=FOLDS, method="predict_proba")
    wanted = cross_val_predict(fixed(), X, SPECIES, cv=FOLDS, method="predict_proba")
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_one_failing_setting_does_not_stop_a_search():
    grid = {"rate": [1.0, -1.0]}
    search = GridSearchCV(fixed(), grid, cv=FOLDS)
    with pytest.warns(FitFailedWarning, match="`rate` must be a positive finite number"):
        search.fit(X, SPECIES)
    assert search.best_params_ == {"rate": 1.0}


def test_calibration_wraps_it():
    model = CalibratedClassifierCV(fixed(), cv=3).fit(X, SPECIES)
    assert model.score(X, SPECIES) > 0.9


def test_clone_copies_parameters_and_no_fit():
    model = fixed(Matern52((1.0, 2.0, 3.0, 4.0)), tying=["a", "b", "a"], variance=[1.0, 2.0])
    copy = clone(model.fit(X, SPECIES))
    assert copy.get_params() == model.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian((1.0, 2.0, 3.0, 4.0)) * Linear()])
def test_pickle_and_joblib_keep_every_bit(kernel, tmp_path):
    model = fixed(kernel).fit(X, NAMES)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert copy.outcome_ is model.outcome_
        assert copy.trace_ == model.trace_


def test_weights_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        model = fixed().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        found = pipeline.fit(X, SPECIES, sample_weight=WEIGHTS).predict_proba(X)
        scores = cross_validate(model, X, SPECIES, params={"sample_weight": WEIGHTS}, cv=FOLDS)["test_score"]
        search = GridSearchCV(model, {"variance": [1.0, 10.0]}, cv=FOLDS).fit(X, SPECIES, sample_weight=WEIGHTS)
    scaled = StandardScaler().fit_transform(X)
    alone = fixed().fit(scaled, SPECIES, sample_weight=WEIGHTS)
    assert np.array_equal(found, alone.predict_proba(scaled))
    assert scores.min() > 0.8
    best = clone(search.best_estimator_).fit(X, SPECIES, sample_weight=WEIGHTS)
    assert np.array_equal(search.predict_proba(X), best.predict_proba(X))


def test_weights_that_nobody_asked_for_are_refused():
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), fixed())
        with pytest.raises(ValueError, match="sample_weight"):
            pipeline.fit(X, SPECIES, sample_weight=WEIGHTS)


def test_random_state_makes_fits_repeat_exactly():
    fits = [fixed(solver="newton", random_state=7).fit(X, SPECIES).predict_proba(X) for _ in range(2)]
    assert np.array_equal(fits[0], fits[1])


def test_random_state_changes_nothing_beyond_the_tolerance():
    fits = [fixed(solver="newton", random_state=seed, tol=1e-8).fit(X, SPECIES).predict_proba(X) for seed in (1, 2)]
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_threads_do_not_change_the_answer(n_jobs):
    wanted = fixed().fit(X, SPECIES).predict_proba(X)
    found = fixed(n_jobs=n_jobs).fit(X, SPECIES).predict_proba(X)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_verbose_logs_every_step(caplog):
    with caplog.at_level(logging.INFO, logger="logikern"):
        model = fixed(verbose=2).fit(X, SPECIES)
    steps = [record.getMessage() for record in caplog.records if record.getMessage().startswith("final fit, step")]
    assert len(steps) == len(model.trace_)
    assert "gradient" in steps[-1]


def test_silence_is_the_default(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="logikern"):
        fixed().fit(X, SPECIES)
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


def test_warning_points_at_the_caller():
    with pytest.warns(ConvergenceWarning, match="Raise `max_iter`") as caught:
        fixed(max_iter=1).fit(X, SPECIES)
    assert caught[0].filename == __file__


def test_failed_fit_leaves_nothing_of_an_earlier_one():
    model = fixed().fit(X, SPECIES)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((10, 2), np.nan), np.arange(10) % 2)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(X)


def test_refused_parameter_leaves_the_earlier_fit():
    model = fixed().fit(X, SPECIES)
    with pytest.raises(ValueError, match="`tol`"):
        model.set_params(tol=-1.0).fit(X, SPECIES)
    assert model.score(X, SPECIES) > 0.9
