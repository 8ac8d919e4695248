"""Exact fits and leave-one-out by several threads: as by one, and at the same time."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from logikern.criteria.leave_one_out import posterior
from logikern.criteria.leave_one_out.criterion import choose_landmarks
from logikern.fitting.newton import systems
from logikern.fitting.newton.dense import Exact
from logikern.numerics.parallel import TILES, own_threads
from tests.criteria import leaving
from tests.criteria.leaving import Setting
from tests.fitting import catalogue
from tests.numerics.blas_threads import three_blas_threads

FITS = ("shared", "separate", "many classes", "balanced tree, separate", "without siblings tree, level")


@pytest.fixture
def many_small_pieces(monkeypatch):
    """Divide matrices that would be too small for it."""
    sizes = {"cholesky_rows": 8, "factor_from": 10, "inverse_from": 10, "fewest_rows": 2, "triangle_rows": 8}
    for name, size in {**sizes, "fewest_entries": 64}.items():
        monkeypatch.setitem(vars(TILES), name, size)


def by(n_threads, function):
    with three_blas_threads(), own_threads(n_threads):
        return function()


@pytest.mark.parametrize("name", FITS)
def test_exact_fit_by_three_threads_is_that_by_one(many_small_pieces, name):
    problem = catalogue.BY_NAME[name].build()
    one, three = (by(n, lambda: Exact(1e-10).fit(problem)) for n in (1, 3))
    assert three.outcome is one.outcome
    # Sums in another order, at solutions that are exact to 1e-10.
    np.testing.assert_allclose(three.dual, one.dual, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("setting", leaving.ALL[::12], ids=str)
def test_leave_one_out_by_three_threads_is_that_by_one(many_small_pieces, setting):
    one, three = by(1, setting.evaluate), by(3, setting.evaluate)
    collect = setting.specification().collect
    assert abs(three.value - one.value) <= 1e-10 * abs(one.value)
    np.testing.assert_allclose(collect(three.gradient), collect(one.gradient), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_leave_one_out_by_landmarks_by_three_threads_is_that_by_one(many_small_pieces, n_classes):
    setting = Setting(n_classes=n_classes)
    covariance = setting.problem().covariance
    criterion = replace(setting.criterion(), landmarks=choose_landmarks(covariance, 12))
    one, three = (by(n, lambda: criterion.evaluate(covariance, None, 1e-10)) for n in (1, 3))
    assert one.method.startswith("low rank")
    assert abs(three.value - one.value) <= 1e-10 * abs(one.value)
    collect = setting.specification().collect
    np.testing.assert_allclose(collect(three.gradient), collect(one.gradient), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("module", [systems, posterior], ids=["fit", "leave-one-out"])
def test_classes_are_factorised_at_the_same_time(monkeypatch, module):
    meeting, scale = threading.Barrier(3, timeout=20), systems.scaled_covariance

    def meet(block, factor):
        meeting.wait()
        return scale(block, factor)

    monkeypatch.setattr(module, "scaled_covariance", meet)
    assert by(3, Setting(n_classes=3).evaluate).outcome.converged
