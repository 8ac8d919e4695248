"""Evaluations recorded as they happen, so that a killed search can be resumed."""

import contextlib
import hashlib
import io
import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from logikern.numerics.outcome import Array
from logikern.numerics.temperature import Temperature
from logikern.selection.lock import InUseError, locked
from logikern.structure.covariance import CovarianceGradient

FORMAT = 6
# A file begins with this line: its format, and the checksum of all that follows. The checksums of a zip archive leave
# parts of it unprotected, among them the shapes of arrays.
HEADER = re.compile(rb"logikern search (\d+) ([0-9a-f]{64})\n")
LONGEST_HEADER = 128
# The file may be something else that the user needs.
FOREIGN_ADVICE = "Choose another path, or delete this one if you do not need it."
# Characters of a fingerprint in the name of a file.
NAME_LENGTH = 16


@dataclass(frozen=True, eq=False)
class Entry:
    """One evaluation of a criterion, as a search sees it."""

    point: Array  # (p,): log parameters at which it was taken
    value: float
    gradient: CovarianceGradient  # by operators and latent functions, before sharing
    losses: Array  # (n_losses,)
    usable: bool
    n_products: int
    seconds: float
    temperature: Temperature = Temperature()
    state: Array | None = None  # warm start of a later evaluation; None if unusable
    dual: Array | None = None  # (C, n): mean dual of its fits, if there is a state and the criterion knows it
    # (p,): the gradient in all log parameters, if the model has hyperparameters outside its covariance.
    derivatives: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(eq=False)
class Journal:
    """The evaluations of a search in their order. Only the most recent state is kept.

    A search is a deterministic function of the values and gradients that it is given. A resumed search runs again
    from its beginning with the answers in the journal, and then continues with new ones.
    """

    # The file, under a lock of the caller (see `opened`); None keeps the journal in memory only.
    path: Path | None = None
    fingerprint: str = ""  # of data and settings; a journal with another fingerprint is rejected
    entries: list[Entry] = field(default_factory=list)
    cursor: int = 0

    def answer(self, point: Array, compute: Callable[[], Entry]) -> Entry:
        """The next recorded evaluation, or a new one, which is then recorded."""
        if self.cursor < len(self.entries):
            entry = self.entries[self.cursor]
            if entry.point.shape != point.shape or not np.allclose(entry.point, point, rtol=1e-9, atol=1e-9):
                raise ValueError(
                    f"The checkpoint `{self.path}` was written by another search: its evaluations do not match. "
                    "Delete it, or choose another `checkpoint`."
                )
            self.cursor += 1
            return entry
        entry = compute()
        if entry.state is not None:
            self.entries = [replace(own, state=None, dual=None) for own in self.entries]
        self.entries.append(entry)
        self.cursor += 1
        if self.path is not None:
            write(self)
        return entry

    @property
    def replaying(self) -> bool:
        """Whether the next answer is known already."""
        return self.cursor < len(self.entries)


def write(journal: Journal) -> None:
    """Write the journal atomically: if the process is killed, the file is complete, whether old or new."""
    assert journal.path is not None
    arrays = {"fingerprint": np.array(journal.fingerprint)}
    for number, entry in enumerate(journal.entries):
        arrays[f"point_{number}"] = entry.point
        arrays[f"kernels_{number}"] = np.concatenate([np.zeros(0), *entry.gradient.kernels])
        arrays[f"variances_{number}"] = entry.gradient.variances
        arrays[f"mixing_{number}"] = entry.gradient.mixing
        arrays[f"losses_{number}"] = entry.losses
        if entry.derivatives.size:
            arrays[f"derivatives_{number}"] = entry.derivatives
        if entry.state is not None:
            arrays["state"], arrays["state_of"] = entry.state, np.array(number)
        if entry.dual is not None:
            arrays["dual"] = entry.dual
    arrays["numbers"] = np.array([_numbers(entry) for entry in journal.entries], dtype=float).reshape(-1, 7)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    content = buffer.getbuffer()
    # The lock allows one search only, so one temporary name suffices; a killed process's file is overwritten.
    temporary = journal.path.with_name(f".{journal.path.name}.new")
    try:
        with open(temporary, "wb") as stream:
            stream.write(f"logikern search {FORMAT} {hashlib.sha256(content).hexdigest()}\n".encode())
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, journal.path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def opened(path: Path, fingerprint: str) -> Iterator[Journal]:
    """The journal in the file `path`, for the exclusive use of one search.

    Raises
    ------
    ValueError
        If another search uses the file, or it cannot be resumed from (see `read`).
    """
    path = path.resolve()  # all links to a file share its lock, and outlive its replacement
    if not path.parent.is_dir():
        raise ValueError(
            f"`checkpoint` must be in an existing folder, but `{path.parent}` does not exist. Create it, or choose "
            "another folder."
        )
    if path.is_dir():
        raise _unreadable(path, "is a folder")
    with locked(path):
        yield read(path, fingerprint)


