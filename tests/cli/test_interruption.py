"""Ctrl-C and kill -9 during a fit, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from logikern.cli.session.exits import AbortedError
from logikern.cli.session.interruption import Interruption, interrupts_to
from logikern.selection.journal import FORMAT
from logikern.selection.lock import locked


@dataclass
class Shell:
    """A folder with a table on which a search takes a second or two."""

    folder: Path

    def start(self, *arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "logikern.cli.main", "fit", "t.csv", "-t", "kind", "-o", "m.skops"]
        return subprocess.Popen([*command, *arguments], cwd=self.folder, stderr=subprocess.PIPE, text=True)

    def criterion_value(self, run) -> float:
        return json.loads(run("info", self.folder / "m.skops", "--json").stdout)["criterion_value"]


@pytest.fixture
def shell(make_table, tmp_path) -> Shell:
    make_table(400).to_csv(tmp_path / "t.csv", index=False)
    return Shell(tmp_path)


def read_until(process: subprocess.Popen, fragment: str) -> None:
    for line in process.stderr:
        if fragment in line:
            return
    raise AssertionError(f"the fit ended without saying {fragment!r}")


def test_interrupted_search_writes_its_best_model_and_exits_with_three(shell, run):
    with shell.start() as process:
        read_until(process, "evaluation 2:")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 3, said
    assert "Ctrl-C again to abort" in said and "warning: The search for hyperparameters ended early" in said
    assert run("evaluate", shell.folder / "m.skops", shell.folder / "t.csv", "-t", "kind").exit_code == 0


def test_second_interrupt_aborts_with_130_and_writes_nothing(shell):
    with shell.start() as process:
        read_until(process, "evaluation 2:")
        process.send_signal(signal.SIGINT)
        read_until(process, "Ctrl-C again to abort")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, "Traceback" in said) == (130, False), said
    assert not (shell.folder / "m.skops").exists()


def test_killed_search_resumes_from_its_checkpoint(shell, run):
    checkpoint = ("--checkpoint", str(shell.folder / "fit.search"))
    with shell.start(*checkpoint) as process:
        read_until(process, "evaluation 4:")
        process.kill()
        process.communicate(timeout=60)
    kept = (shell.folder / "fit.search").stat().st_size
    arguments = ("fit", shell.folder / "t.csv", "-t", "kind", "-o", shell.folder / "m.skops")
    assert run(*arguments, *checkpoint).exit_code == 0
    resumed = shell.criterion_value(run)
    assert run(*arguments).exit_code == 0
    assert resumed == pytest.approx(shell.criterion_value(run), abs=1e-6)
    assert (shell.folder / "fit.search").stat().st_size > kept > 0


def test_checkpoint_of_other_settings_is_refused(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = (
        "fit",
        tmp_path / "t.csv",
        "-t",
        "kind",
        "-o",
        tmp_path / "m.skops",
        "--checkpoint",
        tmp_path / "s.search",
    )
    assert run(*arguments, "--max-time", "0.05").exit_code == 0
    result = run(*arguments, "--cv", "3")
    assert result.exit_code == 1 and "belongs to other data or other settings" in result.stderr


def test_missing_parents_of_a_new_checkpoint_folder_are_created(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    folder = tmp_path / "a" / "b"
    options = ("--target", "kind", "--out", tmp_path / "m.skops", "--max-time", "0.05", "--checkpoint", folder)
    assert run("fit", tmp_path / "t.csv", *options).exit_code == 0
    assert len(list(folder.iterdir())) == 1


def test_damaged_checkpoint_is_one_sentence(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.search").write_bytes(f"logikern search {FORMAT} ".encode() + 64 * b"0" + b"\n" + bytes(100))
    result = run(
        "fit", tmp_path / "t.csv", "-t", "kind", "-o", tmp_path / "m.skops", "--checkpoint", tmp_path / "s.search"
    )
    last = result.stderr.splitlines()[-1]
    assert result.exit_code == 1 and last.startswith("error: `--checkpoint` must be a file")
    assert f"`{tmp_path / 's.search'}` is damaged" in last and "Delete it" in last


def test_checkpoint_in_use_is_one_sentence(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = (
        "fit",
        tmp_path / "t.csv",
        "-t",
        "kind",
        "-o",
        tmp_path / "m.skops",
        "--checkpoint",
        tmp_path / "s.search",
    )
    with locked(tmp_path / "s.search"):
        result = run(*arguments)
    assert result.exit_code == 1 and f"`{tmp_path / 's.search'}` is in use by another search" in result.stderr


def test_search_ends_between_evaluations_only_if_asked():
    interruption = Interruption(announced=False)
    interruption.honour()
    interruption.receive(signal.SIGINT, None)
    with pytest.raises(KeyboardInterrupt):
        interruption.honour()
    assert interruption.honoured


def test_interrupt_in_the_final_fit_says_that_it_goes_on():
    assert "final fit continues" in Interruption(final=True).answer


def test_second_interrupt_is_no_exception_that_a_search_takes():
    interruption = Interruption(announced=False, asked=True)
    with pytest.raises(AbortedError):
        interruption.receive(signal.SIGINT, None)
    assert not issubclass(AbortedError, Exception | KeyboardInterrupt)


@pytest.fixture
def interruptible():
    """A shell that runs the tests in the background has them ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_handler_is_put_back(interruptible):
    received = []
    with interrupts_to(lambda number, frame: received.append(number)):
        os.kill(os.getpid(), signal.SIGINT)
    assert received == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_to(lambda number, frame: np.nan):
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
