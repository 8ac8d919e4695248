"""Products with 1,000,000 points in two dimensions, and a regression on 200,000: near pairs and Fourier modes.

Products of one function, for a Gaussian whose length scale is short (60 near points each) and long (a tenth of the
range). Errors are those against exact values at a sample of points, relative to the largest of these. Tiles are
measured on fewer points, and their seconds grow with the square. A crossover is the number of points from which on a
product is faster than one by tiles. CPU seconds are those of all threads.

The terrain of the regression is a sum of waves over three scales, with noise of a tenth of its spread or more. Once
hyperparameters are learned, as always on a subset; once they are fixed at a short length scale, as a search over
neighbouring points would find them for a terrain with fine detail.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern import KernelRegressor
from logikern.kernels import Gaussian
from logikern.numerics.parallel import n_threads, own_threads
from logikern.operators.choose import FAST_SUMS
from logikern.operators.tiled import tiled
from report import Report, main

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
SAMPLE = 200
REPEATS = 3


@dataclass(frozen=True)
class Size:
    """How large the benchmark is."""

    points: int
    tiles: int  # points of the product by tiles
    crossover: tuple[int, ...]
    terrain: int
    test: int


FULL = Size(1_000_000, 20_000, (1000, 2000, 4000, 8000, 16000, 32000), 200_000, 20_000)
QUICK = Size(20_000, 2000, (1000, 4000), 3000, 500)


@dataclass(frozen=True)
class Timed:
    """A result and what it took."""

    value: Any
    seconds: float
    cpu_seconds: float


def timed(function: Callable[[], Any], repeats: int = 1) -> Timed:
    """The fastest of some calls."""
    best = None
    for _ in range(repeats):
        began, cpu = time.perf_counter(), time.process_time()
        value = function()
        own = Timed(value, time.perf_counter() - began, time.process_time() - cpu)
        best = own if best is None or own.seconds < best.seconds else best
    assert best is not None
    return best


def square(n: int) -> np.ndarray:
    return np.random.default_rng(0).random((n, 2))


def short_kernel(n: int, neighbours: float = 60.0) -> Gaussian:
    """So many points within the radius at which values are dropped, 6.07 length scales."""
    return Gaussian(n * np.pi * 6.07**2 / neighbours)


LONG = Gaussian(100.0)


def seconds_of_tiles(n: int) -> Timed:
    """A product of one function by tiles in single precision."""
    function = np.random.default_rng(1).standard_normal((1, n))
    operator = tiled(LONG, square(n), SINGLE, 1e9)
    operator.matmul(function)
    return timed(lambda: operator.matmul(function), REPEATS)


def product(name: str, kernel: Gaussian, X: np.ndarray, function: np.ndarray) -> dict:
    """Preparation and product of one operator, and its error at a sample of points."""
    dtype = DOUBLE if name == "fourier" else SINGLE
    prepared = timed(lambda: FAST_SUMS[name].plan(kernel, X).bind(dtype))
    operator = prepared.value
    multiplied = timed(lambda: operator.matmul(function), REPEATS)
    some = np.random.default_rng(2).choice(len(X), SAMPLE, replace=False)
    exact = function @ np.asarray(kernel(X[some], X)).T
    error = np.abs(multiplied.value[:, some] - exact).max() / np.abs(exact).max()
    return {
        "points": len(X),
        "length scale": kernel.rate**-0.5,
        "operator": name,
        "pairs or modes": operator.n_reads if name == "sparse" else float(operator.lattice.n_modes),
        "preparation": prepared.seconds,
        "product": multiplied.seconds,
        "CPU seconds": multiplied.cpu_seconds,
        "relative error": error,
    }


def compare_products(report: Report, size: Size) -> None:
    X = square(size.points)
    function = np.random.default_rng(1).standard_normal((1, size.points))
    short = short_kernel(size.points)
    cases = [("sparse", short), ("fourier", short), ("fourier", LONG)]
    rows = [product(name, kernel, X, function) for name, kernel in cases]
    one = seconds_of_tiles(size.tiles)
    growth = (size.points / size.tiles) ** 2
    for row in rows:
        row["times faster than tiles"] = growth * one.seconds / row["product"]
    report.table("Products of one function", rows)
    report.say(
        f"Tiles take {one.seconds:.2f} s ({one.cpu_seconds:.2f} s of CPU time) for {size.tiles} points, so about "
        f"{growth * one.seconds:.0f} s for {size.points}."
    )
    for row in rows:
        claim = f"error of {row['operator']} at length scale {row['length scale']:.2g}, relative to the largest value"
        report.verdict(claim, "<= 1e-4", f"{row['relative error']:.1e}", row["relative error"] <= 1e-4)


def find_crossovers(report: Report, size: Size) -> None:
    rows = []
    for n in size.crossover:
        X, function = square(n), np.random.default_rng(1).standard_normal((1, n))
        row = {"points": n, "tiles, ms": 1e3 * seconds_of_tiles(n).cpu_seconds}
        for title, name, kernel in (("sparse", "sparse", short_kernel(n)), ("fourier", "fourier", LONG)):
            row[f"{title}, ms"] = 1e3 * product(name, kernel, X, function)["CPU seconds"]
        rows.append(row)
    report.table("CPU time of a product by the number of points", rows)
    for title in ("sparse", "fourier"):
        faster = [row["points"] for row in rows if row[f"{title}, ms"] < row["tiles, ms"]]
        report.say(f"{title} is faster than tiles from {min(faster)} points on." if faster else f"{title} is slower.")


def terrain(X: np.ndarray, finest: float) -> np.ndarray:
    """Waves of three scales, the finest with a fifth of the height of the coarsest."""
    random, height = np.random.default_rng(3), np.zeros(len(X))
    for scale, share in ((0.5, 1.0), (0.5 * (0.5 * finest) ** 0.5, 0.5), (finest, 0.2)):
        for _ in range(60):
            wave, phase = random.standard_normal(2) / scale, random.uniform(0.0, 2.0 * np.pi)
            height += share * random.standard_normal() * (2.0 / 60.0) ** 0.5 * np.cos(X @ wave + phase)
    return height


def regress(report: Report, size: Size) -> None:
    X = square(size.terrain + size.test)
    train, test = slice(size.terrain), slice(size.terrain, None)
    fixed = {"criterion": None, "rate": 1.0 / 0.008**2, "variance": 30.0}
    rows = []
    for operator, finest, settings in (("fourier", 0.05, {}), ("fast", 0.05, {}), ("sparse", 0.01, fixed)):
        truth = terrain(X, finest)
        y = truth + 0.1 * truth.std() * np.random.default_rng(4).standard_normal(len(X))
        model = KernelRegressor(operator=operator, random_state=0, **settings)
        fit = timed(lambda model=model, y=y: model.fit(X[train], y[train]))
        predicted = timed(lambda model=model: model.predict(X[test]))
        rows.append(
            {
                "operator": operator,
                "finest scale": finest,
                "learned": "no" if settings else "yes",
                "shortest length scale": float(np.max(model.kernels_[0].rate)) ** -0.5,
                "rows": size.terrain,
                "fit": fit.seconds,
                "CPU seconds": fit.cpu_seconds,
                "products": model.newton_trace_[-1].products,
                "outcome": model.outcome_.name,
                "predict": predicted.seconds,
                "R2": r_squared(predicted.value, y[test]),
                "R2 of the terrain": r_squared(predicted.value, truth[test]),
            }
        )
        report.progress(f"{operator}: {fit.seconds:.0f} s")
    report.table("Regression on a terrain", rows)
    for row in rows:
        report.verdict(
            f"fit by {row['operator']} to {row['rows']} rows ends in minutes",
            "CONVERGED, < 600 s, R2 of the terrain > 0.99",
            f"{row['outcome']}, {row['fit']:.0f} s, {row['R2 of the terrain']:.4f}",
            row["outcome"] == "CONVERGED" and row["fit"] < 600.0 and row["R2 of the terrain"] > 0.99,
        )


def r_squared(predicted: np.ndarray, truth: np.ndarray) -> float:
    return 1.0 - float(np.mean((predicted - truth) ** 2) / truth.var())


def run(report: Report, quick: bool) -> None:
    size = QUICK if quick else FULL
    with own_threads():
        report.say(f"Threads: {n_threads()}.")
        compare_products(report, size)
        find_crossovers(report, size)
    regress(report, size)


if __name__ == "__main__":
    main("fast_sums", __doc__, run)
