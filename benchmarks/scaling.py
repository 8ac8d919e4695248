"""How time grows with the number of classes and of points: no faster than C and n^2 is wanted.

letter, standardised, rate 9 over the total variance, variance 30. Classes: the
first 4, 8, 16 and all 26 letters, always on the same number of rows. Points:
doubled, all 26 letters. The exponent is the slope of log seconds over log size.
Products are part of it: a harder problem may need more of them, so the time of
one product is given apart. Seconds are those of the fastest of three fits.
"""

import numpy as np

from data import Split, load
from measure import fit, shared
from report import Report, main

VARIANCE = 30.0
CLASSES = (4, 8, 16, 26)
REPEATS = 3


def measure_fit(split: Split, rate: float, precision: str, repeats: int) -> dict:
    """The fastest of some equal fits."""
    fits = [fit(split, shared(split, rate, VARIANCE), precision=precision) for _ in range(repeats)]
    fitted = min(fits, key=lambda one: one.seconds)
    kernel_seconds = min(one.kernel_seconds for one in fits)
    return {
        "precision": precision,
        "rows": len(split.y),
        "classes": split.n_classes,
        "steps": fitted.steps,
        "products": fitted.products,
        "kernel seconds": kernel_seconds,
        "fit seconds": fitted.seconds,
        "ms per product": 1e3 * fitted.seconds / fitted.products,
        "all seconds": kernel_seconds + fitted.seconds,
        "outcome": fitted.outcome,
    }


def exponent(rows: list[dict], size: str, cost: str = "all seconds") -> float:
    """Slope of log cost over log size."""
    sizes, costs = ([row[key] for row in rows] for key in (size, cost))
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def by_classes(report: Report, letter: Split, rate: float, n_rows: int, precision: str, repeats: int) -> None:
    rows = []
    for n_classes in CLASSES:
        rows.append(measure_fit(letter.classes(n_classes).head(n_rows), rate, precision, repeats))
        report.progress(f"{n_classes} classes: done")
    report.table(f"Classes, {precision} precision", rows)
    slope = exponent(rows, "classes")
    claim = f"seconds over classes, exponent, {precision}"
    seen = f"{slope:.2f} (one product: {exponent(rows, 'classes', 'ms per product'):.2f})"
    report.verdict(claim, "<= 1", seen, slope <= 1.0)


def by_points(report: Report, letter: Split, rate: float, sizes: list[int], precision: str, repeats: int) -> None:
    rows = []
    for size in sizes:
        rows.append(measure_fit(letter.head(size), rate, precision, repeats))
        report.progress(f"{size} points: done")
    report.table(f"Points, {precision} precision", rows)
    slope = exponent(rows, "rows")
    seen = f"{slope:.2f} (one product: {exponent(rows, 'rows', 'ms per product'):.2f})"
    report.verdict(f"seconds over points, exponent, {precision}", "<= 2", seen, slope <= 2.0)


def run(report: Report, quick: bool) -> None:
    letter = load("letter").standardised()
    rate = 9.0 / letter.total_variance
    repeats = 1 if quick else REPEATS
    for precision in ("single",) if quick else ("single", "double"):
        by_classes(report, letter, rate, 800 if quick else 2200, precision, repeats)
        sizes = [500, 1000, 2000] if quick else [1000, 2000, 4000, 8000]
        by_points(report, letter, rate, sizes, precision, repeats)


if __name__ == "__main__":
    main("scaling", __doc__, run)
