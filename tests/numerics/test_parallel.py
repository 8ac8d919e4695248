import multiprocessing
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from logikern.numerics import parallel
from logikern.numerics.parallel import even_slices, for_each, n_threads, own_threads
from tests.numerics.blas_threads import blas_threads, three_blas_threads


@pytest.fixture
def three_threads():
    """As in a fit on a machine whose BLAS is allowed three threads."""
    with three_blas_threads(), own_threads():
        yield


def test_results_are_in_the_order_of_the_items(three_threads):
    def slow_at_first(number):
        time.sleep(0.01 if number < 3 else 0.0)
        return number**2

    assert for_each(slow_at_first, range(20)) == [number**2 for number in range(20)]


def test_several_threads_are_at_work(three_threads):
    meeting = threading.Barrier(3, timeout=20)
    assert sorted(for_each(lambda item: (meeting.wait(), item)[1], range(3))) == [0, 1, 2]


def test_without_a_hold_there_is_one_thread():
    assert len(set(for_each(lambda item: threading.get_ident(), range(8)))) == 1


def test_one_inside_another_is_serial(three_threads):
    def inner(item):
        return n_threads(), set(for_each(lambda other: threading.get_ident(), range(4))) == {threading.get_ident()}

    assert for_each(inner, range(6)) == [(1, True)] * 6
    assert n_threads() == 3


def test_error_of_any_thread_is_raised_and_ends_the_work(three_threads):
    done = []

    def fail_early(number):
        if number == 1:
            raise ZeroDivisionError
        time.sleep(0.01)
        done.append(number)

    with pytest.raises(ZeroDivisionError):
        for_each(fail_early, range(200))
    assert len(done) < 20
    assert for_each(abs, [-1, -2]) == [1, 2]


def test_nothing_to_do():
    assert for_each(abs, []) == []


def test_error_state_of_numpy_holds_in_all_threads(three_threads):
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.simplefilter("error")
        results = for_each(lambda item: np.divide(np.ones(1), 0.0), range(6))
    assert np.isinf(results).all()


def test_blas_keeps_to_one_thread_inside_and_is_restored():
    before = blas_threads()
    with own_threads():
        assert blas_threads() == {1}
    assert blas_threads() == before


def _child(queue):
    meeting = threading.Barrier(3, timeout=20)
    with own_threads():
        queue.put(for_each(lambda item: (meeting.wait(), abs(item))[1], [-1, -2, -3]))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot be forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_has_threads_of_its_own(three_threads):
    for_each(abs, [-1, -2, -3])  # the parent has its threads now
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=30) == [1, 2, 3]
    finally:
        child.kill()


def test_work_does_not_wait_for_helpers_that_are_busy_with_other_work(three_threads):
    going_on = threading.Event()
    with ThreadPoolExecutor(1) as other:

        def hold_and_wait():
            with own_threads():
                return for_each(lambda item: going_on.wait(20), range(3))

        long = other.submit(hold_and_wait)
        time.sleep(0.1)  # both helpers have begun
        try:
            assert for_each(abs, range(-9, 0)) == list(range(9, 0, -1))
            assert not long.done()
        finally:
            going_on.set()
        assert long.result(20) == [True] * 3


def test_threads_of_a_smaller_pool_end_when_it_grows(monkeypatch):
    monkeypatch.setattr(parallel, "_pool", parallel._Pool())
    meeting = threading.Barrier(2, timeout=20)
    with three_blas_threads():
        with own_threads(2):
            helper = set(for_each(lambda item: (meeting.wait(), threading.current_thread())[1], range(2)))
        helper.discard(threading.current_thread())
        with own_threads(3):
            for_each(abs, range(3))
    (thread,) = helper
    thread.join(10)
    assert not thread.is_alive()


def test_interrupt_before_the_work_begins_ends_helpers(three_threads, monkeypatch):
    submit, done = parallel._pool.submit, []

    def interrupted(n_tasks, work):
        submit(n_tasks, work)
        raise KeyboardInterrupt

    monkeypatch.setattr(parallel._pool, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        for_each(lambda item: (time.sleep(0.01), done.append(item)), range(500))
    time.sleep(0.1)
    assert len(done) < 10
    assert n_threads() == 3


LATE = """
import threading, time
import numpy
from logikern.numerics import parallel
from logikern.numerics.parallel import for_each, own_threads

def work():
    threading.main_thread().join()
    time.sleep(0.1)
    with own_threads():
        print(for_each(abs, [-1, -2, -3]))

threading.Thread(target=work).start()
"""


def test_work_goes_on_in_a_thread_that_outlives_the_main_one():
    limits = {f"{library}_NUM_THREADS": "2" for library in ("OPENBLAS", "OMP", "MKL")}
    found = subprocess.run([sys.executable, "-c", LATE], env={**os.environ, **limits}, capture_output=True, text=True)
    assert found.stdout == "[1, 2, 3]\n", found.stderr


@pytest.mark.parametrize("length, smallest, wanted", [(9, 1, 3), (9, 5, 1), (2, 1, 2), (0, 1, 1), (1000, 300, 3)])
def test_shares_cover_the_range_evenly(three_threads, length, smallest, wanted):
    parts = even_slices(length, smallest)
    assert [number for part in parts for number in range(length)[part]] == list(range(length))
    assert len(parts) == wanted
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) - min(sizes) <= 1
