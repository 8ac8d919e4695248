"""Learned coupling: factors that are found, factors that are not there, and how they are kept."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.metrics import log_loss

from logikern import KernelLogisticClassifier, NeighbourhoodSettings, load_model

N_CLASSES = 6


def draw(n, size, seed=0, own=0.5, rate=1.0):
    """Inputs, labels and centred loadings of a task from the model: u = own f + B g, with Gaussian kernels."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 2))
    lower = np.linalg.cholesky(np.exp(-0.5 * rate * ((X[:, None] - X) ** 2).sum(axis=2)) + 1e-9 * np.eye(n))
    loadings = size * random.standard_normal((N_CLASSES, 2))
    loadings -= loadings.mean(axis=0)
    alone, shared = lower @ random.standard_normal((n, N_CLASSES)), lower @ random.standard_normal((n, 2))
    latent = own * alone + shared @ loadings.T
    return X, np.argmax(latent + random.gumbel(size=latent.shape), axis=1), loadings


def learner(**settings):
    usual = {"kernel": "gaussian", "inputs": "raw", "tying": "shared", "ard": False, "random_state": 0}
    return KernelLogisticClassifier(**usual | settings)


X, Y, _ = draw(400, 3.0, rate=8.0)
FREE_X, FREE_Y, _ = draw(150, 0.0, own=2.0)


@pytest.fixture(scope="module")
def coupled():
    return learner(coupling="auto").fit(X, Y)


def centred(loadings):
    return loadings - loadings.mean(axis=0)


def test_known_factors_are_recovered():
    # Functions that vary fast show their covariance at many places. Random planes are about 70 degrees apart.
    inputs, labels, loadings = draw(600, 3.0, rate=8.0)
    found = learner(coupling=2).fit(inputs, labels).loadings_
    assert np.degrees(subspace_angles(centred(found), loadings)).max() < 25


def test_factors_are_kept_if_they_gain(coupled):
    verdict = coupled.verdicts_[-1]
    assert verdict.kept and verdict.gain > 2 * verdict.noise and verdict.n_unseen == len(X)
    assert verdict.stage == "coupling, 1 factor" and coupled.loadings_.shape == (N_CLASSES, 1)
    flat = learner().fit(X, Y)
    assert coupled.criterion_value_ < flat.criterion_value_


def test_factors_lower_the_loss_of_new_rows():
    everything, labels, _ = draw(1000, 3.0, rate=8.0)
    train, test = slice(0, 500), slice(500, None)
    models = [learner(coupling=own).fit(everything[train], labels[train]) for own in (None, "auto")]
    losses = [log_loss(labels[test], model.predict_proba(everything[test])) for model in models]
    assert "loadings_" in vars(models[1]) and losses[1] < losses[0]


def test_factors_that_are_not_there_are_declined():
    model = learner(coupling="auto").fit(FREE_X, FREE_Y)
    assert "loadings_" not in vars(model) and not model.verdicts_[-1].kept
    flat = learner().fit(FREE_X, FREE_Y)
    # Inner fits of the search are iterative with coupling, and dense without.
    np.testing.assert_allclose(model.predict_proba(FREE_X), flat.predict_proba(FREE_X), atol=0.02)


def test_requested_factors_are_kept_in_any_case():
    model = learner(coupling=1).fit(FREE_X, FREE_Y)
    assert model.loadings_.shape == (N_CLASSES, 1)
    assert model.verdicts_[-1].fate in ("better", "requested")


