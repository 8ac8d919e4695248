"""How much of a fit's time is spent inside BLAS and LAPACK: at least 80 % is wanted.

`blas_clock` counts it: every `@` between float arrays and every function of
scipy.linalg that logikern calls. The kernel matrix is built before the fit and
reported apart; it is one product and one pass of exponentials. The rest is
given by a second run under cProfile, which sees everything but operators: the
functions with the largest time of their own (there `@` shows as the lambda of
`blas_clock`). Each fit is run three times and the fastest counts.
"""

import cProfile
import pstats
import time

import blas_clock

CLOCK = blas_clock.install()

from data import Split, load  # noqa: E402
from measure import bind, fit, shared, solve  # noqa: E402
from report import Report, main  # noqa: E402

REPEATS = 3
VARIANCE = 30.0
WANTED = 0.8


def cases(quick: bool) -> list[tuple[Split, float, str]]:
    """(split, rate, precision)."""
    satimage = load("satimage").standardised()
    if quick:
        return [(satimage.head(1000), 0.25, "double")]
    usps = load("usps")
    letter = load("letter").standardised().head(4000)
    result = [(satimage, 0.25, precision) for precision in ("double", "single")]
    result += [(usps, 9.0 / usps.total_variance, precision) for precision in ("double", "single")]
    return [*result, (letter, 9.0 / letter.total_variance, "single")]


def measure_case(split: Split, rate: float, precision: str, report: Report) -> dict:
    best: dict = {}
    for _ in range(REPEATS):
        began = time.perf_counter()
        covariance = bind(split, shared(split, rate, VARIANCE), precision)
        kernel_seconds = time.perf_counter() - began
        CLOCK.reset()
        began = time.perf_counter()
        result = solve(split, covariance)
        seconds = time.perf_counter() - began
        if best and seconds >= best["fit seconds"]:
            continue
        outside = CLOCK.seconds.pop(blas_clock.OUTSIDE, 0.0)
        products = CLOCK.seconds.pop("matmul")
        lapack = sum(CLOCK.seconds.values())
        best = {
            "set": f"{split.name}, {len(split.y)} x {split.n_classes}",
            "precision": precision,
            "kernel seconds": kernel_seconds,
            "fit seconds": seconds,
            "products": result.n_products,
            "inside": (products + lapack) / seconds,
            "matmul": products / seconds,
            "LAPACK": lapack / seconds,
            "matmul outside": outside / seconds,
        }
    report.progress(f"{best['set']}, {precision}: {best['inside']:.1%}")
    return best


def costly_functions(split: Split, rate: float, precision: str, count: int = 12) -> list[dict]:
    """Functions with the largest time of their own, from cProfile."""
    profile = cProfile.Profile()
    with profile:
        fit(split, shared(split, rate, VARIANCE), precision=precision)
    statistics = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    total = sum(entry[2] for entry in statistics.values())
    ranked = sorted(statistics.items(), key=lambda item: -item[1][2])[:count]
    return [
        {
            "function": f"{file.rsplit('/', 1)[-1]}:{line} {name}" if line else name,
            "calls": entry[0],
            "own seconds": entry[2],
            "share": entry[2] / total,
        }
        for (file, line, name), entry in ranked
    ]


def run(report: Report, quick: bool) -> None:
    rows = [measure_case(*case, report) for case in cases(quick)]
    report.table("Share of the fit's time inside BLAS and LAPACK, kernel matrix apart", rows)
    for split, rate, precision in cases(quick)[:2]:
        title = f"Own time by function, {split.name}, {precision} (kernel matrix included)"
        report.table(title, costly_functions(split, rate, precision))
    for row in rows:
        claim = f"{row['set']}, {row['precision']}: share inside BLAS and LAPACK"
        report.verdict(claim, ">= 80 %", f"{row['inside']:.1%}", row["inside"] >= WANTED)


if __name__ == "__main__":
    main("where_time_goes", __doc__, run)
