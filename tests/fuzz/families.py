"""What a seed stands for: a family of cases, and the random numbers that it draws."""

import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.fuzz import cells, files, fits, invariances, mistakes, regressions, scores, searches, streams, trees
from tests.fuzz.checks import Checks

Family = Callable[[np.random.Generator, Checks], None]

# Families in the proportion in which they occur. Seeds keep their meaning as long as this table stays as it is.
FAMILIES: dict[str, tuple[Family, int]] = {
    "fit of few rows": (fits.fit_small, 12),
    "fit of many rows": (fits.fit_large, 1),
    "search": (searches.search, 3),
    "rows left out": (searches.left_out, 2),
    "regression": (regressions.regress, 4),
    "search of a regression": (regressions.regress_search, 2),
    "tree": (trees.fit_tree, 6),
    "stream": (streams.stream, 3),
    "one against rest": (streams.one_against_rest, 1),
    "invariances": (invariances.invariances, 3),
    "scores": (scores.flat_scores, 2),
    "scores on a tree": (scores.tree_scores, 2),
    "decisions of a fit": (scores.decisions_of_a_fit, 1),
    "files": (files.files, 3),
    "odd settings": (mistakes.odd_settings, 3),
    "odd data": (mistakes.odd_data, 1),
    "three doors": (fits.fit_by_three_doors, 2),
    "texts": (fits.fit_texts, 2),
    "search on a tree": (trees.search_tree, 1),
    "order of a search": (invariances.order_of_search, 1),
    "neighbourhoods": (cells.fit_cells, 2),
}
# Seconds of a core. Most cases take a fraction of one, searches a few.
LONGEST = 60.0
_TABLE = [name for name, (_, count) in FAMILIES.items() for _ in range(count)]


@dataclass(frozen=True)
class Report:
    """What came of one case."""

    seed: int
    family: str
    counts: Counter[str]
    failures: tuple[str, ...]
    seconds: float = field(default=0.0, compare=False)

    @property
    def command(self) -> str:
        """Repeats the case."""
        return f"python -m tests.fuzz.run --seed {self.seed}"


def family_of(seed: int) -> str:
    """The name of the family; neighbouring seeds belong to different ones."""
    return _TABLE[np.random.default_rng([seed, 1]).integers(len(_TABLE))]


def run_case(seed: int) -> Report:
    """Run the case of a seed; an exception that it does not expect is a failure like any other."""
    family, checks = family_of(seed), Checks()
    began = time.process_time()
    try:
        FAMILIES[family][0](np.random.default_rng(seed), checks)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[:-6:-1]
        where = " < ".join(f"{frame.name} ({Path(frame.filename).name}:{frame.lineno})" for frame in frames)
        checks.that(f"{family}: no exception", False, f"{type(error).__name__}: {error} in {where}")
    seconds = time.process_time() - began
    checks.that("every case ends soon", seconds <= LONGEST, f"{family} took {seconds:.0f} seconds of a core")
    return Report(seed, family, checks.counts, tuple(checks.failures), seconds)
