"""What is shown of a fit while it runs."""

import io
import logging
import sys

import numpy as np
import pytest

from logikern import KernelLogisticClassifier
from logikern.cli.session.interruption import Interruption
from logikern.cli.session.messages import Messages
from logikern.cli.session.progress import USUAL_LENGTH, Progress, in_seconds, rest_of_stage, show_progress
from logikern.selection.search import Record


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_on_terminal(monkeypatch, kind: str) -> str:
    """What a fit writes to a terminal of that kind."""
    screen = Terminal()
    # Inside the test: pytest's capture replaces the stream between fixture and test.
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", kind)
    fit_followed()
    return screen.getvalue()


def fit_followed(quiet: bool = False, **settings) -> KernelLogisticClassifier:
    rng = np.random.default_rng(0)
    classifier = KernelLogisticClassifier(random_state=0, **settings)
    with show_progress(Messages(quiet), "fit", Interruption(), classifier.max_time):
        classifier.fit(rng.standard_normal((30, 2)), np.arange(30) % 2)
    return classifier


def evaluations(*stages: str, seconds: float = 2.0) -> list[Record]:
    return [Record(stage, number, 100, 0.5, 0.4, True, 10, seconds) for number, stage in enumerate(stages, start=1)]


def test_file_gets_one_line_for_each_evaluation(capsys):
    classifier = fit_followed()
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "fit ..." and said[-2] == "  final fit" and said[-1].startswith("fit: ")
    assert len(said) == len(classifier.trace_) + 3
    assert all(f"evaluation {number}: criterion " in line for number, line in enumerate(said[1:-2], start=1))


def test_line_has_criterion_lowest_value_time_and_estimate(capsys):
    fit_followed()
    line = capsys.readouterr().err.splitlines()[1]
    words = ("shared", "criterion", "(lowest on ", " s so far, about", "left in this stage")
    assert all(word in line for word in words)


def test_fixed_fit_has_no_evaluations_to_show(capsys):
    fit_followed(criterion=None)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_quiet_fit_shows_nothing(capsys):
    fit_followed(quiet=True)
    assert capsys.readouterr().err == ""


def test_terminal_is_redrawn_until_the_final_fit(monkeypatch):
    shown = shown_on_terminal(monkeypatch, "xterm")
    assert "final fit, step" in shown and "fit ..." not in shown


def test_terminal_that_cannot_redraw_gets_lines(monkeypatch):
    assert "evaluation 3: criterion" in shown_on_terminal(monkeypatch, "dumb")


def test_listening_leaves_the_logger_as_it_was():
    logger = logging.getLogger("logikern")
    before = logger.level, list(logger.handlers)
    fit_followed(quiet=True)
    assert (logger.level, list(logger.handlers)) == before


def test_first_stage_is_expected_to_have_the_usual_length():
    assert rest_of_stage(evaluations("shared", "shared")) == pytest.approx(2.0 * (USUAL_LENGTH - 2))


def test_later_stage_is_expected_to_be_as_long_as_the_ones_before():
    assert rest_of_stage(evaluations(*["shared"] * 6, *["scaled"] * 4, "separate")) == pytest.approx(2.0 * 4)


def test_stage_beyond_its_expected_length_has_one_evaluation_to_come():
    assert rest_of_stage(evaluations(*["shared"] * 50)) == pytest.approx(2.0)


def test_max_time_bounds_the_rest():
    progress = Progress(max_time=100.0, records=evaluations("shared"))
    assert progress.rest == "about 14 s left in this stage, at most 100 s in the search"


def test_evaluation_without_use_has_no_value():
    progress = Progress(records=[Record("shared", 1, 100, np.nan, np.inf, False, 10, 1.0)])
    assert progress.state == "shared, evaluation 1: failed"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (599, "599 s"), (1200, "20 min")]
)
def test_seconds_have_digits_that_mean_something(seconds, shown):
    assert in_seconds(seconds) == shown
