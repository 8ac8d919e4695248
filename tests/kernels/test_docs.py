"""docs/adding-a-kernel.md shows the source as it is, and its example works."""

import importlib
import inspect
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from logikern.kernels import Kernel
from tests.kernels.catalogue import table

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-kernel.md").read_text(encoding="utf-8")
SOURCE = re.compile(r"<!-- source: (\S+) -->\n```python\n(.*?)```", re.DOTALL)
EXAMPLE = re.compile(r"<!-- example -->\n```python\n(.*?)```", re.DOTALL)


def load(dotted):
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.fixture
def cauchy(monkeypatch):
    module = types.ModuleType("cauchy_example")
    # Dataclasses look up their module to resolve annotations.
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(EXAMPLE.search(PAGE).group(1), module.__dict__)
    return module.Cauchy


@pytest.mark.parametrize(("dotted", "shown"), SOURCE.findall(PAGE))
def test_shown_source_is_the_source(dotted, shown):
    assert shown == inspect.getsource(load(dotted)), f"copy the source of {dotted} into docs/adding-a-kernel.md"


def test_interface_is_shown():
    assert [dotted for dotted, _ in SOURCE.findall(PAGE)] == ["logikern.kernels.base.Kernel"]


def test_text_counts_what_a_kernel_owes():
    prose = SOURCE.sub("", PAGE)
    number = ("no", "one", "two", "three", "four")[len(Kernel.__abstractmethods__)]
    assert f"the {number} abstract methods" in prose


def test_example_has_its_closed_form(cauchy):
    points = table()
    gaps = points[:, np.newaxis] - points
    expected = 1.0 / (1.0 + np.sum(np.array([0.5, 1.0, 2.0]) * gaps**2, axis=2))
    np.testing.assert_allclose(cauchy((0.5, 1.0, 2.0))(points, points), expected, rtol=1e-12)


def test_gradient_of_example_matches_differences(cauchy):
    points, step = table(), 1e-5
    left, right = np.random.default_rng(0).standard_normal((2, 2, len(points)))
    values = [np.sum((left @ cauchy(0.7 * np.exp(move))(points, points)) * right) for move in (step, -step)]
    contraction = cauchy(0.7).contract_gradient(points, points, left, right)
    np.testing.assert_allclose(contraction, [(values[0] - values[1]) / (2 * step)], rtol=1e-7)
