"""Whatever the setting: finite probabilities that sum to one, and predictions that follow them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from logikern.model.fitted import FittedModel
from tests.estimators.samples import NAMES, SPECIES, X, fixed

FAR = np.vstack([X, 1e3 * X, -1e6 * X, 1e140 * X])
EXTREMES = {
    "defaults": {},
    "large variance": {"variance": 1e10},
    "small variance": {"variance": 1e-10},
    "narrow": {"rate": 1e8},
    "wide": {"rate": 1e-12},
    "large bias": {"bias_variance": 1e8},
    "no bias": {"bias_variance": 0.0},
    "linear": {"kernel": "linear", "variance": 1e6},
    "linear, no bias": {"kernel": "linear", "bias_variance": 0.0},
    "separate": {"tying": "separate", "variance": [1e-6, 1.0, 1e6]},
    "newton": {"solver": "newton", "variance": 1e5},
    "single": {"solver": "newton", "precision": "single", "variance": 1e4},
    "one step": {"max_iter": 1},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("setting", EXTREMES.values(), ids=EXTREMES.keys())
def test_probabilities_are_probabilities(setting):
    model = fixed(**setting).fit(X, NAMES)
    probabilities, logarithms = model.predict_proba(FAR), model.predict_log_proba(FAR)
    assert np.isfinite(logarithms).all()
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(probabilities, np.exp(logarithms))
    assert np.array_equal(model.predict(FAR), model.classes_[probabilities.argmax(axis=1)])


def with_latents(latents, labels):
    """A fitted estimator that gives these latents, whatever it is asked."""

    class Fixed(FittedModel):
        def latents(self, X, tile_entries):
            return latents

    model = fixed().fit(X, labels)
    model.model_ = Fixed(model.model_.specification, model.model_.points, model.model_.dual)
    return model


@pytest.mark.parametrize(
    "latents",
    [
        [0.0, 0.0, 0.0],
        [0.0, 1e-17, 0.0],
        [0.3, 0.3 + 6e-17, 0.1],
        [-800.0, 800.0, 800.0 + 1e-13],
        [1e300, -1e300, 0.0],
    ],
    ids=["tie", "tie of zeros", "last digit", "saturated", "overflowing"],
)
def test_prediction_follows_probabilities_where_latents_nearly_tie(latents):
    model = with_latents(np.array([latents] * len(X)), SPECIES)
    assert np.array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_decision_function_gives_latents_or_log_odds():
    model = fixed().fit(X, SPECIES)
    latents = model.decision_function(X)
    assert latents.shape == (len(X), 3)
    np.testing.assert_allclose(np.diff(latents), np.diff(model.predict_log_proba(X)), atol=1e-9)
    two = clone(model).fit(X, SPECIES == 1)
    assert two.decision_function(X).shape == (len(X),)
    np.testing.assert_allclose(two.decision_function(X), np.diff(two.predict_log_proba(X))[:, 0], atol=1e-9)


def test_far_from_the_data_the_bias_remains():
    # There the Gaussian kernel is zero: what is left is each class's constant, equal for equal counts.
    model = fixed().fit(X, SPECIES)
    far = model.predict_proba(np.full((1, 4), 1e100))
    constants = model.dual_coef_.sum(axis=0) * model.bias_variance
    np.testing.assert_allclose(far[0], np.exp(constants) / np.exp(constants).sum(), atol=1e-9)


def test_training_points_in_tiles_give_the_same_latents(monkeypatch):
    model = fixed().fit(X, SPECIES)
    whole = model.decision_function(X)
    monkeypatch.setattr("logikern.estimators._memory.PREDICTION_ENTRIES", 100)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-10)


def test_dual_reproduces_the_latents():
    model = fixed(tying="scaled", variance=[1.0, 2.0, 3.0]).fit(X, SPECIES)
    matrix = model.kernels_[0](X, X)
    latents = matrix @ model.dual_coef_ * model.variances_ + model.bias_variance * model.dual_coef_.sum(axis=0)
    np.testing.assert_allclose(model.decision_function(X), latents, atol=1e-9)


def test_dual_is_target_minus_probability():
    model = fixed(solver="exact").fit(X, SPECIES)
    np.testing.assert_allclose(model.dual_coef_, np.eye(3)[SPECIES] - model.predict_proba(X), atol=1e-8)


def test_unfinished_fit_is_told_once():
    with pytest.warns(ConvergenceWarning, match="budget of Newton steps was used up") as caught:
        model = fixed(max_iter=1).fit(X, SPECIES)
    assert len(caught) == 1
    assert not model.outcome_.converged
    assert model.n_iter_ == 1


def test_exact_solver_is_judged_by_the_tolerance_asked_for(recwarn):
    # Its own goal, 1e-10, is below the rounding of latents of this size.
    model = fixed(bias_variance=1e10, tol=1e-4, solver="exact").fit(X, SPECIES)
    assert model.outcome_.converged
    assert not recwarn.list


@pytest.mark.parametrize("loss", [np.ones((3, 2)), np.ones((1, 3)), np.ones((4, 3))])
def test_losses_need_a_row_for_every_class(loss):
    model = fixed().fit(X, NAMES)
    with pytest.raises(ValueError, match="`loss` must"):
        model.decide(X, loss=loss)
