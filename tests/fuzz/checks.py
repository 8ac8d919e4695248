"""What a case has checked, and what did not hold."""

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

# A user may see these; anything else, such as a RuntimeWarning of numpy, escaped by mistake.
EXPECTED_WARNINGS = (ConvergenceWarning, DataConversionWarning, UserWarning)


class Checks:
    """Counts of checks by kind, and a sentence for each that failed.

    A failed check does not end its case: the others may tell more.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def that(self, kind: str, holds: Any, told: str = "") -> bool:
        """Count a claim; `told` says what was seen if it does not hold."""
        self.counts[kind] += 1
        if not bool(holds):
            self.failures.append(f"{kind}: {told}" if told else kind)
        return bool(holds)

    def close(self, kind: str, found: Any, wanted: Any, within: Any, told: str = "") -> bool:
        """|found - wanted| <= within everywhere, for arrays of one shape; nan equals nan."""
        found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
        if found.shape != wanted.shape:
            return self.that(kind, False, f"shapes {found.shape} and {wanted.shape} {told}")
        both = np.isnan(found) & np.isnan(wanted)
        with np.errstate(invalid="ignore"):
            difference = np.where(both | (found == wanted), 0.0, np.abs(found - wanted))
        excess = difference - np.broadcast_to(within, difference.shape)
        holds = bool((excess <= 0).all())
        if holds or not excess.size:
            return self.that(kind, holds)
        place = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)), excess.shape)
        allowed = float(np.broadcast_to(within, difference.shape)[place])
        seen = f"found {found[place]:.9g}, wanted {wanted[place]:.9g} within {allowed:.2g}"
        return self.that(kind, False, f"{seen} at {tuple(map(int, place))} {told}")

    @contextmanager
    def quiet(self, kind: str) -> Iterator[list[str]]:
        """Collect the messages of warnings about convergence; warnings that nobody meant are failures."""
        told: list[str] = []
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield told
        strange = [one for one in seen if not issubclass(one.category, EXPECTED_WARNINGS)]
        first = f"{strange[0].category.__name__}: {strange[0].message} ({strange[0].filename})" if strange else ""
        self.that(f"{kind}: no stray warnings", not strange, first)
        told += [str(one.message) for one in seen if issubclass(one.category, ConvergenceWarning)]