@contextlib.contextmanager
def opened_in(folder: Path, fingerprint: str) -> Iterator[Journal]:
    """The journal of one search among others in a folder, each in a file named by its fingerprint.

    Searches with the same fingerprint that run at the same time have numbered files.
    """
    with contextlib.ExitStack() as stack:
        journal = None
        for number in itertools.count():
            suffix = f".{number}" if number else ""
            path = folder / f"{fingerprint[:NAME_LENGTH]}{suffix}.search"
            with contextlib.suppress(InUseError):
                journal = stack.enter_context(opened(path, fingerprint))
                break
        assert journal is not None
        yield journal


def read(path: Path, fingerprint: str) -> Journal:
    """The journal in the file `path`, or an empty one if there is no file.

    Raises
    ------
    ValueError
        If the file is not a journal, is damaged, or belongs to another version, other data or other settings.
    """
    if not path.exists():
        return Journal(path, fingerprint)
    if not path.is_file():
        raise _unreadable(path, "is not a file", FOREIGN_ADVICE)
    with open(path, "rb") as stream:
        header = HEADER.fullmatch(stream.readline(LONGEST_HEADER))
        content = stream.read() if header else b""
    if header is None:
        raise _unreadable(path, "has no checkpoint header", FOREIGN_ADVICE)
    if int(header[1]) != FORMAT:
        raise ValueError(
            f"The checkpoint `{path}` was written by another version of logikern. Delete it to start again, or "
            "choose another `checkpoint`."
        )
    if hashlib.sha256(content).hexdigest().encode() != header[2]:
        raise _unreadable(path, "is damaged: its content does not match its checksum")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        kept = str(arrays["fingerprint"])
        keeper = int(arrays.get("state_of", -1))
        entries = [_entry(arrays, number, number == keeper) for number in range(len(arrays["numbers"]))]
    except Exception as error:  # any error may come from NumPy's reader
        raise _unreadable(path, f"is damaged ({error})") from error
    if kept != fingerprint:
        raise ValueError(
            f"The checkpoint `{path}` belongs to other data or other settings. If several fits share it, as in "
            "GridSearchCV or cross_val_score, pass a folder, in which every search has its own file (a new path "
            "without a suffix is taken as a folder). Otherwise delete the file to start again, or choose another "
            "`checkpoint`."
        )
    return Journal(path, fingerprint, entries)


def _unreadable(path: Path, reason: str, advice: str = "Delete it, or choose another path.") -> ValueError:
    return ValueError(f"`checkpoint` must be a file that an earlier search wrote, but `{path}` {reason}. {advice}")


def _numbers(entry: Entry) -> tuple[float, ...]:
    temperature = entry.temperature
    own = (entry.value, entry.usable, entry.n_products, entry.seconds, entry.gradient.bias_variance)
    return (*own, temperature.certain, temperature.uncertain)


def _entry(arrays: dict[str, Array], number: int, has_state: bool) -> Entry:
    row = arrays["numbers"][number]
    return Entry(
        arrays[f"point_{number}"],
        float(row[0]),
        CovarianceGradient(
            (arrays[f"kernels_{number}"],), arrays[f"variances_{number}"], float(row[4]), arrays[f"mixing_{number}"]
        ),
        arrays[f"losses_{number}"],
        bool(row[1]),
        int(row[2]),
        float(row[3]),
        Temperature(float(row[5]), float(row[6])),
        arrays.get("state") if has_state else None,
        arrays.get("dual") if has_state else None,
        arrays.get(f"derivatives_{number}", np.zeros(0)),
    )
