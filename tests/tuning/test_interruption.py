"""Searches that are killed go on where they stood; searches that are stopped return the best so far."""

import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from signal import SIGINT, SIGKILL
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score

from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.leave_one_out.criterion import LeaveOneOut
from logikern.estimators._callbacks import FinalFit
from logikern.fitting.newton import descent
from tests.tuning import slow_search
from tests.tuning.samples import NAMES, X, default_fit, tuned

ROOT = Path(__file__).parents[2]


@cache
def uninterrupted():
    return slow_search.model().fit(slow_search.INPUTS, slow_search.SPECIES)


def begin(checkpoint, *arguments):
    command = [sys.executable, "-m", "tests.tuning.slow_search", str(checkpoint), *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def signal_after(process, n_evaluations, delay, signal):
    """Let some evaluations begin, wait a moment more, and send the signal."""
    for _ in range(n_evaluations):
        assert process.stdout.readline() == "evaluation\n"
    time.sleep(delay)
    process.send_signal(signal)


class Resumed(NamedTuple):
    """A search that was killed and resumed, and what was left to compute."""

    model: KernelLogisticClassifier
    n_begun: int
    n_computed: int


@cache
def kill_and_resume(seed):
    """Killed shortly after the beginning of an evaluation, in the midst of it, or about when it is written down."""
    random = np.random.default_rng(seed)
    n_begun = int(random.integers(2, len(uninterrupted().trace_) - 1))
    computed = []
    evaluate = CrossValidation.evaluate

    def counted(*arguments):
        computed.append(1)
        return evaluate(*arguments)

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        process = begin(Path(folder) / "fit.search")
        signal_after(process, n_begun, 2 * slow_search.PAUSE * random.random(), SIGKILL)
        process.communicate()
        patch.setattr(CrossValidation, "evaluate", counted)
        model = slow_search.model(Path(folder) / "fit.search").fit(slow_search.INPUTS, slow_search.SPECIES)
    return Resumed(model, n_begun, len(computed))


every_kill = pytest.mark.parametrize("seed", [0, 1, 2])


@every_kill
def test_killed_search_ends_at_the_uninterrupted_criterion(seed):
    resumed = kill_and_resume(seed).model
    assert resumed.criterion_value_ == pytest.approx(uninterrupted().criterion_value_, abs=1e-6)


@every_kill
def test_killed_search_ends_at_the_uninterrupted_hyperparameters(seed):
    values = [model.hyperparameters_["value"] for model in (kill_and_resume(seed).model, uninterrupted())]
    np.testing.assert_allclose(*values, rtol=1e-6)


@every_kill
def test_killed_search_is_not_begun_again(seed):
    resumed = kill_and_resume(seed)
    # All but the last that had begun were written down.
    assert 0 < resumed.n_computed <= len(resumed.model.trace_) - resumed.n_begun + 1


def test_checkpoint_of_a_running_process_is_refused_until_that_is_killed(tmp_path):
    process = begin(tmp_path / "fit.search")
    assert process.stdout.readline() == "evaluation\n"
    resume = slow_search.model(tmp_path / "fit.search").fit
    with pytest.raises(ValueError, match="is in use by another search"):
        resume(slow_search.INPUTS, slow_search.SPECIES)
    process.kill()
    process.communicate()
    assert resume(slow_search.INPUTS, slow_search.SPECIES).score(slow_search.INPUTS, slow_search.SPECIES) > 0.9


def test_control_c_raises_and_the_checkpoint_has_what_was_found(tmp_path):
    process = begin(tmp_path / "fit.search")
    signal_after(process, 4, 0.5 * slow_search.PAUSE, SIGINT)
    told, warned = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in warned and "score" not in told
    resumed = slow_search.model(tmp_path / "fit.search").fit(slow_search.INPUTS, slow_search.SPECIES)
    assert resumed.criterion_value_ == pytest.approx(uninterrupted().criterion_value_, abs=1e-6)


def test_control_c_can_give_a_model_with_a_warning(tmp_path):
    process = begin(tmp_path / "fit.search", "keep")
    signal_after(process, 4, 0.5 * slow_search.PAUSE, SIGINT)
    told, warned = process.communicate(timeout=60)
    assert process.returncode == 0 and "it was interrupted" in warned
    assert float(told.split()[-1]) > 0.9


def interrupt_at(numbers, method):
    """The method with Ctrl-C during some of its calls."""
    count = []

    def wrapped(*arguments):
        count.append(1)
        if len(count) in np.atleast_1d(numbers):
            raise KeyboardInterrupt
        return method(*arguments)

    return wrapped


def raise_at(numbers, monkeypatch):
    """Ctrl-C during some evaluations."""
    monkeypatch.setattr(CrossValidation, "evaluate", interrupt_at(numbers, CrossValidation.evaluate))


def count_fits(monkeypatch):
    fits, fit = [], KernelLogisticClassifier.fit

    def counted(*arguments, **settings):
        fits.append(1)
        return fit(*arguments, **settings)

    monkeypatch.setattr(KernelLogisticClassifier, "fit", counted)
    return fits


def test_interruption_raises_by_default(monkeypatch):
    raise_at(3, monkeypatch)
    model = tuned()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, NAMES)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_interruption_ends_a_loop_over_fits(monkeypatch):
    fits = count_fits(monkeypatch)
    raise_at(3, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(tuned(), X, NAMES, cv=3)
    assert len(fits) == 1


def test_interruption_of_a_regression_raises_by_default(monkeypatch):
    monkeypatch.setattr(LeaveOneOut, "evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        KernelRegressor(random_state=0).fit(X, X.sum(axis=1))


def test_unknown_reaction_to_interruptions_is_refused():
    with pytest.raises(ValueError, match="`on_interrupt` must be one of"):
        tuned(on_interrupt="stop").fit(X, NAMES)


def interrupt(*arguments):
    raise KeyboardInterrupt


def test_second_interruption_raises_in_the_final_fit(monkeypatch):
    raise_at(3, monkeypatch)
    monkeypatch.setattr(FinalFit, "log_step", interrupt_at(3, FinalFit.log_step))
    with pytest.raises(KeyboardInterrupt):
        tuned(on_interrupt="keep").fit(X, NAMES)


@pytest.mark.parametrize(
    "owner, method", [(FinalFit, "log_step"), (descent._Iteration, "measure")], ids=["final fit", "search"]
)
def test_interruption_is_a_plain_keyboard_interrupt(owner, method, monkeypatch):
    monkeypatch.setattr(owner, method, interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        tuned().fit(X, NAMES)
    assert type(caught.value) is KeyboardInterrupt


def test_second_interruption_raises_in_a_later_model_of_one_vs_rest(monkeypatch):
    fits = count_fits(monkeypatch)
    raise_at((3, 8), monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        tuned(on_interrupt="keep", one_vs_rest=True).fit(X, NAMES)
    assert len(fits) == 3  # of all classes, of the first class, and the one that was interrupted again


def test_interruption_of_one_model_of_one_vs_rest_is_told(monkeypatch):
    raise_at(3, monkeypatch)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = tuned(on_interrupt="keep", one_vs_rest=True).fit(X, NAMES)
    assert model.interrupted_ and [binary.interrupted_ for binary in model.binaries_] == [True, False, False]
    assert all(binary.on_interrupt == "keep" for binary in model.binaries_)


def test_interrupted_check_of_leave_one_out_keeps_the_search(monkeypatch):
    monkeypatch.setattr(LeaveOneOut, "check", interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = tuned(on_interrupt="keep", criterion="loo").fit(X, NAMES)
    monkeypatch.undo()
    whole = tuned(criterion="loo").fit(X, NAMES)
    assert model.interrupted_ and model.model_.specification == whole.model_.specification


@pytest.mark.parametrize("number", [2, 3])
def test_interrupted_search_uses_the_best_so_far(number, monkeypatch):
    raise_at(number, monkeypatch)
    with pytest.warns(ConvergenceWarning, match="interrupted; the best hyperparameters so far are used"):
        model = tuned(on_interrupt="keep").fit(X, NAMES)
    earlier = default_fit().trace_[: number - 1]
    assert model.trace_[-1].stage == "shared" and len(model.trace_) == len(earlier)
    assert model.criterion_value_ == min(record.value for record in earlier)


def test_interrupted_growth_keeps_what_has_proved_itself(monkeypatch):
    n_shared = sum(record.stage == "shared" for record in default_fit().trace_)
    raise_at(n_shared + 3, monkeypatch)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = tuned(on_interrupt="keep").fit(X, NAMES)
    assert len(model.trace_) == n_shared + 2
    assert model.criterion_value_ <= default_fit().verdicts_[0].value


def test_interruption_of_the_first_evaluation_leaves_the_start(monkeypatch):
    raise_at(1, monkeypatch)
    with pytest.warns(ConvergenceWarning, match="ended early"):
        model = tuned(on_interrupt="keep").fit(X, NAMES)
    assert np.array_equal(model.predict_proba(X), tuned(criterion=None).fit(X, NAMES).predict_proba(X))


def test_interrupted_model_can_be_explained(monkeypatch):
    raise_at(3, monkeypatch)
    with pytest.warns(ConvergenceWarning):
        model = tuned(on_interrupt="keep").fit(X, NAMES)
    assert "2 evaluations" in model.explain() and len(model.hyperparameters_) == 3


def test_callback_may_interrupt_the_search():
    pytest.importorskip("sklearn.callback")

    class Impatient:
        n_evaluations = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.n_evaluations += context.task_name == "evaluation"
            if context.task_name == "evaluation" and self.n_evaluations == 3:
                raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = tuned(on_interrupt="keep").set_callbacks(Impatient()).fit(X, NAMES)
    assert len(model.trace_) == 3 and model.score(X, NAMES) > 0.9


def test_interrupted_search_with_a_checkpoint_can_be_resumed(tmp_path, monkeypatch):
    raise_at(4, monkeypatch)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        tuned(checkpoint=tmp_path / "fit.search", on_interrupt="keep").fit(X, NAMES)
    monkeypatch.undo()
    resumed = tuned(checkpoint=tmp_path / "fit.search").fit(X, NAMES)
    assert resumed.model_.specification == default_fit().model_.specification


def slow_down(monkeypatch, seconds):
    evaluate = CrossValidation.evaluate

    def wrapped(*arguments):
        time.sleep(seconds)
        return evaluate(*arguments)

    monkeypatch.setattr(CrossValidation, "evaluate", wrapped)


def test_time_for_the_search_is_kept(monkeypatch):
    slow_down(monkeypatch, 0.1)
    with pytest.warns(ConvergenceWarning, match="time limit was reached"):
        model = tuned(max_time=0.5).fit(X, NAMES)
    # An evaluation that would end later is not begun; a busy machine may stretch the last one.
    assert 1 <= len(model.trace_) <= 4 and sum(record.seconds for record in model.trace_) < 1.0


def test_time_enough_gives_no_warning(recwarn):
    model = tuned(max_time=600).fit(X, NAMES)
    assert not recwarn.list and model.model_.specification == default_fit().model_.specification


def test_no_time_gives_the_start():
    with pytest.warns(ConvergenceWarning):
        model = tuned(max_time=1e-9).fit(X, NAMES)
    np.testing.assert_allclose(model.hyperparameters_["value"], model.hyperparameters_["start"], rtol=1e-14)
