"""What is said while a command works."""

import io
import sys

import numpy as np
import pytest

from logikern import KernelLogisticClassifier
from logikern.cli.narration import Narrator


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def fit_displayed() -> KernelLogisticClassifier:
    rng = np.random.default_rng(0)
    classifier = KernelLogisticClassifier()
    with Narrator().working("fit", classifier):
        classifier.fit(rng.standard_normal((30, 2)), np.arange(30) % 2)
    return classifier


def test_terminal_shows_the_steps_of_the_fit(monkeypatch):
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")
    monkeypatch.setattr(sys, "stderr", Terminal())
    fit_displayed()
    assert ", step" in sys.stderr.getvalue()


def test_display_is_not_left_in_the_estimator(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert "_skl_callbacks" not in vars(fit_displayed())


def test_file_gets_plain_lines(capsys):
    fit_displayed()
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "fit ..." and said[1].startswith("fit: ") and len(said) == 2


def test_quiet_keeps_warnings(capsys):
    Narrator(quiet=True).say("nothing")
    Narrator(quiet=True).warn("beware")
    assert capsys.readouterr().err == "warning: beware\n"
