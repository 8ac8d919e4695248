"""Which first model a search grows: criteria whose minimum is known."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.selection import growth
from logikern.selection.growth import learn
from tests.policies import change_policy
from tests.selection.samples import EXACT, Bowl, Fixed, first_model, log, plan, rung, start


@pytest.fixture(autouse=True)
def faint_prior(faint_priors):
    """Minima are where the criterion has them."""


class Raised(Bowl):
    """A bowl whose minimum is higher by a constant."""

    def __init__(self, height, **settings):
        super().__init__(**settings)
        self.height = height

    def evaluate(self, covariance, start, tolerance):
        evaluation = super().evaluate(covariance, start, tolerance)
        return replace(evaluation, value=evaluation.value + self.height, losses=evaluation.losses + self.height)


def compare(*criteria, own_log=None, names=("shared",), **settings):
    kept = log() if own_log is None else own_log
    first_models = [
        first_model([rung(criterion)] * 2, name=f"model {number}") for number, criterion in enumerate(criteria)
    ]
    n_rungs = settings.pop("n_rungs", 1)
    learned = learn(first_models, plan(*names, **settings), n_rungs, EXACT, kept, np.random.default_rng(0))
    return learned, None if learned is None else first_models.index(learned.first)


@pytest.mark.parametrize("heights, best", [((0.0, 1.0, 2.0), 0), ((1.0, 0.0, 2.0), 1), ((2.0, 1.0, 0.0), 2)])
def test_lowest_criterion_wins(heights, best):
    learned, chosen = compare(*(Raised(height) for height in heights))
    assert chosen == best and learned.value == pytest.approx(1.0, abs=1e-3)


def test_verdicts_name_every_first_model():
    learned, _ = compare(Raised(1.0), Raised(0.0), Raised(2.0))
    told = [(verdict.stage, verdict.kept, verdict.fate) for verdict in learned.verdicts]
    assert told == [
        ("model 0, shared", True, "first model"),
        ("model 1, shared", True, "better"),
        ("model 2, shared", False, "not better"),
    ]
    assert learned.verdicts[1].gain == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    "heights, fates",
    [
        ((0.0, 0.01), ["first model", "better with the prior"]),
        ((0.01, 0.0), ["first model", "not better with the prior"]),
    ],
)
def test_prior_that_decides_against_the_criterion_is_told(heights, fates, monkeypatch):
    change_policy(monkeypatch, growth, kernel_scale=0.5)
    likely = [start(log_rate=3.0), start(log_rate=0.0)]
    origins = likely[::-1] if heights[0] == 0.0 else likely
    first_models = [
        first_model([rung(Raised(height, log_rate=3.0))], origin, f"model {number}")
        for number, (height, origin) in enumerate(zip(heights, origins, strict=True))
    ]
    learned = learn(first_models, plan(), 1, EXACT, log(), np.random.default_rng(0))
    assert [verdict.fate for verdict in learned.verdicts] == fates


def test_criterion_on_more_rows_is_that_of_the_first_model_that_was_kept():
    first_models = [
        first_model([rung(Raised(height)), replace(rung(Raised(height - 0.5)), n_points=100)], name=f"model {height}")
        for height in (1.0, 0.0)
    ]
    learned = learn(first_models, plan(grow_last=True), 2, EXACT, log(), np.random.default_rng(0))
    assert [verdict.value for verdict in learned.verdicts] == pytest.approx([2.0, 0.5], abs=1e-2)


@pytest.mark.parametrize("excess, n_evaluations", [(1.2, 2), (50.0, 1)])
def test_first_model_that_is_behind_is_given_up_early(excess, n_evaluations):
    own = log()
    compare(Raised(1.0), Raised(excess), own_log=own)
    assert sum(record.stage == "model 1, shared" for record in own.records) == n_evaluations


def test_growth_goes_on_from_the_best_first_model():
    own = log()
    learned, chosen = compare(Raised(1.0), Raised(0.0, log_rate=0.5), own_log=own, names=("shared", "scaled"))
    finer = [record for record in own.records if record.stage == "scaled"]
    assert chosen == 1 and learned.specification.log_parameters[0] == pytest.approx(0.5, abs=1e-3)
    assert all(record.value < 1.9 for record in finer)


def test_best_first_model_is_finished_on_its_own_rows():
    better = Raised(0.0)
    learned, _ = compare(Raised(1.0), better, n_rungs=2)
    assert learned.rung.criterion is better


def test_first_model_that_cannot_be_fitted_is_left_out():
    learned, chosen = compare(Bowl(), Bowl(usable=lambda rates, variances: False), Raised(-0.5))
    assert chosen == 2 and [verdict.stage for verdict in learned.verdicts] == ["model 0, shared", "model 2, shared"]


def test_nothing_is_learned_if_the_first_one_cannot_be_fitted():
    assert compare(Bowl(usable=lambda rates, variances: False), Bowl())[0] is None


def test_later_first_models_begin_where_the_best_one_points_to():
    own, seen = log(), []

    def origin(best, best_start):
        seen.append((best.log_parameters[0], best_start.log_parameters[0]))
        return best

    first = first_model([rung(Bowl())])
    later = type(first)("later", start(), lambda number, _: rung(Bowl()), origin)
    learn([first, later], plan(), 1, EXACT, own, np.random.default_rng(0))
    assert seen == [(pytest.approx(1.0, abs=1e-3), 0.0)]
    assert next(record for record in own.records if record.stage.startswith("later")).value < 1.001


def test_interruption_in_a_later_first_model_keeps_the_one_before():
    def interrupt(number):
        raise KeyboardInterrupt

    own = log()
    learned, chosen = compare(Bowl(), Bowl(before=interrupt), Raised(-0.5), own_log=own)
    assert own.stopped and chosen == 0 and len(learned.verdicts) == 1


def test_equal_first_models_leave_the_first():
    losses = {1: np.ones(100)}
    assert compare(Fixed(losses), Fixed(losses))[1] == 0
