"""One stage of a search, on criteria whose minimum is known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from logikern.selection import search
from logikern.selection.journal import Journal, read
from logikern.selection.prior import NormalPrior
from logikern.selection.search import Effort, Task, WarmStart, free_parameters, minimise
from tests.selection.samples import Bowl, log, rung, start

FAINT = NormalPrior(scale=1e6)
EXACT = Effort(relative_worth=1e-9)


def run(criterion, own=None, origin=None, effort=EXACT, prior=FAINT):
    origin = start() if origin is None else origin
    own = log() if own is None else own
    task = Task("shared", prior, origin.log_parameters)
    return minimise(origin, free_parameters(origin, False), rung(criterion), effort, task, own)


def test_minimum_is_found():
    np.testing.assert_allclose(run(Bowl()).specification.log_parameters[:2], [1.0, 2.0], atol=1e-3)


def test_parameters_that_are_not_free_stay():
    origin, own = start(), log()
    free = np.array([False, True, False])
    found = minimise(origin, free, rung(Bowl()), EXACT, Task("shared", FAINT, origin.log_parameters), own)
    assert found.specification.kernels == origin.kernels and found.specification.bias_variance == 1.0


def test_value_is_that_of_the_criterion_without_the_prior():
    found = run(Bowl(), prior=NormalPrior(0.1))
    rate, variance = found.specification.log_parameters[:2]
    # Three classes share the variance.
    assert found.value == pytest.approx(1 + 0.5 * (rate - 1) ** 2 + 1.5 * (variance - 2) ** 2)


@pytest.mark.parametrize("n_points", [100, 20, 4])
def test_prior_counts_as_one_case_of_those_held_out(n_points):
    scale = 0.5
    own = log()
    run(Bowl(n_points=n_points), own, prior=NormalPrior(scale))
    strength = 1 / (scale**2 * n_points)
    # (rate - 1) + strength * rate = 0, and three times that for the variance shared by three classes.
    expected = [1 / (1 + strength), 6 / (3 + strength)]
    np.testing.assert_allclose(own.journal.entries[-1].point, expected, atol=1e-3)


def test_prior_holds_parameters_near_its_centre():
    origin, own = start(), log()
    task = Task("shared", NormalPrior(1e-3), np.array([0.5, -0.5, 0.0]))
    minimise(origin, free_parameters(origin, False), rung(Bowl()), EXACT, task, own)
    np.testing.assert_allclose(own.journal.entries[-1].point, [0.5, -0.5], atol=1e-2)


def test_found_is_the_best_of_the_trace():
    own = log()
    found = run(Bowl(), own)
    assert found.value == min(record.value for record in own.records)


def test_losses_are_those_of_the_found():
    found = run(Bowl())
    assert (found.losses == found.value).all()


def test_evaluations_are_bounded():
    own = log()
    run(Bowl(), own, effort=replace(EXACT, max_evaluations=3))
    assert len(own.records) == 3


def test_parameters_stay_in_their_range():
    found = run(Bowl(log_rate=50.0), effort=replace(EXACT, range=2.0))
    assert found.specification.log_parameters[0] == pytest.approx(2.0)


def test_watch_sees_every_record():
    seen = []
    own = log(callback=seen.append)
    run(Bowl(), own)
    assert seen == own.records and [record.evaluation for record in seen] == list(range(1, len(seen) + 1))


def test_record_keeps_the_best_so_far():
    own = log()
    run(Bowl(), own)
    values = [record.value for record in own.records]
    assert [record.best for record in own.records] == list(np.minimum.accumulate(values))


def test_state_goes_from_one_evaluation_to_the_next():
    criterion = Bowl()
    run(criterion)
    assert criterion.starts[0] is None
    assert [own.flat[0] for own in criterion.starts[1:]] == list(range(1, len(criterion.starts)))


def test_failed_evaluation_leaves_no_state():
    failed = []

    def usable(rates, variances):
        good = rates[0] < 0.9
        failed.append(not good)
        return good

    criterion = Bowl(usable=usable)
    run(criterion)
    expected = [0, *np.maximum.accumulate([0 if bad else number for number, bad in enumerate(failed, 1)])][:-1]
    assert any(failed) and [0 if own is None else own.flat[0] for own in criterion.starts] == expected


@pytest.mark.parametrize("predicted", [None, np.ones((3, 4))])
def test_fits_on_other_points_predict_the_start(predicted):
    criterion, own = Bowl(), log()
    own.warm_start = WarmStart(np.zeros((1, 3, 5)), None, start(), rung(criterion))
    asked = []
    data = replace(rung(criterion), predict=lambda fits: asked.append(fits) or predicted)
    task = Task("shared", FAINT, start().log_parameters)
    minimise(start(), free_parameters(start(), False), data, EXACT, task, own)
    assert asked and isinstance(asked[0], WarmStart)
    begun = criterion.starts[0]
    assert begun is None if predicted is None else np.array_equal(begun, predicted[None])


def test_tolerance_tightens_as_steps_become_short():
    criterion = Bowl(usable=lambda rates, variances: rates[0] < 0.1)
    run(criterion)
    assert criterion.tolerances[0] == EXACT.first_tolerance and criterion.tolerances[-1] == EXACT.last_tolerance


def test_failed_evaluation_is_never_the_found():
    found = run(Bowl(usable=lambda rates, variances: rates[0] < 0.7))
    assert found.specification.log_parameters[0] < 0.7


def test_failed_evaluation_is_in_the_trace():
    own = log()
    run(Bowl(usable=lambda rates, variances: rates[0] < 0.7), own)
    assert any(not record.usable and record.value == np.inf for record in own.records)


@pytest.mark.parametrize("limit, retreats", [(-1.0, 1), (-3.0, 2), (-5.0, 3)])
def test_start_retreats_to_smaller_variances(limit, retreats):
    own = log()
    found = run(Bowl(log_variance=-8.0, usable=lambda rates, variances: variances[0] < limit), own)
    assert found is not None and [record.usable for record in own.records][: retreats + 1] == [False] * retreats + [
        True
    ]


def test_retreat_leaves_the_kernel_alone():
    seen = []

    def usable(rates, variances):
        seen.append(rates[0])
        return variances[0] < -3

    run(Bowl(usable=usable), effort=replace(EXACT, max_evaluations=1))
    assert seen == [0.0, 0.0, 0.0]


def test_retreat_of_every_variance():
    seen = []

    def usable(rates, variances):
        seen.append(variances)
        return len(seen) > 1

    run(Bowl(usable=usable), origin=start("separate"), effort=replace(EXACT, max_evaluations=1))
    np.testing.assert_allclose(seen[1], -2.0)


def test_nothing_is_found_where_no_start_is_usable():
    own = log()
    assert run(Bowl(usable=lambda rates, variances: False), own) is None and len(own.records) == 4


def interrupt_at(number):
    def before(now):
        if now == number:
            raise KeyboardInterrupt

    return before


def test_interruption_returns_the_best_so_far():
    own = log()
    found = run(Bowl(before=interrupt_at(3)), own)
    assert found.value == min(record.value for record in own.records) and len(own.records) == 2


def test_interruption_is_told():
    own = log()
    run(Bowl(before=interrupt_at(3)), own)
    assert "interrupted" in own.stopped


def test_interruption_by_the_watch_keeps_the_evaluation():
    def watch(record):
        if record.evaluation == 2:
            raise KeyboardInterrupt

    own = log(callback=watch)
    found = run(Bowl(), own)
    assert len(own.records) == 2 and found.value == min(record.value for record in own.records)


def test_interruption_of_the_first_evaluation_finds_nothing():
    own = log()
    assert run(Bowl(before=interrupt_at(1)), own) is None and own.stopped


def test_other_errors_are_not_swallowed():
    def before(number):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Bowl(before=before))


class Clock:
    """A clock on which every evaluation takes ten seconds."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: self.now))

    def tick(self, number):
        self.now += 10.0


