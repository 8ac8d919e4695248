import multiprocessing
import threading
import time
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from logikern.numerics import parallel
from logikern.numerics.parallel import for_each, n_threads, own_threads, shares


@pytest.fixture
def three_threads(monkeypatch):
    """As on a machine whose BLAS is allowed three threads."""
    with own_threads():
        monkeypatch.setattr(parallel._crew, "n_threads", 3)
        yield


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


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


def test_blas_is_restored_by_the_last_of_two_that_overlap():
    before = blas_threads()
    first, second = own_threads(), own_threads()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_as_many_threads_as_the_blas_was_allowed():
    with threadpool_limits(1), own_threads():
        assert n_threads() == 1


def _child(queue):
    with own_threads():
        parallel._crew.n_threads = 2
        queue.put(for_each(abs, [-1, -2, -3]))


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


@pytest.mark.parametrize("length, smallest, wanted", [(9, 1, 3), (9, 5, 1), (2, 1, 2), (0, 1, 1), (1000, 300, 3)])
def test_shares_cover_the_range_evenly(three_threads, length, smallest, wanted):
    parts = shares(length, smallest)
    assert [number for part in parts for number in range(length)[part]] == list(range(length))
    assert len(parts) == wanted
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) - min(sizes) <= 1
