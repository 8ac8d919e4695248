"""Multilabel fits that are interrupted, resumed or watched."""

import logging
from contextlib import contextmanager

import numpy as np
import pytest

from logikern import KernelMultilabelClassifier, load_model
from logikern.estimators.multilabel import _choice
from tests.estimators.test_label_trees import FRAME
from tests.estimators.test_label_trees import X as TREE_X
from tests.estimators.test_multilabel import NEW, X, Y


def learning(structure="auto", **settings):
    return KernelMultilabelClassifier("gaussian", structure=structure, ard=False, cv=2, random_state=0, **settings)


class Listener(logging.Handler):
    """Counts evaluations, and interrupts some of them."""

    def __init__(self, interrupted=()):
        super().__init__(logging.DEBUG)
        self.n_evaluations, self.interrupted, self.lines = 0, interrupted, []

    def emit(self, record):
        self.lines.append(record.getMessage())
        if hasattr(record, "evaluation"):
            self.n_evaluations += 1
            if self.n_evaluations in self.interrupted:
                raise KeyboardInterrupt


@contextmanager
def listening(*interrupted):
    logger, listener = logging.getLogger("logikern"), Listener(interrupted)
    level = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    try:
        yield listener
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)


def n_evaluations(structure):
    with listening() as listener:
        learning(structure).fit(X, Y)
    return listener.n_evaluations


def test_interruption_ends_the_fit_and_leaves_no_model():
    model = learning().fit(X, Y)
    with listening(3), pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "structure_") and not hasattr(model, "kernels_")


def test_interruption_of_the_first_structure_keeps_it(tmp_path):
    with listening(3), pytest.warns(UserWarning, match="interrupted"):
        model = learning(on_interrupt="keep").fit(X, Y)
    assert model.interrupted_ and model.structure_ == "independent" and model.comparison_ is None
    assert "The joint structure was not tried, because the fit was interrupted." in " ".join(model.explain().split())
    assert np.isfinite(model.set_log_proba(NEW, np.zeros((len(NEW), 3)))).all()
    model.save_model(tmp_path / "model.skops")
    assert load_model(tmp_path / "model.skops").interrupted_


def test_interruption_of_the_second_structure_still_compares():
    first = n_evaluations("independent")
    with listening(first + 2), pytest.warns(UserWarning, match="interrupted"):
        model = learning(on_interrupt="keep").fit(X, Y)
    assert model.interrupted_ and model.comparison_ is not None


def test_interrupted_comparison_keeps_independent_labels(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_choice, "compare_structures", interrupt)
    model = learning(on_interrupt="keep").fit(X, Y)
    assert model.interrupted_ and model.structure_ == "independent"
    assert "its comparison with independent labels was interrupted" in " ".join(model.explain().split())
    with pytest.raises(KeyboardInterrupt):
        learning().fit(X, Y)
    # A second interruption ends the fit.
    with listening(n_evaluations("independent") + 2), pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning):
        learning(on_interrupt="keep").fit(X, Y)


def test_fit_that_ends_is_not_interrupted():
    assert learning("independent").fit(X, Y).interrupted_ is False


@pytest.mark.parametrize("folder", [False, True])
def test_killed_fit_resumes_from_its_checkpoint(folder, tmp_path):
    checkpoint = tmp_path if folder else tmp_path / "fit.search"
    whole = learning().fit(X, Y)
    with listening() as listener:
        learning().fit(X, Y)
    with listening(listener.n_evaluations - 2), pytest.raises(KeyboardInterrupt):
        learning(checkpoint=checkpoint).fit(X, Y)
    assert len(list(tmp_path.iterdir())) == 2
    resumed = learning(checkpoint=checkpoint).fit(X, Y)
    np.testing.assert_array_equal(resumed.predict_proba(NEW), whole.predict_proba(NEW))
    assert resumed.comparison_ == whole.comparison_
    seconds = [record.seconds for record in resumed.trace_]
    assert resumed.structure_ != "joint" or 0.0 in seconds or len(seconds) == len(whole.trace_)


def test_checkpoint_of_one_structure_is_the_named_file(tmp_path):
    learning("joint", checkpoint=tmp_path / "fit.search").fit(X, Y)
    assert [file.name for file in tmp_path.iterdir()] == ["fit.search"]


def test_checkpoint_of_labels_without_a_tree_is_refused_with_a_tree(tmp_path):
    """The targets are the same, but not their likelihood."""
    learning("independent", checkpoint=tmp_path / "fit.search").fit(TREE_X, FRAME)
    with pytest.raises(ValueError, match="search"):
        learning("independent", checkpoint=tmp_path / "fit.search", hierarchy="paths").fit(TREE_X, FRAME)


def test_verbose_fit_names_structures_and_shows_evaluations(capsys):
    learning(verbose=1).fit(X, Y)
    shown = capsys.readouterr().out.splitlines()
    places = [shown.index(f"structure of the labels: {name}") for name in ("independent", "joint")]
    assert places[0] < places[1] and sum(line.startswith("final fit") for line in shown) == 2
    assert any(line.startswith("evaluation 1 ") for line in shown[places[1] :])


@pytest.mark.parametrize(
    "settings, told",
    [({"on_interrupt": "stop"}, "`on_interrupt` must be"), ({"checkpoint": "nowhere/fit.search"}, "nowhere")],
)
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises((ValueError, OSError), match=told):
        learning(**settings).fit(X, Y)
