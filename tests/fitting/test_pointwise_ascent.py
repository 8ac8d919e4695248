"""What is special to ascent point by point: one point against dense algebra, the dual, and who takes over."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse, special

from logikern import KernelLogisticClassifier
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import Folds
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.pairwise.state import at_dual
from logikern.fitting.pointwise import loops as dual_points
from logikern.fitting.pointwise import schedule
from logikern.fitting.pointwise import solver as ascent_module
from logikern.fitting.pointwise.schedule import POLICY, PointwisePolicy, is_supported, is_worthwhile, point_features
from logikern.fitting.pointwise.solver import PointwiseAscent
from logikern.fitting.problem import InterruptedFitError
from logikern.kernels import Gaussian, Linear
from logikern.numerics.outcome import Outcome
from tests.fitting import catalogue
from tests.fitting.texts import CREEPING, N_POINTS, N_WORDS, PROBLEMS, build, make, optimum, texts, texts_repeated
from tests.likelihoods.poisson import Poisson
from tests.structure.trees import TREES

PLAIN = PointwisePolicy(relaxation=1.0)
FINE = PointwiseAscent(tolerance=1e-9, budget=Budget(newton=500))


# --- the optimum ---


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_ends_where_the_exact_solver_does(name):
    result = FINE.fit(build(name))
    assert result.outcome is Outcome.CONVERGED
    scale = np.maximum(1.0, np.abs(optimum(name).latent).max())
    np.testing.assert_allclose(result.dual, optimum(name).dual, atol=1e-6)
    np.testing.assert_allclose(result.latent, optimum(name).latent, atol=1e-6 * scale)


@pytest.mark.parametrize("name", ["flat", "weightings", "without siblings"])
def test_it_ends_there_from_other_latents(name):
    problem = build(name)
    start = optimum(name).latent + np.random.default_rng(0).standard_normal(problem.shape)
    np.testing.assert_allclose(FINE.fit(problem, start).dual, optimum(name).dual, atol=1e-6)


def test_from_its_own_latents_it_has_nothing_to_do():
    assert PointwiseAscent(1e-6).fit(build("chain"), optimum("chain").latent).trace[-1].step == 0


@pytest.mark.parametrize("name", ["balanced", "chain", "variances of classes"])
def test_single_precision_comes_close(name):
    problem = build(name)
    targets, weights = problem.targets.astype(np.float32), problem.weights.astype(np.float32)
    result = PointwiseAscent(1e-4).fit(replace(problem, targets=targets, weights=weights))
    assert result.outcome is Outcome.CONVERGED
    assert result.dual.dtype == np.float32
    np.testing.assert_allclose(result.dual, optimum(name).dual, atol=1e-3)


def test_no_round_without_relaxation_raises_the_dual():
    # Shares are a distribution at every point after every round, so that the dual has a value.
    problem = make(TREES["chain"], variances=100.0)
    shares_at = []

    def value_of(budget):
        dual = PointwiseAscent(1e-9, Budget(newton=budget), policy=PLAIN).fit(problem).dual[0]
        state = at_dual(problem, 0, dual)
        state.latent[:] = problem.covariance.matmul(dual[None])[0]
        shares_at.append(problem.targets - dual)
        return state.value()

    values = [value_of(budget) for budget in range(1, 12)]
    assert np.diff(values).max() <= 1e-9 * abs(values[-1])
    assert values[0] > values[-1] + 1e-6
    for shares in shares_at:
        assert shares.min() > -1e-6
        np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=1e-12)


def test_relaxation_ends_sooner_where_points_creep():
    problem, few = make(TREES["chain"], variances=100.0), PointwiseAscent(1e-6, Budget(newton=200))
    relaxed = few.fit(problem).trace[-1].step
    assert relaxed < 0.7 * replace(few, policy=PLAIN).fit(problem).trace[-1].step


def test_equal_points_of_different_classes_are_one_point(monkeypatch):
    # One at a time each would undo what the others have done.
    problem = make(TREES["balanced"], variances=10.0, X=texts_repeated())
    ascent = PointwiseAscent(1e-6, Budget(newton=300))
    together = ascent.fit(problem)
    monkeypatch.setattr(ascent_module, "equal_points", lambda covariance: np.arange(N_POINTS))
    assert together.trace[-1].step < 0.5 * ascent.fit(problem).trace[-1].step
    equal = together.dual[0][:, ::10] - problem.targets[:, ::10]
    np.testing.assert_allclose(equal, np.repeat(equal[:, :1], equal.shape[1], axis=1), atol=1e-12)


def test_latents_of_a_smaller_variance_do_not_lead_astray():
    # Shares that are nearly right are far from it for latents of a variance in the thousands.
    smaller, larger = (make(TREES["balanced"], variances=variance) for variance in (30.0, 3000.0))
    result = PointwiseAscent(1e-3, Budget(newton=500)).fit(larger, FINE.fit(smaller).latent)
    losses = [step.loss for step in result.trace]
    assert max(losses[1:]) < losses[0]


def test_classes_that_can_be_told_apart_are_no_work_at_any_variance():
    # A share that is off by a thousandth is felt by the latents times the variance.
    random = np.random.default_rng(0)
    X = sparse.csr_array(sparse.random(N_POINTS, 200, 0.1, random_state=random))
    result = PointwiseAscent(1e-4).fit(make(TREES["balanced"], variances=1e7, X=X))
    assert result.outcome is Outcome.CONVERGED
    assert result.trace[-1].step <= 10
    losses = [step.loss for step in result.trace]
    assert max(losses[1:]) < 0.1 * losses[0]


def test_two_fits_are_the_same_but_for_rounding():
    first, second = (PointwiseAscent(1e-3).fit(build("weightings")) for _ in range(2))
    np.testing.assert_allclose(first.dual, second.dual, atol=1e-10)  # far below the tolerance


# --- one point ---


def rows_of_tree(name, bias):
    tree = TREES[name]
    problem = make(tree, variances=np.arange(1.0, 1.0 + tree.n_latent), bias_variance=bias)
    return point_features(problem.covariance), problem


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("scale", [0.0, 0.7, 1e6])
def test_step_solves_the_system_of_one_point(name, scale):
    rows, problem = rows_of_tree(name, 2.0)
    mixing, n_classes = problem.covariance.mixing, problem.shape[1]
    parts = mixing.forward(np.eye(mixing.n_latent))
    covariance = scale * (parts * problem.covariance.variances) @ parts.T + 2.0 * np.eye(n_classes)
    random = np.random.default_rng(0)
    p, q = random.dirichlet(np.ones(n_classes), 2)
    step, image = np.empty(n_classes), np.empty(n_classes)
    dual_points.find_step(p, q - p, scale, 2.0, rows, step, image, np.empty((3, len(rows.uppers))))
    curvature = np.diag(p) - np.outer(p, p)
    wanted = np.linalg.solve(np.eye(n_classes) + curvature @ covariance, q - p)
    np.testing.assert_allclose(step, wanted, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(image, covariance @ step, rtol=1e-6, atol=1e-7)
    assert abs(step.sum()) < 1e-12


@pytest.mark.parametrize("name", TREES)
def test_coupling_is_that_of_the_mixing(name):
    rows, problem = rows_of_tree(name, 2.0)
    vector = np.random.default_rng(0).standard_normal(problem.shape[1])
    wanted = problem.covariance.mixing.couple(vector[:, None], problem.covariance.variances)[:, 0]
    dual_points.couple(vector, rows, np.empty(len(rows.uppers)))
    np.testing.assert_allclose(vector, wanted)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e5])
def test_softmax_is_that_of_scipy(scale):
    latent = scale * np.random.default_rng(0).standard_normal(31)
    latent[7] = latent[8]
    probabilities = np.empty(31)
    total = dual_points.soft_maximum(latent, probabilities, np.empty(31))
    np.testing.assert_allclose(total, special.logsumexp(latent), rtol=1e-14)
    np.testing.assert_allclose(probabilities, special.softmax(latent), rtol=1e-13, atol=1e-300)


def test_compiled_loops_do_what_they_say():
    rows, problem = rows_of_tree("chain", 1.0)
    n_classes = problem.shape[1]
    points = np.arange(0, N_POINTS, 2)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(points))
    results = []
    for visit in (dual_points.visit_points, dual_points.compiled()):
        shares = np.ascontiguousarray(problem.targets[:, points].T)
        weighed, total = np.zeros((N_WORDS, n_classes)), np.zeros(n_classes)
        residuals = np.empty(len(points))
        for _ in range(2):
            visit(np.arange(len(points)), points, rows, weights, shares, weighed, total, 1e-3, residuals, 1.3)
        results.append((shares, weighed, total, residuals))
    for plain, fast in zip(*results, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=1e-9, atol=1e-11)
    # What is carried along is what the shares say.
    shares, weighed, total, _ = results[1]
    dual = (problem.targets[:, points].T - shares) * weights[:, None]
    np.testing.assert_allclose(weighed, texts()[points].T @ dual, atol=1e-12)
    np.testing.assert_allclose(total, dual.sum(axis=0), atol=1e-12)


def test_points_that_are_settled_are_left_alone():
    rows, problem = rows_of_tree("balanced", 1.0)
    shares = np.ascontiguousarray(problem.targets.T)
    weighed, total = np.zeros((N_WORDS, 4)), np.zeros(4)
    residuals = np.empty(N_POINTS)
    everyone = np.arange(N_POINTS)
    dual_points.visit_points(everyone, everyone, rows, np.ones(N_POINTS), shares, weighed, total, 1.0, residuals, 1.0)
    np.testing.assert_array_equal(shares, problem.targets.T)
    np.testing.assert_allclose(residuals, 0.75)  # of the class of each, at latents of zero


# --- who takes over, and what it refuses ---


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setitem(vars(POLICY), "worthwhile_from", 0)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.usefixtures("everything_is_large")
def test_newton_goes_on_where_it_was_too_slow(monkeypatch, rounds):
    monkeypatch.setitem(vars(POLICY), "rounds", rounds)
    problem = build("weightings")
    result = Newton(tolerance=1e-9).fit(problem)
    assert result.outcome is Outcome.CONVERGED
    np.testing.assert_allclose(result.dual, optimum("weightings").dual, atol=1e-6)
    assert [step.step for step in result.trace] == list(range(len(result.trace)))
    assert np.all(np.diff([step.products for step in result.trace]) >= 0)


@pytest.mark.parametrize("name", CREEPING)
@pytest.mark.usefixtures("everything_is_large")
def test_newton_goes_on_where_it_creeps(name):
    problem = build(name)
    assert PointwiseAscent(1e-9, Budget(newton=500)).fit(problem).trace[-1].step < 150  # far from 500 rounds
    result = Newton(tolerance=1e-9).fit(problem)
    assert result.outcome is Outcome.CONVERGED
    np.testing.assert_allclose(result.dual, optimum(name).dual, atol=1e-6)


@pytest.mark.usefixtures("everything_is_large")
def test_rounds_are_no_more_than_steps_are_allowed():
    result = Newton(tolerance=1e-9, budget=Budget(newton=2)).fit(build("chain"))
    assert result.outcome is Outcome.OUT_OF_STEPS
    assert len(result.trace) == 3  # two rounds, and where they began


@pytest.mark.usefixtures("everything_is_large")
def test_products_that_are_used_up_are_not_given_again():
    result = Newton(tolerance=1e-9, budget=Budget(products=4)).fit(build("chain"))
    assert result.outcome is Outcome.OUT_OF_PRODUCTS
    assert result.trace[-1].step == 1


@pytest.mark.usefixtures("everything_is_large")
def test_interruption_after_the_rounds_keeps_them(monkeypatch):
    monkeypatch.setitem(vars(POLICY), "rounds", 3)
    seen = []

    def interrupt(step):
        seen.append(step)
        if len(seen) == 6:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedFitError) as caught:
        Newton(tolerance=1e-9).fit(build("chain"), callback=interrupt)
    assert [step.step for step in caught.value.result.trace] == list(range(6))


def test_many_words_for_few_points_are_left_to_newton():
    large = PointwisePolicy(worthwhile_from=0)
    assert is_worthwhile(build("chain"), large)
    few_features = replace(large, most_features=0.5 * N_WORDS / N_POINTS)
    assert is_worthwhile(build("chain"), few_features)  # the sums are small
    assert not is_worthwhile(build("chain"), replace(few_features, few_sums=N_WORDS))


def test_equal_points_are_known_whatever_the_order_of_their_words():
    X = sparse.csr_array(np.random.default_rng(0).standard_normal((3, 7)))
    X.indices[7:14], X.data[7:14] = X.indices[:7][::-1], X.data[:7][::-1]
    X.has_sorted_indices = False
    covariance = SimpleNamespace(operators=(SimpleNamespace(features=X),))
    numbers = schedule.equal_points(covariance)
    assert numbers[0] == numbers[1] != numbers[2]


@pytest.mark.usefixtures("everything_is_large")
def test_newton_ends_without_a_system_where_it_was_not():
    def no_systems(covariance):
        return lambda curvature, members: pytest.fail("a system was built")

    solver = Newton(tolerance=1e-6)
    object.__setattr__(solver, "systems", no_systems)
    assert solver.fit(build("chain")).outcome is Outcome.CONVERGED


def test_small_problems_are_left_to_newton(monkeypatch):
    monkeypatch.setattr(PointwiseAscent, "fit", lambda *_: pytest.fail("visited point by point"))
    assert Newton().fit(build("flat")).outcome is Outcome.CONVERGED


def test_interruption_keeps_where_it_stands():
    def stop(step):
        if step.step == 2:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedFitError) as caught:
        FINE.fit(build("chain"), callback=stop)
    result = caught.value.result
    assert result.dual.any()
    assert result.outcome is Outcome.INTERRUPTED
    assert len(result.trace) == 3


def test_what_it_cannot_do_is_refused():
    dense = catalogue.make_problem(Gaussian(1.0), texts().toarray(), catalogue.labels(N_POINTS))
    counts = replace(build("flat"), likelihood=Poisson())
    for problem in (dense, counts, make(bias_variance=np.inf)):
        assert not is_supported(problem)
        with pytest.raises(ValueError, match="sparse features"):
            PointwiseAscent().fit(problem)


# --- beyond one fit ---


def test_probabilities_of_an_estimator_are_those_of_newton(monkeypatch):
    random = np.random.default_rng(0)
    X, y = texts(200), random.integers(0, 5, 200).astype(str)
    paths = np.array([f"{int(label) // 2}/{label}" for label in y])
    settings = {"criterion": None, "variance": 20.0, "solver": "newton", "operator": "features", "tol": 1e-7}
    model = KernelLogisticClassifier(Linear(), hierarchy="paths", **settings)
    plain = model.fit(X, paths).predict_proba(X)
    monkeypatch.setitem(vars(POLICY), "worthwhile_from", 0)
    rounds = model.fit(X, paths)
    assert rounds.newton_trace_[0].products == 0
    np.testing.assert_allclose(rounds.predict_proba(X), plain, atol=1e-6)


def test_criterion_and_its_gradient_are_those_of_newton(monkeypatch):
    problem = build("balanced")
    held_out = np.stack([np.arange(N_POINTS) % 3 == fold for fold in range(3)]).astype(float)
    folds = Folds(1.0 - held_out, held_out)
    criterion = CrossValidation(problem.likelihood, problem.targets, folds, Newton(tolerance=1e-8))
    plain = criterion.evaluate(problem.covariance, None, 1e-8)
    monkeypatch.setitem(vars(POLICY), "worthwhile_from", 0)
    for start in (None, plain.state):
        own = criterion.evaluate(problem.covariance, start, 1e-8)
        assert own.value == pytest.approx(plain.value, abs=1e-8)
        np.testing.assert_allclose(own.gradient.variances, plain.gradient.variances, atol=1e-6)
