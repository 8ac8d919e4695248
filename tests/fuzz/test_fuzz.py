"""A fixed budget of random cases, about 40 seconds on one core; `make fuzz` runs new ones."""

import pytest

from tests.fuzz.families import FAMILIES, family_of, run_case
from tests.fuzz.run import main

SEEDS = range(200)


@pytest.mark.parametrize("seed", SEEDS)
def test_case_of_a_seed(seed):
    report = run_case(seed)
    told = "\n".join(report.failures)
    assert not report.failures, f"{report.family}; repeat it by `{report.command}`:\n{told}"


def test_every_family_occurs():
    assert {family_of(seed) for seed in SEEDS} == set(FAMILIES)


def test_case_is_a_function_of_its_seed():
    first, second = run_case(5), run_case(5)
    assert first == second


def test_command_repeats_a_case(capsys):
    assert main(["--seed", "5"]) == 0
    assert "1 cases" in capsys.readouterr().out
