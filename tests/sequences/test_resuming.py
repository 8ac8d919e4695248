"""Fits that are stopped, interrupted and resumed end with the same model."""

import logging
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from logikern import KernelSequenceClassifier, load_model
from logikern.numerics.outcome import Outcome
from logikern.selection.search import Record
from logikern.sequences.criterion import HeldOutChains
from tests.sequences.samples import draw_sequences

X, Y = draw_sequences(30)
NEW, _ = draw_sequences(5, seed=1)


def model(**settings):
    return KernelSequenceClassifier(**{"random_state": 0, "search_size": 60, **settings})


@pytest.fixture(scope="module")
def undisturbed():
    return model().fit(X, Y)


class KilledError(Exception):
    """The end of a process that is killed."""


def stop_at(monkeypatch, number, error):
    """Raise an error instead of the evaluation with this number; returns the number of evaluations so far."""
    made, evaluate = [], HeldOutChains.evaluate

    def counted(self, *arguments):
        if len(made) + 1 == number:
            raise error
        made.append(number)
        return evaluate(self, *arguments)

    monkeypatch.setattr(HeldOutChains, "evaluate", counted)
    return made


def same(one, other):
    """Whether two models agree in every bit."""
    pairs = [(one.transition_, other.transition_), (one._model.positions.dual, other._model.positions.dual)]
    pairs += list(zip(one.predict_proba(NEW), other.predict_proba(NEW), strict=True))
    return one.specification_ == other.specification_ and all(np.array_equal(*pair) for pair in pairs)


@pytest.mark.parametrize("number", [2, 4, 6])
def test_killed_search_resumes_with_the_same_model(number, undisturbed, monkeypatch, tmp_path):
    with monkeypatch.context() as patched, pytest.raises(KilledError):
        stop_at(patched, number, KilledError)
        model(checkpoint=tmp_path / "fit.search").fit(X, Y)
    made = stop_at(monkeypatch, None, KilledError)
    resumed = model(checkpoint=tmp_path / "fit.search").fit(X, Y)
    assert same(resumed, undisturbed)
    assert len(made) == len(undisturbed.trace_) - number + 1  # nothing is computed twice
    assert [record.value for record in resumed.trace_] == [record.value for record in undisturbed.trace_]


def test_search_with_a_window_resumes_with_the_same_model(monkeypatch, tmp_path):
    undisturbed = model(window=1).fit(X, Y)
    with monkeypatch.context() as patched, pytest.raises(KilledError):
        stop_at(patched, 4, KilledError)
        model(window=1, checkpoint=tmp_path / "fit.search").fit(X, Y)
    assert same(model(window=1, checkpoint=tmp_path / "fit.search").fit(X, Y), undisturbed)
    with pytest.raises(ValueError, match="belongs to other data or other settings"):
        model(checkpoint=tmp_path / "fit.search").fit(X, Y)


def test_finished_search_is_not_repeated(undisturbed, monkeypatch, tmp_path):
    model(checkpoint=tmp_path / "fit.search").fit(X, Y)
    stop_at(monkeypatch, 1, KilledError)
    again = model(checkpoint=tmp_path / "fit.search", verbose=0, n_jobs=1, decoding="positions", tol=1e-5).fit(X, Y)
    assert again.specification_ == undisturbed.specification_


def test_folder_has_a_file_for_each_search(tmp_path):
    for seed in (0, 1):
        model(checkpoint=f"{tmp_path}/searches/", random_state=seed).fit(X, Y)
    assert len(list((tmp_path / "searches").glob("*.search"))) == 2


@pytest.mark.parametrize(
    "change",
    [{"random_state": 1}, {"cv": 4}, {"search_size": 50}, {"rate": 2.0}, {"inputs": "standard"}, {"max_iter": 50}],
    ids=str,
)
def test_checkpoint_of_other_settings_is_refused(change, tmp_path):
    model(checkpoint=tmp_path / "fit.search").fit(X, Y)
    with pytest.raises(ValueError, match="belongs to other data or other settings"):
        model(checkpoint=tmp_path / "fit.search", **change).fit(X, Y)


@pytest.mark.parametrize("part", ["inputs", "labels", "lengths"])
def test_checkpoint_of_other_data_is_refused(part, tmp_path):
    model(checkpoint=tmp_path / "fit.search").fit(X, Y)
    own, labels = {
        "inputs": ([X[0] + 1e-9, *X[1:]], Y),
        "labels": (X, [(Y[0] + 1) % 3, *Y[1:]]),
        "lengths": ([np.vstack(X[:2]), *X[2:]], [np.concatenate(Y[:2]), *Y[2:]]),
    }[part]
    with pytest.raises(ValueError, match="belongs to other data or other settings"):
        model(checkpoint=tmp_path / "fit.search").fit(own, labels)


def test_interruption_raises_and_the_checkpoint_keeps_evaluations(undisturbed, monkeypatch, tmp_path):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stop_at(patched, 4, KeyboardInterrupt)
        model(checkpoint=tmp_path / "fit.search").fit(X, Y)
    made = stop_at(monkeypatch, None, KilledError)
    assert same(model(checkpoint=tmp_path / "fit.search").fit(X, Y), undisturbed)
    assert len(made) == len(undisturbed.trace_) - 3


