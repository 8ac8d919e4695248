"""Limits of the BLAS are as before after any fits, in whichever threads, however they end."""

import gc
import itertools
import multiprocessing
import random
import signal
import threading
import time

import pytest
from threadpoolctl import threadpool_limits

from logikern.numerics.parallel import n_threads, own_threads
from tests.numerics.blas_threads import blas_threads, three_blas_threads

forks = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot be forked here"
)
# Python warns of forks in a process with threads; what becomes of such children is what is tested.
quiet = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def three_threads():
    with three_blas_threads():
        assert blas_threads() == {3}
        yield


class Holder(threading.Thread):
    """A thread that holds the BLAS until it is told to end the hold, and lives on like that of a pool."""

    def __init__(self, most=None):
        super().__init__(daemon=True)
        self.most, self.n_threads = most, 0
        self.begun, self.ending, self.ended, self.test_over = (threading.Event() for _ in range(4))

    def run(self):
        with own_threads() if self.most is None else own_threads(self.most):
            self.n_threads = n_threads()
            self.begun.set()
            self.ending.wait(30)
        self.ended.set()
        self.test_over.wait(30)

    def begin(self):
        self.start()
        assert self.begun.wait(30)
        return self

    def end(self):
        self.ending.set()
        assert self.ended.wait(30)


@pytest.fixture
def hold():
    """Begins a hold in a thread of its own."""
    holders = []

    def begin(most=None):
        holders.append(Holder(most).begin())
        return holders[-1]

    yield begin
    for holder in holders:
        holder.ending.set()
        holder.test_over.set()
        holder.join(30)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_holds_of_threads_may_end_in_any_order(hold, order):
    holders = [hold() for _ in range(3)]
    for number in order:
        assert blas_threads() == {1}
        holders[number].end()
    assert blas_threads() == {3}


def test_hold_that_outlives_the_thread_which_began_the_first_one(hold):
    first = hold()
    with own_threads():
        first.end()
        assert blas_threads() == {1}
    assert blas_threads() == {3}


def test_other_threads_may_set_limits_after_a_fit_in_the_main_thread():
    with own_threads():
        pass
    seen = []

    def look():
        with threadpool_limits(2):
            seen.append(blas_threads())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [{2}]
    assert blas_threads() == {3}


def test_hold_inside_a_hold():
    with own_threads():
        with own_threads():
            assert blas_threads() == {1}
            assert n_threads() == 3
        assert blas_threads() == {1}
    assert blas_threads() == {3}


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_errors_in_threads_end_their_holds(hold, error):
    other = hold()

    def fail():
        with pytest.raises(error), own_threads():
            raise error

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert blas_threads() == {1}
    other.end()
    assert blas_threads() == {3}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_interrupts_at_any_moment_end_the_hold():
    draw = random.Random(0)
    with own_threads():
        began = time.perf_counter()
    with own_threads():
        pass
    usual = max(time.perf_counter() - began, 1e-3)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    n_interrupted = 0
    try:
        for _ in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 2 * usual))
                deadline = time.perf_counter() + 10
                while time.perf_counter() < deadline:
                    with own_threads():
                        pass
            except KeyboardInterrupt:
                n_interrupted += 1
            assert blas_threads() == {3}
            assert n_threads() == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    assert n_interrupted == 150
    with own_threads():
        assert blas_threads() == {1}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("call", range(4))  # two libraries are lowered, then restored, or one twice as often
def test_interrupt_while_a_limit_is_set_loses_no_limit(monkeypatch, moment, call):
    from logikern.numerics import blas_hold

    calls = itertools.count()

    def interrupted(library):
        def write(limit):
            now = next(calls) == call
            if now and moment == "before":
                raise KeyboardInterrupt
            library.write(limit)
            if now:
                raise KeyboardInterrupt

        return blas_hold.Library(library.path, library.read, write, library.per_thread)

    found = blas_hold.find_libraries
    monkeypatch.setattr(blas_hold, "find_libraries", lambda: [interrupted(library) for library in found()])
    try:
        with own_threads():
            pass
    except KeyboardInterrupt:
        pass
    gc.collect()
    assert blas_threads() == {3}


def test_limit_of_the_caller_is_kept_and_left_as_it_was():
    with threadpool_limits(2):
        with own_threads():
            assert n_threads() == 2
        assert blas_threads() == {2}
    assert blas_threads() == {3}


def test_limit_of_the_caller_holds_for_threads_that_it_starts(hold):
    with threadpool_limits(2):
        holders = [hold() for _ in range(2)]
        assert [holder.n_threads for holder in holders] == [2, 2]
        assert blas_threads() == {1}
        for holder in holders:
            holder.end()
        assert blas_threads() == {2}
    assert blas_threads() == {3}


def test_limit_that_ends_during_a_hold_stays_ended(hold):
    with threadpool_limits(2):
        holder = hold()
    assert blas_threads() == {3}
    holder.end()
    assert blas_threads() == {3}


def test_number_of_threads_belongs_to_the_hold(hold):
    one, all_of_them = hold(1), hold()
    assert (one.n_threads, all_of_them.n_threads) == (1, 3)
    one.end()
    all_of_them.end()


@pytest.mark.parametrize("most, wanted", [(1, 1), (2, 2), (3, 3), (8, 3), (None, 3)])
def test_never_more_threads_than_the_blas_was_allowed(most, wanted):
    with own_threads(most):
        assert n_threads() == wanted


def test_hold_inside_a_hold_keeps_to_its_number():
    with own_threads(2), own_threads(3):
        assert n_threads() == 2


def _report(queue):
    before = blas_threads()
    with own_threads():
        queue.put((before, n_threads(), blas_threads()))
    queue.put(blas_threads())


def _fork_and_report():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_report, args=(queue,))
    child.start()
    try:
        return queue.get(timeout=30), queue.get(timeout=30)
    finally:
        child.kill()
        child.join()


@forks
@quiet
def test_child_forked_while_another_thread_holds_the_blas_has_its_limits_from_before(hold):
    holder = hold()
    assert _fork_and_report() == (({3}, 3, {1}), {3})
    assert blas_threads() == {1}
    holder.end()
    assert blas_threads() == {3}


@forks
@quiet
def test_child_forked_inside_a_hold_has_its_limits_from_before():
    with own_threads(1):
        assert _fork_and_report() == (({3}, 3, {1}), {3})
        assert blas_threads() == {1}
    assert blas_threads() == {3}


class TestLimitsOfThreads:
    """A BLAS such as MKL, in which every thread has a limit of its own."""

    @pytest.fixture(autouse=True)
    def library(self, monkeypatch):
        from logikern.numerics import blas_hold

        own = threading.local()
        library = blas_hold.Library(
            "mkl",
            read=lambda: getattr(own, "limit", 3),
            write=lambda limit: setattr(own, "limit", limit),
            per_thread=True,
        )
        monkeypatch.setattr(blas_hold, "find_libraries", lambda: [library])
        self.library = library

    def test_each_thread_lowers_and_restores_its_own(self):
        seen = []

        def look():
            with own_threads():
                seen.append((n_threads(), self.library.read()))
            seen.append(self.library.read())

        with own_threads():
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            assert self.library.read() == 1
        assert self.library.read() == 3
        assert seen == [(3, 1), 3]

    def test_helping_threads_keep_to_one(self, monkeypatch):
        from logikern.numerics import parallel

        monkeypatch.setattr(parallel, "_pool", parallel._Pool())
        meeting = threading.Barrier(3, timeout=20)
        with own_threads():
            assert parallel.for_each(lambda item: (meeting.wait(), self.library.read())[1], range(3)) == [1, 1, 1]
