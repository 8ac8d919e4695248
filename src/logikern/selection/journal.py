"""Evaluations written down as they happen, so that a search that was killed goes on where it stood."""

import io
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from logikern.numerics.outcome import Array
from logikern.numerics.sharpness import Sharpness
from logikern.structure.covariance import CovarianceGradient

FORMAT = 3


@dataclass(frozen=True, eq=False)
class Entry:
    """One evaluation of a criterion, as a search sees it.

    Attributes
    ----------
    point : array of shape (p,)
        Log parameters at which it was taken.
    value : float
    gradient : CovarianceGradient
        By operators and latent functions, whatever these share.
    losses : array of shape (n_losses,)
    usable : bool
    n_products : int
    seconds : float
    sharpness : Sharpness
    """

    point: Array
    value: float
    gradient: CovarianceGradient
    losses: Array
    usable: bool
    n_products: int
    seconds: float
    sharpness: Sharpness = Sharpness()


@dataclass(eq=False)
class Journal:
    """The evaluations of a search in their order, and the inner state that the last usable one left.

    A search is a deterministic function of the values and gradients that it is given. To resume one it is run
    again from its beginning with the answers in the journal, and then goes on with new ones.

    Parameters
    ----------
    path : Path or None
        Where it is kept; None keeps it in memory only.
    fingerprint : str
        Of data and settings: a journal of other ones is refused.
    """

    path: Path | None = None
    fingerprint: str = ""
    entries: list[Entry] = field(default_factory=list)
    state: Array | None = None
    cursor: int = 0

    def answer(self, point: Array, compute: Callable[[], tuple[Entry, Array | None]]) -> Entry:
        """The evaluation written down next, or a new one, which is then written down."""
        if self.cursor < len(self.entries):
            entry = self.entries[self.cursor]
            if entry.point.shape != point.shape or not np.allclose(entry.point, point, rtol=1e-9, atol=1e-9):
                raise ValueError(
                    f"The checkpoint `{self.path}` was written by another search: it asked for other settings. "
                    "Delete it, or choose another `checkpoint`."
                )
            self.cursor += 1
            return entry
        entry, state = compute()
        self.entries.append(entry)
        self.cursor += 1
        if entry.usable:
            self.state = state
        if self.path is not None:
            write(self)
        return entry

    @property
    def replaying(self) -> bool:
        """Whether the next answer is known already."""
        return self.cursor < len(self.entries)


def write(journal: Journal) -> None:
    """Write the journal so that it is there whole, in its old or its new form, whenever the process is killed."""
    assert journal.path is not None
    arrays = {"format": np.array(FORMAT), "fingerprint": np.array(journal.fingerprint)}
    for number, entry in enumerate(journal.entries):
        arrays[f"point_{number}"] = entry.point
        arrays[f"kernels_{number}"] = np.concatenate([np.zeros(0), *entry.gradient.kernels])
        arrays[f"variances_{number}"] = entry.gradient.variances
        arrays[f"losses_{number}"] = entry.losses
    arrays["numbers"] = np.array([_numbers(entry) for entry in journal.entries], dtype=float).reshape(-1, 7)
    if journal.state is not None:
        arrays["state"] = journal.state
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    temporary = journal.path.with_name(f".{journal.path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "wb") as stream:
            stream.write(buffer.getbuffer())
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, journal.path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path, fingerprint: str) -> Journal:
    """The journal kept at a path, or an empty one where there is none.

    Raises
    ------
    ValueError
        If the file is no journal, or one of other data or settings.
    """
    if not path.parent.is_dir():
        raise ValueError(
            f"`checkpoint` must be in a folder that exists, but `{path.parent}` does not. Make it, or choose another."
        )
    if not path.exists():
        return Journal(path, fingerprint)
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        kept, version = str(arrays["fingerprint"]), int(arrays["format"])
        known = version == FORMAT
        entries = [_entry(arrays, number, row) for number, row in enumerate(arrays["numbers"]) if known]
    except Exception as error:  # whatever a file that is no journal may provoke in NumPy's reader
        raise ValueError(
            f"`checkpoint` must be a file that an earlier search wrote, but `{path}` is none ({error}). "
            "Delete it, or choose another path."
        ) from error
    if not known or kept != fingerprint:
        reason = "belongs to other data or other settings" if known else "was written by another version of logikern"
        raise ValueError(
            f"The checkpoint `{path}` {reason}. "
            "Delete it to start anew, or choose another `checkpoint`."
        )
    return Journal(path, fingerprint, entries, arrays.get("state"))


def _numbers(entry: Entry) -> tuple[float, ...]:
    sharpness = entry.sharpness
    own = (entry.value, entry.usable, entry.n_products, entry.seconds, entry.gradient.bias_variance)
    return (*own, sharpness.certain, sharpness.uncertain)


def _entry(arrays: dict[str, Array], number: int, row: Array) -> Entry:
    by_kernels, by_variances = arrays[f"kernels_{number}"], arrays[f"variances_{number}"]
    return Entry(
        arrays[f"point_{number}"],
        float(row[0]),
        CovarianceGradient((by_kernels,), by_variances, float(row[4])),
        arrays[f"losses_{number}"],
        bool(row[1]),
        int(row[2]),
        float(row[3]),
        Sharpness(float(row[5]), float(row[6])),
    )