def test_evaluation_that_would_end_after_the_deadline_is_not_begun(monkeypatch):
    clock = Clock(monkeypatch)
    own = log(deadline=35.0)
    run(Bowl(before=clock.tick), own)
    assert len(own.records) == 3 and clock.now == 30.0


def test_deadline_is_told(monkeypatch):
    own = log(deadline=35.0)
    run(Bowl(before=Clock(monkeypatch).tick), own)
    assert "time" in own.stopped


def test_first_evaluation_is_made_whatever_the_deadline(monkeypatch):
    found = run(Bowl(before=Clock(monkeypatch).tick), log(deadline=1e-9))
    assert found is not None


def test_seconds_are_those_of_the_evaluation(monkeypatch):
    own = log()
    run(Bowl(before=Clock(monkeypatch).tick), own)
    assert {record.seconds for record in own.records} == {10.0}


def test_stage_without_hope_is_given_up():
    own = log()
    effort = replace(EXACT, hurdle=1e3, patience=4)
    run(Bowl(log_rate=9.0, log_variance=9.0), own, effort=effort)
    assert len(own.records) == 4


def test_stage_over_the_hurdle_goes_on():
    own, free = log(), log()
    run(Bowl(), own, effort=replace(EXACT, hurdle=0.5, patience=3))
    run(Bowl(), free)
    assert len(own.records) == len(free.records)


