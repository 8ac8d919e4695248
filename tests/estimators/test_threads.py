"""Estimators in threads, processes and forked children, and the threads that they use themselves."""

import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from logikern.kernels import Gaussian
from logikern.numerics.parallel import n_threads
from tests.estimators.samples import SPECIES, X, fixed
from tests.numerics.blas_threads import blas_threads, three_blas_threads

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def three_threads():
    with three_blas_threads():
        yield


def threads_of_fit(n_jobs):
    seen = []

    def look(one, other):
        seen.append(n_threads())
        return float(np.exp(-0.15 * np.sum((one - other) ** 2)))

    fixed(kernel=look, n_jobs=n_jobs).fit(X, SPECIES)
    return max(seen)


@pytest.mark.parametrize("n_jobs, wanted", [(None, 3), (-1, 3), (1, 1), (2, 2), (8, 3)])
def test_fit_keeps_to_its_number_of_threads(n_jobs, wanted):
    assert threads_of_fit(n_jobs) == wanted
    assert blas_threads() == {3}


@pytest.mark.parametrize("n_jobs", [None, -1, 2, 8])
def test_fit_keeps_to_the_limit_of_its_caller(n_jobs):
    with threadpool_limits(2):
        assert threads_of_fit(n_jobs) == 2
        assert blas_threads() == {2}
    assert blas_threads() == {3}


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_fits_in_threads_that_fail_restore_the_blas(error):
    def fail(one, other):
        raise error

    def fit(kernel):
        try:
            return fixed(kernel=kernel).fit(X, SPECIES).predict_proba(X)
        except error:
            return None

    kernels = [Gaussian(0.3), fail] * 4
    found = joblib.Parallel(4, backend="threading")(joblib.delayed(fit)(kernel) for kernel in kernels)
    assert blas_threads() == {3}
    alone = fixed(kernel=Gaussian(0.3)).fit(X, SPECIES).predict_proba(X)
    assert [one is None for one in found] == [False, True] * 4
    for one in found[::2]:
        np.testing.assert_allclose(one, alone, rtol=1e-12)


def test_fits_at_the_same_time_leave_limits_and_results_as_they_are():
    limits = {f"{library}_NUM_THREADS": "2" for library in ("OPENBLAS", "OMP", "MKL")}
    command = [sys.executable, str(ROOT / "benchmarks" / "threads.py"), "--quick"]
    found = subprocess.run(command, env={**os.environ, **limits}, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "NOT MET" not in found.stdout, found.stdout
    assert found.stdout.count("- met:") == (10 if hasattr(os, "fork") else 8)