def test_probabilities_are_those_of_the_kernel_of_labels(coupled):
    kernel, variance = coupled.kernels_[0], coupled.variances_[0]
    settings = {"kernel": kernel, "variance": variance, "criterion": None, "tol": 1e-9, "precision": "double"}
    labels = np.eye(N_CLASSES) + coupled.loadings_ @ coupled.loadings_.T
    expected = KernelLogisticClassifier(label_kernel=labels, inputs="raw", tying="shared", **settings).fit(X, Y)
    np.testing.assert_allclose(coupled.predict_proba(X), expected.predict_proba(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore:Closed-form leave-one-out")
def test_leave_one_out_learns_factors():
    rows = slice(0, 60)
    model = learner(coupling=1, criterion="loo").fit(X[rows], Y[rows])
    assert model.loadings_.shape == (N_CLASSES, 1) and model.outcome_.converged
    judged = learner(coupling="auto", criterion="loo").fit(X[rows], Y[rows])
    assert any(own.stage.startswith("coupling") for own in judged.verdicts_)


@pytest.mark.parametrize("tying", ["auto", "scaled", "separate"])
def test_factors_go_with_every_tying(tying):
    rows = slice(0, 150)
    model = learner(coupling=1, tying=tying).fit(X[rows], Y[rows])
    assert model.loadings_.shape == (N_CLASSES, 1)
    assert len(model.variances_) == N_CLASSES
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_model_says_what_it_learned(coupled):
    told = coupled.explain()
    assert "One learned factor couples the classes. Most similar a priori" in " ".join(told.split())
    assert f"on {len(X)} rows" in told
    frame = coupled.hyperparameters_
    np.testing.assert_array_equal(frame["value"][frame["name"].str.startswith("loading")], coupled.loadings_.ravel())


def test_model_file_keeps_factors(coupled, tmp_path):
    coupled.save_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), coupled.predict_proba(X))
    np.testing.assert_array_equal(loaded.loadings_, coupled.loadings_)
    assert loaded.explain() == coupled.explain()


def test_forged_loadings_are_refused(coupled, tmp_path):
    forged = clone(coupled)
    vars(forged).update(vars(coupled))
    forged.loadings_ = coupled.loadings_ + 1.0
    forged.save_model(tmp_path / "model")
    with pytest.raises(ValueError, match="its loadings do not match its model"):
        load_model(tmp_path / "model")


def test_interrupted_search_resumes_with_the_same_result(tmp_path):
    rows = slice(0, 100)
    settings = {"coupling": "auto", "checkpoint": tmp_path / "fit.search"}
    expected = learner(coupling="auto", random_state=None, checkpoint=tmp_path / "whole").fit(X[rows], Y[rows])
    model = learner(**settings, random_state=None, max_time=1e-6)
    with pytest.warns(UserWarning, match="time limit was reached"):
        model.fit(X[rows], Y[rows])
    again = learner(**settings, random_state=None).fit(X[rows], Y[rows])
    np.testing.assert_allclose(
        again.predict_proba(X), expected.predict_proba(X), atol=1e-4
    )  # final fits start elsewhere
    replayed = learner(**settings, random_state=None).fit(X[rows], Y[rows])
    assert [own.value for own in replayed.trace_] == [own.value for own in again.trace_]


@pytest.mark.parametrize("solver", ["newton", "kcg", "smo"])
def test_solvers_agree_on_coupled_classes(solver):
    rows = slice(0, 100)
    model = learner(coupling=1, solver=solver, tol=1e-5, max_iter=500).fit(X[rows], Y[rows])
    expected = learner(coupling=1, tol=1e-5).fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-3)


def test_neighbourhoods_take_coupled_classes():
    model = learner(coupling=1, operator=NeighbourhoodSettings(100, partitions=1)).fit(X, Y)
    assert model.loadings_.shape == (N_CLASSES, 1) and "neighbourhoods" in model.explain()


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"coupling": 0}, "'auto', a number of factors or None, but is 0"),
        ({"coupling": True}, "a number of factors or None"),
        ({"coupling": "yes"}, "a number of factors or None"),
        ({"coupling": N_CLASSES}, "below the number of classes, 6, but is 6"),
        ({"criterion": None}, "learned by the gradient of a criterion"),
        ({"optimizer": "nelder-mead"}, "too many parameters"),
        ({"hierarchy": "paths"}, "`hierarchy` and `coupling` both say"),
        ({"label_kernel": np.eye(N_CLASSES)}, "`label_kernel` and `coupling` both say"),
        ({"one_vs_rest": True}, "`coupling` couples classes"),
        ({"bias_variance": np.inf, "criterion": "loo"}, "which `coupling` does not allow"),
    ],
)
def test_combinations_without_a_meaning_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        learner(**{"coupling": "auto"} | settings).fit(X, Y)


def test_two_classes_are_refused():
    with pytest.raises(ValueError, match="`coupling` needs at least three classes"):
        learner(coupling="auto").fit(X, Y > 2)


def test_streams_are_refused():
    assert not hasattr(learner(coupling="auto"), "partial_fit")
