"""What is special to pairwise ascent: the dual, its gap, one pair, and what may be left out on the way."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from logikern.fitting.iteration import Budget
from logikern.fitting.pairwise import joint_rows
from logikern.fitting.pairwise import loops as dual_pairs
from logikern.fitting.pairwise.policy import PairwisePolicy
from logikern.fitting.pairwise.solver import Smo
from logikern.fitting.pairwise.state import at_dual
from logikern.fitting.pairwise.sweeps import SweepState
from logikern.fitting.problem import Problem
from logikern.kernels import Gaussian
from logikern.likelihoods.coarse import CoarseSoftmax
from logikern.numerics.outcome import Outcome
from logikern.structure.hierarchy import read_tree
from tests.fitting import catalogue

# The dual is that of the exact solver to 1e-6 when the gradient is this small.
FINE = Smo(tolerance=1e-9, budget=Budget(newton=3000))
SOME = ("shared", "separate", "weighted distributions", "heavy weights", "large variance", "many classes")
TREES = ("balanced tree, shared", "ragged tree, separate", "weightings of a tree", "combinations")


@cache
def build(name):
    return catalogue.BY_NAME[name].build()


def random_state(problem, member=0, seed=0):
    """Any shares, with the latents of their dual."""
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.ones(len(problem.targets)), problem.targets.shape[1]).T
    state = at_dual(problem, member, problem.weights[member] * (problem.targets - shares))
    state.latent[:] = problem.covariance.matmul(state.dual[None])[0]
    return state


# --- the dual and its gap ---


@pytest.mark.parametrize("name", SOME + TREES)
def test_gap_is_penalised_loss_minus_lower_bound(name):
    problem = build(name)
    dense = catalogue.dense_covariance(problem)
    for member in range(len(problem.weights)):
        state = random_state(problem, member)
        loss = catalogue.penalised_loss(problem, dense, state.dual.ravel(), member)
        assert state.gaps().sum() == pytest.approx(loss + state.value(), rel=1e-9)


@pytest.mark.parametrize("name", SOME + TREES)
def test_gap_of_no_point_is_negative(name):
    assert (random_state(build(name)).gaps() >= 0).all()


def test_small_gaps_keep_their_digits():
    # Half the weighted squares of the differences, where values of the two sides agree in all digits.
    problem = build("shared")
    state = random_state(problem)
    state.latent[:] = state.log_shares
    state.latent[0] += 1e-9
    shares = np.exp(state.log_shares[0])
    np.testing.assert_allclose(state.gaps(), 0.5e-18 * shares * (1 - shares), rtol=1e-5)


def duality_gap(problem, dual, latent):
    """Penalised loss minus its lower bound from the dual, of each weighting, (B,); dual and latent (B, C, n)."""
    states = [at_dual(problem, member, own) for member, own in enumerate(dual)]
    for state, own in zip(states, latent, strict=True):
        state.latent[:] = own
    return np.array([state.gaps().sum() for state in states])


@pytest.mark.parametrize("name", SOME + TREES)
def test_gap_closes(name):
    problem = build(name)
    result = Smo(tolerance=1e-6, gap=1e-6, budget=Budget(newton=3000)).fit(problem)
    assert result.outcome is Outcome.CONVERGED
    gap = duality_gap(problem, result.dual, problem.covariance.matmul(result.dual))
    assert gap.sum() <= 1e-6 * max(1.0, result.trace[-1].loss)


def test_gap_alone_keeps_a_fit_going():
    problem = build("shared")
    rough, fine = (Smo(tolerance=0.1, gap=gap).fit(problem) for gap in (1e3, 1e-9))
    assert rough.trace[-1].step < fine.trace[-1].step


@pytest.mark.parametrize("name", SOME + TREES)
def test_lower_bound_never_falls(name):
    problem = build(name)
    with np.errstate(all="ignore"):
        own = SweepState(at_dual(problem, 0, np.zeros(problem.shape[1:])), problem.dtype)
        rows = joint_rows.joint_rows(problem.covariance, 1e6)
        values = []
        for seed in range(30):
            own.measure()
            own.sweep(rows, np.random.default_rng(seed).permutation(own.active_points()))
            values.append(own.state.value())
    assert (np.diff(values) <= 1e-10 * np.abs(values[0])).all()


# --- one pair ---

LOG_SHARES = {
    "half and half": (np.log(0.5), np.log(0.5)),
    "a target of one": (-1000.0, 0.0),
    "a target of zero": (0.0, -1000.0),
    "both nothing": (-1000.0, -1000.0),
    "tiny and tinier": (-300.0, -320.0),
    "nearly one": (np.log1p(-1e-12), np.log(1e-12)),
}


@pytest.mark.parametrize("difference", [-1e5, -3.0, 0.0, 1e-9, 40.0, 1e5])
@pytest.mark.parametrize("stiffness", [0.0, 1e-12, 1.0, 1e4, 1e10, 1e150])
@pytest.mark.parametrize("shares", LOG_SHARES)
def test_pair_is_solved(shares, stiffness, difference):
    first, second = LOG_SHARES[shares]
    log_sum = np.logaddexp(first, second)
    new_first, new_second, mass = dual_pairs.solve_pair(first, second, stiffness, difference)
    assert np.logaddexp(new_first, new_second) == pytest.approx(log_sum, abs=1e-12)
    gain, right = stiffness * np.exp(log_sum), difference + stiffness * np.exp(first)
    x = new_first - new_second
    # Logarithms are rounded at their own size, and the equation as much more as it is steep.
    rounding = 1e-15 * (1.0 + abs(new_first) + abs(new_second)) * (1.0 + gain * expit(x) * expit(-x))
    assert x + gain * expit(x) == pytest.approx(right, rel=1e-12, abs=rounding)
    assert mass == pytest.approx(np.exp(new_first) - np.exp(first), abs=1e-15)


@pytest.mark.parametrize("gain, right", [(1e-3, -7.0), (5.0, 2.0), (1e6, 3.0), (1e12, 4e11), (1e300, 0.3)])
@pytest.mark.parametrize("start", [-1e3, -5.0, 0.0, 50.0])
def test_newton_in_one_variable_agrees_with_bisection(gain, right, start):
    expected = brentq(lambda x: x + gain * expit(x) - right, max(right - gain, -1e4), 0.0, xtol=1e-13)
    assert dual_pairs.log_odds(gain, right, start) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["shared", "separate", "ragged tree, separate", "weighted distributions"])
def test_pair_is_the_lowest_point_of_its_line(name):
    # Memisevic (2006), eq. (5), by dense algebra: this is what decides about the constants of eq. (9).
    problem = build(name)
    dense, point = catalogue.dense_covariance(problem), 7
    state = random_state(problem)
    n_classes, n = problem.targets.shape
    weight = problem.weights[0, point]
    places = np.arange(n_classes) * n + point
    own = dense[np.ix_(places, places)]
    stiffness = weight * (own[0, 0] + own[1, 1] - 2 * own[0, 1])
    difference = state.latent[0, point] - state.latent[1, point]
    shares = state.log_shares[:2, point]
    _, _, mass = dual_pairs.solve_pair(*shares, stiffness, difference)

    def value(moved):
        dual, own_shares = state.dual.copy(), np.exp(state.log_shares)
        own_shares[0, point] += moved
        own_shares[1, point] -= moved
        dual[:, point] = weight * (problem.targets - own_shares)[:, point]
        entropy = problem.weights[0] @ (own_shares * np.log(own_shares)).sum(axis=0)
        return 0.5 * dual.ravel() @ dense @ dual.ravel() + entropy

    room = np.exp(shares.min())
    step = 1e-3 * min(room, np.exp(shares[0]) + mass, np.exp(shares[1]) - mass)
    slope = (value(mass + step) - value(mass - step)) / (2 * step)
    assert slope == pytest.approx(0.0, abs=1e-5 * max(1.0, stiffness))


def test_compiled_loops_do_what_they_say():
    generator = np.random.default_rng(0)
    points = generator.standard_normal((6, 2))
    kernels = np.stack([Gaussian(0.5)(points, points), np.ones((6, 6))])
    couplings = np.stack([np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]]), np.eye(3)])
    log_shares = np.log(generator.dirichlet(np.ones(3), 6))
    weights = generator.uniform(0.5, 2.0, 6)
    results = []
    latent = generator.standard_normal((6, 3))
    for solve in (dual_pairs.solve_block, dual_pairs.compiled()):
        own = [log_shares.copy(), np.zeros((6, 3)), latent.copy()]
        solve(kernels, couplings, *own, weights, 5)
        results.append(own)
    for plain, fast in zip(*results, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=1e-10, atol=1e-12)


# --- what may be left out ---


def larger(operator="tiled", dtype=np.float64, n=700, **options):
    """More points than a block holds."""
    X = np.random.default_rng(0).standard_normal((n, 2))
    bend = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * np.random.default_rng(1).standard_normal(n)
    targets = np.eye(3)[:, np.digitize(bend, [-0.5, 0.7])]
    return catalogue.make_problem(Gaussian(2.0), X, targets, operator=operator, dtype=dtype, **options)


@cache
def larger_optimum():
    return catalogue.EXACT.fit(larger("dense"))


@pytest.mark.parametrize("shrinking", [True, False])
def test_shrinking_does_not_change_the_optimum(shrinking):
    result = Smo(tolerance=1e-8, shrinking=shrinking).fit(larger())
    np.testing.assert_allclose(result.dual, larger_optimum().dual, atol=1e-6)


def test_shrinking_saves_rows():
    problem = larger(variances=30.0)
    shrunk, whole = (Smo(shrinking=shrinking).fit(problem) for shrinking in (True, False))
    assert shrunk.n_products < whole.n_products


@pytest.mark.parametrize("memory", [0.0, 8.0 * 700 * 10, 1e9], ids=["nothing", "ten rows", "everything"])
def test_cache_does_not_change_the_optimum(memory):
    result = Smo(tolerance=1e-8, memory=memory).fit(larger())
    np.testing.assert_allclose(result.dual, larger_optimum().dual, atol=1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_order_of_points_does_not_change_the_optimum(seed):
    result = Smo(tolerance=1e-8, seed=seed).fit(larger())
    np.testing.assert_allclose(result.dual, larger_optimum().dual, atol=1e-6)


def test_single_precision_rows_reach_a_gradient_below_their_rounding():
    # What rows are rounded by is as small as the changes that are passed on through them.
    problem = larger(dtype=np.float32, variances=100.0)
    result = Smo(tolerance=1e-7).fit(problem)
    assert result.outcome is Outcome.CONVERGED


def test_memory_is_that_of_rows_not_of_the_matrix():
    n = 4000
    problem = larger(n=n, variances=0.1)
    Smo(budget=Budget(newton=1)).fit(larger())  # compiled before it counts
    tracemalloc.start()
    Smo(memory=1e6, budget=Budget(newton=2)).fit(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * 8 * n**2


# --- going on ---


def some_points(problem, n):
    """The same problem on its first points."""
    X = problem.covariance.operators[0].X[:n]
    return catalogue.make_problem(Gaussian(2.0), X, problem.targets[:, :n], problem.weights[:, :n], operator="tiled")


def with_new_points(dual, n):
    return np.concatenate([dual, np.zeros((*dual.shape[:2], n - dual.shape[2]))], axis=2)


def test_points_may_be_added():
    whole, solver = larger(), Smo(tolerance=1e-8)
    dual = np.zeros((1, 3, 0))
    for n in (100, 250, 400, 700):
        dual = solver.resume(some_points(whole, n), with_new_points(dual, n)).dual
    np.testing.assert_allclose(dual, larger_optimum().dual, atol=1e-6)


def test_a_new_point_costs_less_than_a_new_start():
    whole = larger()
    dual = Smo().fit(some_points(whole, 699)).dual
    assert Smo().resume(whole, with_new_points(dual, 700)).n_products < Smo().fit(whole).n_products


def test_nothing_is_left_to_do_at_the_optimum():
    result = Smo().resume(larger(), larger_optimum().dual)
    assert result.trace[-1].step == 0 and result.outcome is Outcome.CONVERGED


def test_a_dual_of_another_kernel_is_shortened_first():
    # Latents a thousand times too large: without a shorter dual the first sweeps would undo it point by point.
    problem, astray = larger(), larger_optimum().dual
    loud = catalogue.make_problem(
        Gaussian(2.0), problem.covariance.operators[0].X, problem.targets, variances=2000.0, operator="tiled"
    )
    result = Smo(budget=Budget(newton=0)).resume(loud, astray)
    state = at_dual(loud, 0, result.dual[0])
    state.latent[:] = result.latent[0]
    # No dual at all has the value zero.
    assert state.value() < 0.0


# --- what is refused ---


def test_labels_of_inner_nodes_are_refused():
    problem = build("shared")
    tree = read_tree(["p/a", "p/b", "c"])
    targets = np.full((len(tree.labels), problem.shape[2]), 1.0 / len(tree.labels))
    coarse = Problem(problem.covariance, CoarseSoftmax(tree), targets, problem.weights)
    with pytest.raises(ValueError, match="labels or distributions over the classes themselves"):
        Smo().fit(coarse)


def test_couplings_beyond_memory_are_refused():
    with pytest.raises(ValueError, match="a coupling for every pair of classes"):
        Smo(policy=PairwisePolicy(most_couplings=10)).fit(build("many classes"))


def test_free_bias_is_refused():
    problem = catalogue.make_problem(
        Gaussian(0.7), catalogue.kernels.table(), catalogue.labels(), bias_variance=np.inf
    )
    with pytest.raises(ValueError, match="finite for solver='smo'"):
        Smo().fit(problem)
