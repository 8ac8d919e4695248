"""The regressor against closed forms, against scikit-learn's, and against itself by other ways."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score

from logikern import KernelRegressor
from logikern.kernels import Gaussian, Linear, Matern52
from logikern.numerics.outcome import Outcome
from tests.estimators.numbers import TABLE, WEIGHTS, X_NEW, Y_NEW, X, Y, fixed

RATE, VARIANCE = 0.3, 7.0
TIGHT = {"exact": {}, "newton": {"tol": 1e-9}, "kcg": {"tol": 1e-10}}
every_solver = pytest.mark.parametrize("solver", TIGHT)
# Nothing is drawn to a constant, and nothing centred.
PLAIN = {"rate": RATE, "variance": VARIANCE, "bias_variance": 0.0}


def plain(solver="exact", **settings):
    return fixed(solver=solver, **{**PLAIN, **TIGHT[solver], **settings})


def relative(found, wanted):
    return np.abs(found - wanted).max() / np.abs(wanted).max()


@every_solver
@pytest.mark.parametrize("y", [Y, TABLE], ids=["one output", "three outputs"])
def test_predictions_are_those_of_kernel_ridge(solver, y):
    ridge = KernelRidge(alpha=1 / VARIANCE, kernel="rbf", gamma=RATE / 2).fit(X, y)
    assert relative(plain(solver).fit(X, y).predict(X_NEW), ridge.predict(X_NEW)) < 1e-6


@every_solver
def test_predictions_are_those_of_kernel_ridge_with_weights(solver):
    ridge = KernelRidge(alpha=1 / VARIANCE, kernel="rbf", gamma=RATE / 2).fit(X, Y, sample_weight=WEIGHTS)
    assert relative(plain(solver).fit(X, Y, WEIGHTS).predict(X_NEW), ridge.predict(X_NEW)) < 1e-6


@every_solver
def test_predictions_are_the_mean_of_a_gaussian_process(solver):
    noise = 11.0
    kernel = ConstantKernel(VARIANCE * noise, "fixed") * RBF(RATE**-0.5, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, Y)
    assert relative(plain(solver).fit(X, Y).predict(X_NEW), process.predict(X_NEW)) < 1e-6


def test_coefficients_are_those_of_kernel_ridge():
    ridge = KernelRidge(alpha=1 / VARIANCE, kernel="rbf", gamma=RATE / 2).fit(X, Y)
    np.testing.assert_allclose(plain().fit(X, Y).dual_coef_ * VARIANCE, ridge.dual_coef_, rtol=1e-8)


@pytest.mark.parametrize("bias_variance", [1.0, 16.0])
def test_constant_is_one_more_kernel_around_the_mean(bias_variance):
    matrix = VARIANCE * Gaussian(RATE)(X, X) + bias_variance
    new = VARIANCE * Gaussian(RATE)(X_NEW, X) + bias_variance
    wanted = Y.mean() + new @ np.linalg.solve(matrix + np.eye(len(X)), Y - Y.mean())
    np.testing.assert_allclose(plain(bias_variance=bias_variance).fit(X, Y).predict(X_NEW), wanted, rtol=1e-9)


def test_free_constant_is_that_of_a_bordered_system():
    matrix = VARIANCE * Gaussian(RATE)(X, X) + np.eye(len(X))
    bordered = np.block([[matrix, np.ones((len(X), 1))], [np.ones((1, len(X))), np.zeros((1, 1))]])
    solved = np.linalg.solve(bordered, np.append(Y, 0.0))
    wanted = VARIANCE * Gaussian(RATE)(X_NEW, X) @ solved[:-1] + solved[-1]
    found = plain(bias_variance=np.inf).fit(X, Y)
    np.testing.assert_allclose(found.predict(X_NEW), wanted, rtol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "kcg"])
@pytest.mark.parametrize("variance", [0.1, 10.0, 1e4])
def test_solvers_agree(solver, variance):
    settings = {"rate": 0.1, "variance": variance}
    wanted = fixed(solver="exact", **settings).fit(X, TABLE).predict(X_NEW)
    found = fixed(solver=solver, **settings, **TIGHT[solver]).fit(X, TABLE).predict(X_NEW)
    assert (np.abs(found - wanted).max(axis=0) / TABLE.std(axis=0)).max() < 1e-6


@pytest.mark.parametrize("solver", ["newton", "kcg"])
def test_solvers_agree_at_the_default_tolerance(solver):
    wanted, found = (fixed(solver=own).fit(X, Y).predict(X_NEW) for own in ("exact", solver))
    assert np.abs(found - wanted).max() / Y.std() < 1e-3


def test_kernel_gradient_ends_by_its_gap():
    model = fixed(solver="kcg", tol=1e-3).fit(X, Y)
    assert model.outcome_ is Outcome.CONVERGED and model.newton_trace_[-1].step < 100


@pytest.mark.parametrize("tying", ["shared", "scaled", "separate"])
@every_solver
def test_outputs_together_equal_each_alone(solver, tying):
    together = plain(solver, tying=tying, bias_variance=16.0).fit(X, TABLE).predict(X_NEW)
    for number, y in enumerate(TABLE.T):
        alone = plain(solver, bias_variance=16.0).fit(X, y).predict(X_NEW)
        assert np.abs(together[:, number] - alone).max() / y.std() < 1e-6


def refitted_errors(model, X, y):
    """Squared errors of each row from fits without it."""
    kept = np.arange(len(y))
    copies = (clone(model).fit(X[kept != row], y[kept != row]) for row in kept)
    predicted = np.stack([copy.predict(X[[row]])[0] for row, copy in zip(kept, copies, strict=True)])
    return np.square(predicted - y)


@pytest.mark.parametrize("y", [Y[:50], TABLE[:50]], ids=["one output", "three outputs"])
def test_leave_one_out_is_that_of_refitting(y):
    # So few evaluations that the search ends where it starts.
    tuned = KernelRegressor(**PLAIN, ard=False, max_time=1e-9, random_state=0)
    with pytest.warns(UserWarning, match="time limit was reached"):
        tuned.fit(X[:50], y)
    scale = np.sqrt(np.square(y).mean(axis=0))
    expected = (refitted_errors(plain(), X[:50], y) / scale**2).mean()
    # What the criterion adds to the noise is 1e-8 of the variance.
    assert tuned.held_out_error_ == pytest.approx(expected + 1e-8, rel=1e-8)
    assert tuned.held_out_rmse_ == pytest.approx(np.atleast_1d(scale * np.sqrt(expected)), rel=1e-4)


def test_folds_in_closed_form_are_those_that_are_fitted():
    settings = {**PLAIN, "ard": False, "max_time": 1e-9, "random_state": 0, "cv": 4}
    with pytest.warns(UserWarning, match="time limit was reached"):
        closed, fitted = (KernelRegressor(criterion=own, tol=1e-10, **settings).fit(X, Y) for own in ("loo", "cv"))
    assert closed.held_out_error_ == pytest.approx(fitted.held_out_error_, rel=1e-6)


def test_leave_one_out_refuses_folds_that_overlap():
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60), np.arange(60, 120))]
    with pytest.raises(ValueError, match="each row is held out exactly once"):
        KernelRegressor(cv=splits).fit(X, Y)


@pytest.mark.parametrize("criterion", ["loo", "cv"])
def test_learned_beats_the_start(criterion):
    learned = KernelRegressor(criterion=criterion, random_state=0).fit(X, Y)
    assert learned.score(X_NEW, Y_NEW) > fixed().fit(X, Y).score(X_NEW, Y_NEW) + 0.02
    assert learned.criterion_value_ == pytest.approx(0.5 * np.log(learned.held_out_error_))


def test_inputs_that_matter_are_found():
    random = np.random.default_rng(0)
    points = random.standard_normal((150, 5))
    y = np.sin(2 * points[:, 0]) + 0.05 * random.standard_normal(150)
    model = KernelRegressor(random_state=0).fit(points, y)
    rates = np.array(model.kernels_[0].rate)
    assert rates[0] > 20 * rates[1:].max()
    assert "rate per column" in model.explain() and "of the variance is explained" in model.explain()


def test_noise_is_not_learned():
    random = np.random.default_rng(1)
    points, y = random.standard_normal((150, 5)), random.standard_normal(150)
    model = KernelRegressor(random_state=0).fit(points, y)
    assert model.predict(random.standard_normal((200, 5))).std() < 0.35
    assert model.held_out_error_ > 0.9


@pytest.mark.parametrize("scale, shift", [(1e-12, 0.0), (1e-200, 0.0), (1e9, 0.0), (1.0, 1e6), (-3.0, 40.0)])
def test_units_of_the_targets_do_not_matter(scale, shift):
    wanted = KernelRegressor(random_state=0).fit(X, Y).predict(X_NEW)
    found = KernelRegressor(random_state=0).fit(X, scale * Y + shift).predict(X_NEW)
    np.testing.assert_allclose((found - shift) / scale, wanted, rtol=1e-4)


def test_constant_targets_are_met():
    np.testing.assert_allclose(KernelRegressor().fit(X, np.full(len(X), 7.3)).predict(X_NEW), 7.3, rtol=1e-9)


def test_shapes_follow_the_targets():
    assert fixed().fit(X, Y).predict(X_NEW).shape == (len(X_NEW),)
    assert fixed().fit(X, TABLE).predict(X_NEW).shape == (len(X_NEW), 3)
    assert fixed().fit(X, TABLE[:, :1]).predict(X_NEW).shape == (len(X_NEW), 1)
    assert fixed().fit(X, TABLE).dual_coef_.shape == (len(X), 3)
    assert fixed().fit(X, Y).dual_coef_.shape == (len(X),)


def test_score_is_that_of_predictions():
    model = fixed().fit(X, TABLE)
    assert model.score(X, TABLE) == pytest.approx(r2_score(TABLE, model.predict(X)))


def test_rows_without_weight_change_nothing():
    weights = (np.arange(len(Y)) % 3 > 0) * 1.0
    kept = weights > 0
    found = KernelRegressor(random_state=0).fit(X, np.where(kept, Y, 1e6), weights)
    wanted = KernelRegressor(random_state=0).fit(X[kept], Y[kept])
    np.testing.assert_allclose(found.predict(X_NEW), wanted.predict(X_NEW), rtol=1e-10)
    assert (found.dual_coef_[~kept] == 0).all()


def test_groups_are_left_out_together():
    # Copies of rows give the answer away unless they go together.
    twice, targets = np.repeat(X[:60], 2, axis=0), np.repeat(Y[:60], 2)
    settings = {"ard": False, "random_state": 0}
    alone = KernelRegressor(**settings).fit(twice, targets)
    grouped = KernelRegressor(**settings).fit(twice, targets, groups=np.repeat(np.arange(60), 2))
    assert alone.held_out_error_ < 0.3 < grouped.held_out_error_


def test_kernel_objects_and_matrices_are_taken():
    kernel = Matern52(0.3) + 0.5 * Linear()
    wanted = fixed(kernel, variance=3.0).fit(X, Y).predict(X_NEW)
    given = fixed("precomputed", variance=3.0).fit(kernel(X, X), Y).predict(kernel(X_NEW, X))
    np.testing.assert_allclose(given, wanted, rtol=1e-6)


def test_sparse_inputs_equal_dense_ones():
    found = KernelRegressor(random_state=0).fit(sparse.csr_matrix(X), Y).predict(sparse.csr_matrix(X_NEW))
    np.testing.assert_allclose(found, KernelRegressor(random_state=0).fit(X, Y).predict(X_NEW), rtol=1e-4)


def test_names_of_outputs_are_in_the_frame():
    model = fixed(tying="scaled").fit(X, pd.DataFrame(TABLE, columns=["one", "two", "three"]))
    assert model.hyperparameters_["outputs"].tolist() == ["all", "one", "two", "three", "all"]
    assert model.hyperparameters_.columns.tolist() == ["name", "outputs", "value", "start"]


def test_search_on_some_rows_is_enough():
    random = np.random.default_rng(0)
    points = random.uniform(-3, 3, (600, 2))
    y = np.sin(points[:, 0]) * points[:, 1] + 0.1 * random.standard_normal(600)
    model = KernelRegressor(search_size=150, ard=False, random_state=0).fit(points[:400], y[:400])
    assert {record.n_points for record in model.trace_} <= {75, 150}
    assert model.score(points[400:], y[400:]) > 0.98


@pytest.mark.parametrize(
    "settings, fragment",
    [
        ({"criterion": "auto"}, "`criterion` must be 'loo', 'cv' or None"),
        ({"solver": "smo"}, "`solver` must be one of"),
        ({"variance": -1.0}, "`variance` must be a positive number"),
        ({"variance": [1.0, 2.0]}, "`variance` must be one number, or one number for each variance"),
        ({"cv": 1}, "`cv` must be at least 2 folds"),
        ({"bias_variance": np.inf, "solver": "kcg"}, "`bias_variance` is infinite"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, fragment):
    with pytest.raises(ValueError, match=fragment):
        KernelRegressor(**settings).fit(X, Y)


@pytest.mark.parametrize(
    "y, fragment",
    [
        (np.full(len(X), np.inf), "infinity"),
        (np.full(len(X), 1e200), "magnitudes above 1e"),
        (["a"] * len(X), "must hold numbers"),
        (np.where(np.arange(len(X)) == 3, np.nan, Y), "None, NaN or NA in row 3. Drop"),
        (pd.Series(Y).mask(Y > 200).astype("Float64"), "None, NaN or NA in rows"),
    ],
)
def test_targets_that_are_no_numbers_are_refused(y, fragment):
    with pytest.raises(ValueError, match=fragment):
        fixed().fit(X, y)
