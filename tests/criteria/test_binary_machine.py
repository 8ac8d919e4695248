"""Two classes with an unpenalised bias are the machine of Cawley & Talbot (2008), written out here from the paper."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from logikern.criteria.leave_one_out.expansion import ExactExpansion
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.free_bias import FreeBias
from logikern.fitting.problem import Problem
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Outcome
from logikern.operators.choose import Choice
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie

N = 60


def sample():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((N, 3))
    return X, (X[:, 0] + 0.7 * generator.standard_normal(N) > 0.4).astype(int)


def problem(variances=(3.0,), tying="shared", n=N):
    X, y = sample()
    own = Specification((Gaussian(0.5),), variances, np.inf, tie(tying, Flat(2)), Flat(2))
    covariance = own.bind(Choice("dense", np.dtype(float), "", 1e8).points(X[:n]))
    return Problem(covariance, Softmax(), from_labels(y[:n], 2), np.ones((1, n)))


@dataclass
class Machine:
    """IRWLS of eq. (13), and eq. (20) with the diagonal of C^-1; the loss has the factor gamma of eq. (3)."""

    K: np.ndarray
    targets: np.ndarray
    gamma: float = 1.0

    def fit(self, n_steps=40):
        z = np.zeros(len(self.K))
        for _ in range(n_steps):
            _, _, solution = self._solve(z)
            z = self.K @ solution[:-1] + solution[-1]
        return z

    def leave_one_out(self, z):
        eta, C, solution = self._solve(z)
        return eta - solution[:-1] / np.linalg.inv(C).diagonal()[:-1]

    def _solve(self, z):
        y = 1 / (1 + np.exp(-z))
        beta = y * (1 - y)
        eta = z - (y - self.targets) / beta
        ones = np.ones((len(z), 1))
        C = np.block([[self.K + np.diag(1 / beta) / self.gamma, ones], [ones.T, np.zeros((1, 1))]])
        return eta, C, np.linalg.solve(C, np.append(eta, 0.0))


@pytest.fixture(scope="module", params=[((3.0,), "shared"), ((3.0, 5.0), "scaled")], ids=["shared", "scaled"])
def both(request):
    """Our fit and theirs: the difference of two functions has the sum of their variances."""
    variances, tying = request.param
    own = problem(variances, tying)
    X, y = sample()
    machine = Machine(sum(variances) * len(own.targets) / len(variances) * Gaussian(0.5)(X, X), (y == 0) * 1.0)
    return own, FreeBias(1e-12).fit(own), machine


def contrast(latent):
    return latent[..., 0, :] - latent[..., 1, :]


def test_latents_are_those_of_reweighted_least_squares(both):
    _, full, machine = both
    np.testing.assert_allclose(contrast(full.latent)[0], machine.fit(), atol=1e-10)


def test_left_out_latents_are_those_of_equation_20(both):
    own, full, machine = both
    expected = machine.leave_one_out(machine.fit())
    np.testing.assert_allclose(contrast(ExactExpansion(own, full).leave_out()), expected, atol=1e-10)


def test_losses_go_with_those_of_refitting(both):
    own, full, _ = both
    refits = exact_leave_one_out(own, FreeBias(1e-8), start=full.latent)
    left_out = ExactExpansion(own, full).leave_out()
    ours, theirs = (Softmax().losses(part[None], own.targets)[0] for part in (left_out, refits.latent))
    assert refits.outcome is Outcome.CONVERGED
    assert np.corrcoef(ours, theirs)[0, 1] > 0.999


def test_duals_sum_to_zero_over_points(both):
    np.testing.assert_allclose(both[1].dual.sum(axis=2), 0.0, atol=1e-12)


def test_free_bias_is_the_limit_of_a_wide_one(both):
    own, full, _ = both
    wide = replace(own, covariance=replace(own.covariance, bias_variance=1e6))
    np.testing.assert_allclose(contrast(Exact(1e-9).fit(wide).latent), contrast(full.latent), atol=1e-5)


def test_start_does_not_change_a_fit_with_free_bias(both):
    own, full, _ = both
    start = 3 * np.random.default_rng(1).standard_normal(own.shape)
    np.testing.assert_allclose(FreeBias(1e-12).fit(own, start).dual, full.dual, atol=1e-10)


def test_weightings_with_free_bias_are_fitted_one_by_one():
    own = problem()
    weights = np.stack([np.ones(N), np.arange(N) % 2.0])
    result = FreeBias(1e-10).fit(replace(own, weights=weights))
    alone = FreeBias(1e-10).fit(replace(own, weights=weights[1:]))
    np.testing.assert_array_equal(result.dual[1], alone.dual[0])


def test_unfinished_fit_with_free_bias_says_so():
    assert FreeBias(1e-12, Budget(newton=1)).fit(problem()).outcome is Outcome.OUT_OF_STEPS
