"""Constants of infinite prior variance."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from logikern import KernelLogisticClassifier, load_model
from logikern.estimators._inputs.alternatives import carry_over
from tests.estimators.samples import NAMES, SPECIES, X, fixed
from tests.model.forgery import nameless, value, with_attribute, write
from tests.reference.softmax import relative_norm, softmax

WEIGHTS = np.linspace(0.5, 2.0, len(X))
LARGE = 1e6


def free(kernel="gaussian", **settings) -> KernelLogisticClassifier:
    return fixed(kernel, **{"bias_variance": np.inf, **settings})


@pytest.mark.parametrize("tying", ["shared", "scaled", "separate"])
@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
def test_predictions_are_those_of_a_large_variance(kernel, tying):
    near = fixed(kernel, tying=tying, bias_variance=LARGE, solver="exact").fit(X, NAMES, WEIGHTS)
    found = free(kernel, tying=tying).fit(X, NAMES, WEIGHTS).predict_proba(X)
    np.testing.assert_allclose(found, near.predict_proba(X), atol=1e-4)


def test_two_classes_have_free_constants():
    near = fixed(bias_variance=LARGE, solver="exact").fit(X, SPECIES == 1)
    np.testing.assert_allclose(free().fit(X, SPECIES == 1).predict_proba(X), near.predict_proba(X), atol=1e-4)


def test_coefficients_of_each_class_sum_to_zero():
    assert np.abs(free().fit(X, NAMES).dual_coef_.sum(axis=0)).max() < 1e-7


def test_constants_alone_give_the_shares():
    far = free(rate=1e6, variance=1e-8).fit(X, NAMES, WEIGHTS)
    shares = [WEIGHTS[far.classes_[number] == NAMES].sum() / WEIGHTS.sum() for number in range(3)]
    np.testing.assert_allclose(far.predict_proba(X[:1] + 50.0)[0], shares, atol=1e-5)


def test_single_precision_does_not_round_weights():
    # Coefficients of free constants are always double; weights in single would be wrong by 6e-8 of themselves.
    model = free(state_precision="single").fit(X, NAMES, WEIGHTS)
    gradient = WEIGHTS[:, None] * (model.predict_proba(X) - (NAMES[:, None] == model.classes_))
    assert np.abs(model.dual_coef_ + gradient).max() < 1e-9


@pytest.mark.parametrize("points", [sparse.csr_matrix(X), X.astype(np.float32)], ids=["sparse", "single"])
def test_kind_of_table_changes_nothing(points):
    np.testing.assert_allclose(
        free("linear").fit(points, NAMES).predict_proba(points),
        free("linear").fit(X, NAMES).predict_proba(X),
        atol=1e-5,
    )


def test_a_further_first_model_has_free_constants():
    start = free("gaussian").fit(X, NAMES).model_.specification
    further = replace(start, variances=(5.0,) * len(start.variances))
    best = replace(start, variances=tuple(3.0 * variance for variance in start.variances))
    found = carry_over(further, best, start)
    assert np.isinf(found.bias_variance)
    np.testing.assert_allclose(found.variances, 15.0)


@pytest.mark.parametrize("criterion", ["loo", "auto"])
def test_leave_one_out_learns_beside_free_constants(criterion):
    model = free(criterion=criterion, tying="shared", ard=False, random_state=0).fit(X, NAMES)
    assert model.criterion_value_ == pytest.approx(model.loo_log_loss_, rel=1e-5)
    assert model.criterion_value_ < free(tying="shared").fit(X, NAMES).loo_log_loss_


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_optimum_at_zero_is_found(kernel):
    model = free(kernel, tol=1e-9).fit(np.ones((30, 2)), np.arange(30) % 3)
    assert model.outcome_.converged
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), 1 / 3, atol=1e-9)


def test_large_weights_do_not_end_a_search():
    model = free(criterion="loo", tying="shared", ard=False, random_state=0).fit(X, NAMES, np.full(len(X), 1e5))
    assert np.isfinite(model.criterion_value_)


def test_gradient_is_reported_in_units_of_weights_and_residuals():
    weights = 100.0 * WEIGHTS
    model = free(max_iter=2)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, NAMES, weights)
    latent, targets = model.decision_function(X).T, np.eye(3)[SPECIES].T
    gradient = weights * (softmax(latent) - targets)
    wanted = relative_norm(gradient + model.dual_coef_.T, gradient, weights)
    assert model.newton_trace_[-1].gradient_norm == pytest.approx(wanted, rel=1e-6)


def test_frame_has_the_infinite_variance():
    frame = free(criterion="loo", random_state=0).fit(X, NAMES).hyperparameters_
    assert np.isinf(frame.loc[frame["name"] == "bias_variance", "value"]).all()


@pytest.mark.parametrize("settings", [{}, {"criterion": "loo", "random_state": 0}, {"one_vs_rest": True}], ids=str)
def test_model_file_keeps_every_bit(settings, tmp_path):
    model = free(**settings).fit(X, NAMES)
    model.save_model(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(X), model.predict_proba(X))


PARTS = write(free().fit(X, SPECIES))
FINITE = write(fixed().fit(X, SPECIES))


def with_constants(parts, content) -> bytes:
    """The file, with other constants in its model."""
    model = json.loads(parts["schema.json"])["content"]["content"]["model_"]
    model["content"]["content"]["free_constants"] = content
    return with_attribute("model_", nameless(model), parts)


def stored(parts, name):
    return json.loads(parts["schema.json"])["content"]["content"][name]


HOSTILE = {
    "missing": (with_constants(PARTS, value(None)), "biases have the wrong shape"),
    "text": (with_constants(PARTS, value("abc")), "biases have the wrong shape"),
    "a list": (with_constants(PARTS, value([0.0, 0.0, 0.0])), "biases have the wrong shape"),
    "a table": (with_constants(PARTS, stored(PARTS, "dual_coef_")), "biases have the wrong shape"),
    "whole numbers": (with_constants(PARTS, stored(PARTS, "classes_")), "biases have the wrong shape"),
    "of a finite variance": (with_constants(FINITE, value(1.0)), "biases that its model does not use"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_model_file_with_wrong_constants_is_refused(name, tmp_path):
    content, fragment = HOSTILE[name]
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError, match=fragment):
        load_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"criterion": "cv"}, "criterion='cv'"),
        ({"solver": "newton"}, "solver='newton'"),
        ({"operator": "tiled"}, "operator='tiled'"),
        ({"operator": "features", "kernel": "linear"}, "operator='features'"),
        ({"criterion": "loo", "learn_bias": True}, "learn_bias=True"),
    ],
    ids=lambda setting: str(setting),
)
def test_settings_that_need_a_finite_variance_are_refused(settings, named):
    with pytest.raises(ValueError, match=f"`bias_variance` is infinite, which {named} does not allow"):
        free(**settings).fit(X, NAMES)


@pytest.mark.parametrize("wrong", [np.nan, -np.inf, -1.0, "inf", None])
def test_bias_variance_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="`bias_variance` must be a non-negative number"):
        fixed(bias_variance=wrong).fit(X, NAMES)