def compute_all(path):
    own = log(journal=Journal(path, "mark"))
    return run(Bowl(), own), own


def test_replay_computes_nothing(tmp_path):
    compute_all(tmp_path / "fit.search")
    criterion = Bowl()
    run(criterion, log(journal=read(tmp_path / "fit.search", "mark")))
    assert not criterion.starts


def test_replay_finds_the_same(tmp_path):
    first, _ = compute_all(tmp_path / "fit.search")
    second = run(Bowl(), log(journal=read(tmp_path / "fit.search", "mark")))
    assert second.specification == first.specification and second.value == first.value


def test_replay_has_the_same_trace(tmp_path):
    _, first = compute_all(tmp_path / "fit.search")
    second = log(journal=read(tmp_path / "fit.search", "mark"))
    run(Bowl(), second)
    assert second.records == first.records


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_search_cut_off_anywhere_ends_at_the_same_answer(tmp_path, number):
    whole, _ = compute_all(tmp_path / "whole")
    run(Bowl(before=interrupt_at(number)), log(journal=Journal(tmp_path / "part", "mark")))
    resumed = run(Bowl(), log(journal=read(tmp_path / "part", "mark")))
    assert resumed.specification == whole.specification


def test_resumed_search_starts_from_the_kept_state(tmp_path):
    run(Bowl(before=interrupt_at(3)), log(journal=Journal(tmp_path / "part", "mark")))
    criterion = Bowl()
    run(criterion, log(journal=read(tmp_path / "part", "mark")))
    assert criterion.starts[0].flat[0] == 2.0


def test_replay_is_not_stopped_by_the_clock(tmp_path, monkeypatch):
    compute_all(tmp_path / "fit.search")
    clock = Clock(monkeypatch)
    clock.now = 1e6
    own = log(journal=read(tmp_path / "fit.search", "mark"), deadline=0.0)
    run(Bowl(), own)
    assert not own.stopped


@pytest.mark.parametrize(
    "learn_bias, bias_variance, expected", [(True, 1.0, True), (False, 1.0, False), (True, 0.0, False)]
)
def test_bias_variance_is_free_on_request_where_there_is_one(learn_bias, bias_variance, expected):
    free = free_parameters(replace(start(), bias_variance=bias_variance), learn_bias)
    assert free.tolist() == [True, True, expected]
