"""How commands end."""

import signal
import subprocess
import sys
import time

import pytest
import typer
from typer.testing import CliRunner

from logikern.cli.session.exits import AbortedError, ends_cleanly


def ending(error: BaseException, *arguments: str):
    """Run a command that raises `error`."""
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    @ends_cleanly
    def command(number: int = 1) -> None:
        raise error

    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("wanted\n  that"), 1, "error: wanted that"),
        (TypeError("wrong type"), 1, "error: wrong type"),
        (PermissionError(13, "Permission denied", "m.skops"), 1, "cannot use `m.skops`: Permission denied"),
        (MemoryError("8 GiB"), 1, "not enough memory (8 GiB)"),
        (KeyError("x"), 1, "unexpected KeyError: 'x'. This is a bug"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (AbortedError(), 130, "interrupted"),
        (typer.BadParameter("no"), 2, "no"),
        (typer.Exit(3), 3, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_exception_becomes_exit_code_and_sentence(error, code, message):
    result = ending(error)
    assert result.exit_code == code and message in result.stderr
    assert "Traceback" not in result.output


def test_reader_that_goes_away_is_no_error_to_talk_about():
    result = ending(BrokenPipeError())
    assert isinstance(result.exception, OSError | SystemExit) and result.stderr == ""


def test_traceback_option_lets_the_exception_through():
    error = ValueError("wanted that")
    assert ending(error, "--traceback").exception is error


def test_environment_asks_for_the_traceback(monkeypatch):
    monkeypatch.setenv("LOGIKERN_DEBUG", "1")
    error = ValueError("wanted that")
    assert ending(error).exception is error


def test_own_options_survive_the_wrapping():
    assert ending(ValueError("reached"), "--number", "two").exit_code == 2


def shell(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "logikern.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_refusal_in_a_shell_is_one_line_on_standard_error(tmp_path):
    result = shell("info", tmp_path / "none.skops")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)


def test_traceback_in_a_shell_shows_where(tmp_path):
    result = shell("info", tmp_path / "none.skops", "--traceback")
    assert result.returncode == 1 and "Traceback" in result.stderr


@pytest.mark.parametrize("arguments", [("predict", "{data}"), ("info", "--json"), ("suspects",)])
def test_closed_pipe_ends_quietly(arguments, model, make_table, tmp_path):
    data = tmp_path / "many.csv"
    make_table(n_points=6000).to_csv(data, index=False)
    name, *rest = (word.format(data=data) for word in arguments)
    command = [sys.executable, "-m", "logikern", name, str(model), *rest]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        said = process.stderr.read()
        process.wait(timeout=60)
    assert "Traceback" not in said and "BrokenPipe" not in said and "bug" not in said


@pytest.mark.parametrize(
    "arguments", ["predict -q {model} {data}", "info {model}", "evaluate {model} {data}", "--help"]
)
def test_pipe_to_a_reader_that_stops_early_is_quiet(arguments, model, make_table, tmp_path):
    make_table().to_csv(tmp_path / "few.csv", index=False)
    command = f"{sys.executable} -m logikern {arguments.format(model=model, data=tmp_path / 'few.csv')} | true"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_interrupt_in_a_shell_ends_with_130_and_no_traceback():
    command = [sys.executable, "-m", "logikern.cli.main", "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stderr.readline(), process.stderr.readline()
        time.sleep(1)  # in the search
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in said and "Traceback" not in said


@pytest.mark.parametrize("command", ["fit", "predict", "decide", "evaluate", "report", "suspects", "info", "demo"])
def test_help_has_examples_and_exit_codes(command, run):
    shown = run(command, "--help").stdout
    assert "Examples:" in shown and f"logikern {command}" in shown and "Exit codes: 0" in shown


def test_version_is_printed(run):
    assert run("--version").stdout.startswith("logikern 0.")


def test_no_command_shows_help(run):
    assert "Usage" in run().output
