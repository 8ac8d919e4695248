"""Completion of commands, options and names in a shell."""

import os
import subprocess
import sys

import pytest

CODE = "import sys; sys.argv[0] = 'logikern'; from logikern.__main__ import main; main()"


def logikern(*arguments: str, **variables: str) -> str:
    command = [sys.executable, "-c", CODE, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})
    return result.stdout


def completions(line: str) -> list[str]:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    return logikern(_LOGIKERN_COMPLETE="complete_bash", **words).split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_of_a_shell_is_printed(shell):
    # Without detection, the shell is the value of the option.
    script = logikern("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert f"complete_{shell}" in script and "logikern" in script


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("logikern pre", ["predict"]),
        ("logikern fit t.csv --target y --reg", ["--regression"]),
        ("logikern fit t.csv --kernel mat", ["matern12", "matern32", "matern52"]),
        ("logikern fit t.csv --criterion l", ["loo"]),
    ],
)
def test_rest_of_a_word_is_completed(line, expected):
    assert completions(line) == expected
