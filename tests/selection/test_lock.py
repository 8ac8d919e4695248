"""One user at a time, in this process or another, and no lock outlives its process."""

import multiprocessing
import os
import subprocess
import sys
import threading
from signal import SIGKILL

import pytest

from logikern.selection.lock import locked

HOLD = """
import sys, time
from pathlib import Path
from logikern.selection.lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.search"


@pytest.fixture
def holder(path):
    """Another process that holds the lock."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def is_free(path):
    try:
        with locked(path):
            return True
    except ValueError:
        return False


def test_lock_held_by_another_process_is_refused(path, holder):
    refused = pytest.raises(ValueError, match=f"`{path}` is in use by another search. If several fits share it")
    with refused, locked(path):
        pass


def test_lock_of_a_killed_process_is_free(path, holder):
    os.kill(holder.pid, SIGKILL)
    holder.wait()
    assert is_free(path)


def test_lock_held_by_another_thread_is_refused(path):
    found = []
    with locked(path):
        thread = threading.Thread(target=lambda: found.append(is_free(path)))
        thread.start()
        thread.join()
    assert found == [False]


def test_lock_of_another_file_is_another_lock(path):
    with locked(path):
        assert is_free(path.with_name("search.0"))


def test_lock_is_free_again_after_an_error(path):
    with pytest.raises(KeyboardInterrupt), locked(path):
        raise KeyboardInterrupt
    assert is_free(path)


def test_lock_leaves_no_file(path):
    with locked(path):
        pass
    assert not list(path.parent.iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_lock_is_not_left_to_the_child_of_a_fork(path):
    parent, child = multiprocessing.Pipe()
    with locked(path):
        number = os.fork()
        if not number:
            child.recv()  # lives on with all open files of its parent
            os._exit(0)
    free = is_free(path)
    parent.send(None)
    os.waitpid(number, 0)
    assert free


def test_many_threads_have_the_lock_one_after_the_other(path):
    inside, most, turns = [], [], []

    def work():
        while len(turns) < 200:
            try:
                with locked(path):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
                    turns.append(1)
            except ValueError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