def test_interrupted_search_keeps_its_best_model(undisturbed, monkeypatch):
    stop_at(monkeypatch, 4, KeyboardInterrupt)
    with pytest.warns(ConvergenceWarning, match="ended early: it was interrupted; the best hyperparameters") as told:
        kept = model(on_interrupt="keep").fit(X, Y)
    assert told[0].filename == __file__
    first = [record.value for record in undisturbed.trace_[:3]]
    assert [record.value for record in kept.trace_] == first and kept.criterion_value_ == min(first)
    assert kept.interrupted_ and kept.outcome_.converged and kept.stopped_early_ == "it was interrupted"


def test_search_that_is_interrupted_at_once_uses_its_start(monkeypatch):
    stop_at(monkeypatch, 1, KeyboardInterrupt)
    with pytest.warns(ConvergenceWarning, match="the first hyperparameters are used"):
        kept = model(on_interrupt="keep").fit(X, Y)
    assert kept.specification_ == kept.first_specification_ and np.isnan(kept.criterion_value_)


class Impatient(logging.Handler):
    """A handler that interrupts a final fit once, at one of its steps."""

    def __init__(self, step):
        super().__init__(logging.DEBUG)
        self.step = step

    def emit(self, entry):
        if "newton_step" in vars(entry) and entry.newton_step.step == self.step:
            self.step = -1
            raise KeyboardInterrupt


@pytest.fixture
def impatient():
    """Interrupt final fits at a step."""
    logger, made = logging.getLogger("logikern"), []
    level = logger.level

    def listen(step):
        made.append(Impatient(step))
        logger.addHandler(made[-1])
        logger.setLevel(logging.DEBUG)

    yield listen
    logger.setLevel(level)
    for handler in made:
        logger.removeHandler(handler)


def test_interrupted_final_fit_is_kept_after_a_search(impatient):
    impatient(2)
    with pytest.warns(ConvergenceWarning, match="final fit was interrupted after the search.*Fit again"):
        kept = model(on_interrupt="keep").fit(X, Y)
    assert kept.outcome_ is Outcome.INTERRUPTED and kept.interrupted_ and kept.n_iter_ == 2
    own = kept.specification_
    names = ("transition_variance", "pseudocount", "piecewise")
    settings = {name: getattr(own, name) for name in names}
    settings |= {"variance": own.positions.variances[0], "bias_variance": own.positions.bias_variance}
    with pytest.warns(ConvergenceWarning, match="budget of Newton steps"):
        stopped = model(kernel=own.positions.kernels[0], criterion=None, max_iter=2, **settings).fit(X, Y)
    np.testing.assert_allclose(kept.transition_, stopped.transition_, atol=1e-9)
    for one, other in zip(kept.predict_proba(NEW), stopped.predict_proba(NEW), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "step"), [({}, 2), ({"on_interrupt": "keep", "criterion": None}, 2), ({"on_interrupt": "keep"}, 0)]
)
def test_other_interruptions_of_the_final_fit_raise(settings, step, impatient):
    impatient(step)
    with pytest.raises(KeyboardInterrupt):
        model(**settings).fit(X, Y)


def test_time_for_the_search_is_limited(undisturbed):
    with pytest.warns(ConvergenceWarning, match="the time limit was reached"):
        short = model(max_time=1e-6).fit(X, Y)
    first = short.first_specification_.log_parameters
    assert len(short.trace_) == 1
    np.testing.assert_allclose(short.specification_.log_parameters, first, atol=1e-12)
    assert not short.interrupted_ and short.criterion_value_ == undisturbed.trace_[0].value


def test_trace_has_the_records_of_every_estimator(undisturbed):
    assert all(isinstance(record, Record) for record in undisturbed.trace_)
    assert undisturbed.criterion_value_ == min(record.value for record in undisturbed.trace_)
    assert [step.step for step in undisturbed.newton_trace_] == list(range(undisturbed.n_iter_ + 1))


def test_callbacks_see_every_task():
    callback = pytest.importorskip("sklearn.callback")
    found = model().set_callbacks(callback.ProgressBar()).fit(X[:10], Y[:10])
    assert found.outcome_.converged


SCRIPT = """
import os, sys
from logikern import KernelSequenceClassifier, save_model
from logikern.sequences.criterion import HeldOutChains
from tests.sequences.samples import draw_sequences

made, evaluate = [], HeldOutChains.evaluate
def counted(self, *arguments):
    made.append(1)
    if len(made) == int(sys.argv[2]):
        os.kill(os.getpid(), 9)
    return evaluate(self, *arguments)
HeldOutChains.evaluate = counted
model = KernelSequenceClassifier(random_state=0, search_size=60, checkpoint=sys.argv[1] + "/fit.search")
save_model(model.fit(*draw_sequences(30)), sys.argv[1] + "/model.skops")
"""


def test_killed_process_resumes_in_another_one(undisturbed, tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    assert subprocess.run([*command, "4"], env=environment).returncode == -9
    assert subprocess.run([*command, "0"], env=environment).returncode == 0
    assert same(load_model(tmp_path / "model.skops"), undisturbed)
