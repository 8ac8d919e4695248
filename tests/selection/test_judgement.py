"""Whether a later stage is kept: the gain case by case, on rows that the search has not seen where there are any."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from logikern.selection.growth import _Growth
from logikern.selection.judgement import Verdict
from tests.selection.samples import EXACT, N_LOSSES, Fixed, first_model, grow_on, log, plan, rung, start

BEFORE = np.linspace(0.5, 1.5, N_LOSSES)
N_UNSEEN = 40


@dataclass(eq=False)
class Unseen:
    """Rows whose losses depend on a number, that of kernels; None stands for a fit that fails."""

    losses_by: dict
    weights: np.ndarray
    n_asked: int = 0
    count: Callable = staticmethod(lambda specification: len(specification.kernels))

    def losses(self, specification, near):
        self.n_asked += 1
        return self.losses_by[self.count(specification)]


def judge(gain, gain_unseen, noise_unseen=0.0, failed=()):
    """Shared against separate, which saves `gain` of every held-out loss, and another of losses of unseen rows."""
    spread = np.resize([1.0, -1.0], N_UNSEEN) * noise_unseen * (N_UNSEEN - 1) ** 0.5
    losses = {1: np.ones(N_UNSEEN), 3: np.ones(N_UNSEEN) - gain_unseen + spread} | dict.fromkeys(failed)
    unseen = Unseen(losses, np.ones(N_UNSEEN))
    own = replace(rung(Fixed({1: BEFORE, 3: BEFORE - gain})), unseen=unseen)
    return grow_on([own], plan("shared", "separate")).verdicts[-1], unseen


@pytest.mark.parametrize(
    "gain_unseen, noise, kept", [(0.03, 0.01, True), (0.03, 0.02, False), (-0.02, 0.0, False), (0.0, 0.0, False)]
)
def test_more_kernels_must_gain_more_than_twice_the_noise_on_unseen_rows(gain_unseen, noise, kept):
    verdict, _ = judge(0.1, gain_unseen, noise)
    assert verdict.kept is kept and verdict.n_unseen == N_UNSEEN
    assert (verdict.gain, verdict.noise) == pytest.approx((gain_unseen, noise))


@pytest.mark.parametrize(
    "gain, gain_unseen, noise, kept",
    [(0.1, -0.02, 0.0, True), (0.1, -0.9, 0.0, False), (0.02, 0.02, 0.2, False), (0.02, 0.02, 0.01, True)],
)
def test_held_out_and_unseen_rows_judge_a_model_with_as_many_kernels_together(gain, gain_unseen, noise, kept):
    alternating = np.resize([1.0, -1.0], N_UNSEEN) * noise * (N_UNSEEN - 1) ** 0.5
    unseen = Unseen({1: np.ones(N_UNSEEN), 3: np.ones(N_UNSEEN) - gain_unseen + alternating}, np.ones(N_UNSEEN))
    unseen.count = lambda specification: len(specification.variances)
    own = replace(rung(Fixed({1: BEFORE})), unseen=unseen)
    growth = _Growth(plan("shared", "scaled"), EXACT, log(), first_model([own]))
    growth.begin(np.random.default_rng(0))
    better = replace(growth.best, specification=start("scaled"), value=0.5, losses=BEFORE - gain)
    growth._decide("scaled", better, False, False)
    verdict = growth.verdicts[-1]
    gains = np.concatenate([np.full(N_LOSSES, gain), gain_unseen - alternating])
    assert verdict.kept is kept and verdict.n_unseen == N_UNSEEN
    assert (verdict.gain, verdict.noise) == pytest.approx((gains.mean(), gains.std(ddof=1) / len(gains) ** 0.5))


def test_unseen_rows_are_not_asked_about_a_model_that_the_criterion_rejects():
    verdict, unseen = judge(-0.1, 0.5)
    assert not verdict.kept and unseen.n_asked == 0 and verdict.n_unseen == 0


@pytest.mark.parametrize("failed", [(1,), (3,), (1, 3)])
def test_held_out_rows_judge_if_a_fit_for_the_unseen_ones_fails(failed):
    verdict, _ = judge(0.1, -0.5, failed=failed)
    assert verdict.kept and verdict.n_unseen == 0 and verdict.gain == pytest.approx(0.1)


def test_unseen_rows_count_by_their_weights():
    heavy = np.where(np.arange(N_UNSEEN) < N_UNSEEN // 2, 3.0, 1.0)
    losses = {1: np.ones(N_UNSEEN), 3: np.where(heavy > 1, 0.9, 1.2)}
    own = replace(rung(Fixed({1: BEFORE, 3: BEFORE - 0.1})), unseen=Unseen(losses, heavy))
    verdict = grow_on([own], plan("shared", "separate")).verdicts[-1]
    assert verdict.gain == pytest.approx(0.75 * 0.1 - 0.25 * 0.2)


def test_model_before_is_fitted_once_for_all_stages():
    losses = {1: np.ones(N_UNSEEN), 3: np.ones(N_UNSEEN)}
    unseen = Unseen(losses, np.ones(N_UNSEEN))
    own = replace(rung(Fixed({1: BEFORE, 3: BEFORE - 0.1})), unseen=unseen)
    grow_on([own], plan("shared", "separate", n_starts=3))
    assert unseen.n_asked == 2


@pytest.mark.parametrize(
    "fate, gain, told",
    [
        ("better", 0.02, "criterion 0.5000, gain 0.0200, noise 0.0050; better."),
        ("not better", 0.002, "criterion 0.5000, gain 0.0020, noise 0.0050; not better."),
        ("requested", 0.0, "criterion 0.5000, gain 0.0000, noise 0.0050; requested."),
        ("first model", np.nan, "criterion 0.5000; first model."),
    ],
)
def test_verdict_in_words(fate, gain, told):
    verdict = Verdict("scaled", 4, 0.5, gain, 0.005, True, fate)
    assert str(verdict) == f"scaled (4 hyperparameters): {told}"
