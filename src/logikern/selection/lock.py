"""A file that one search at a time may use."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _give_back(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(handle: int) -> None:
        # Not `lockf`, whose locks belong to a process: two threads would both get one.
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _give_back(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


class InUseError(ValueError):
    """Another search uses the file."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file for one search among all threads and processes; the lock ends with the process.

    The lock is held on a file next to `path`, because `path` itself is replaced whenever it is written.

    Raises
    ------
    InUseError
        If another search uses the file.
    """
    beside = path.with_name(f".{path.name}.lock")
    handle = _acquire(beside, path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows does not remove a file that is open
            os.unlink(beside)
        _give_back(handle)  # closing alone would leave the lock to the children of a fork
        os.close(handle)


def _acquire(beside: Path, path: Path) -> int:
    while True:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _take(handle)
            if _is_at(handle, beside):
                return handle
        except (BlockingIOError, PermissionError):
            os.close(handle)
            raise InUseError(
                f"The checkpoint `{path}` is in use by another search. If several fits share it, as in "
                "GridSearchCV with `n_jobs`, pass a folder, in which every search has its own file (a new path "
                "without a suffix is taken as a folder). Otherwise wait until the other search has ended."
            ) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its last user removed the file after we opened it


def _is_at(handle: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(place))
    except FileNotFoundError:
        return False
