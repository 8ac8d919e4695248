"""Which solver pays: Newton's method, kernel conjugate gradients, pairwise ascent and dense factors by variance.

satimage (36 inputs, 6 classes, softmax) and abalone (10 inputs, squared loss), standardised, Gaussian kernel at rate
2 over the total variance, bias variance 16, default tolerances; 300 to 3000 rows drawn at random. The larger the
variance, the worse the condition number: Newton's method pays for its preconditioner once a step, kernel conjugate
gradients pay in steps, pairwise ascent in sweeps, factors do not notice. Seconds are of the solver alone, the faster
of two short runs; a solver that has taken too long on fewer rows or at a smaller variance is left out. A figure is
drawn.

Then whole fits of letter (16 inputs, 26 classes), with room for the matrix and without: without it, methods that need
products compute it anew for each of them, pairwise ascent computes the rows that it asks for and keeps some. A rough
kernel, and a smooth one with a rate and a variance like those that are learned.
"""

import time

import numpy as np

from data import load
from logikern import KernelLogisticClassifier
from logikern.fitting.functional_cg import KernelGradient
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.pairwise.solver import Smo
from logikern.fitting.preconditioning.adaptive import DiagonalConditioning
from logikern.fitting.problem import Problem, Solver
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.likelihoods.squared import Squared
from logikern.numerics.parallel import own_threads
from logikern.operators.choose import Choice
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie
from regression import split as abalone
from report import RESULTS, Report, Row, main

SIZES = (300, 1000, 3000)
VARIANCES = (0.1, 1.0, 10.0, 100.0, 1000.0)
LONGEST = 20.0
SOLVERS: dict[str, Solver] = {
    "newton": Newton(),
    "newton, diagonal": Newton(conditioning=DiagonalConditioning()),
    "kcg": KernelGradient(),
    "exact": Exact(tolerance=1e-4),
    "smo": Smo(),
}
LETTER_ROWS = (2000, 4000, 8000)
BY_PRODUCTS = ("newton", "kcg", "smo")
ROOM = {"stored": {"operator": "auto"}, "not stored": {"operator": "tiled", "memory_limit": "200MB"}}
KERNELS = {"rough": (20.0, 100.0), "smooth": (0.3, 256.0)}  # rate and variance


def make_problem(name: str, n_rows: int, variance: float) -> Problem:
    if name == "abalone":
        X, y, _, _ = abalone(0, n_rows)
        targets, likelihood = ((y - y.mean()) / y.std())[None], Squared()
    else:
        satimage = load("satimage").head(n_rows).standardised()
        X, targets, likelihood = satimage.X, from_labels(satimage.y, 6), Softmax()
    mixing = Flat(len(targets))
    specification = Specification((Gaussian(2.0 / X.shape[1]),), (variance,), 16.0, tie("shared", mixing), mixing)
    covariance = specification.bind(Choice("dense", np.dtype(float), "", 1e9).points(X))
    return Problem(covariance, likelihood, targets, np.ones((1, len(X))))


def measure(problem: Problem, name: str, repeats: int) -> Row:
    seconds = []
    with own_threads():
        for _ in range(repeats):
            began = time.perf_counter()
            result = SOLVERS[name].fit(problem)
            seconds.append(time.perf_counter() - began)
            if seconds[0] > LONGEST / 10:
                break
    return {"seconds": min(seconds), "products": result.n_products, "outcome": result.outcome.name}


def measure_set(report: Report, name: str, sizes: tuple[int, ...], repeats: int) -> list[Row]:
    rows: list[Row] = []
    for n_rows in sizes:
        for variance in VARIANCES:
            problem = make_problem(name, n_rows, variance)
            for solver in SOLVERS:
                if (solver == "smo" and name == "abalone") or _too_long(rows, solver, n_rows, variance):
                    continue
                found = measure(problem, solver, repeats)
                rows.append({"rows": n_rows, "variance": variance, "solver": solver, **found})
                report.progress(f"{name}: {rows[-1]}")
    return rows


def _too_long(rows: list[Row], solver: str, n_rows: int, variance: float) -> bool:
    """Whether what was seen of the solver says that it would not end in time."""
    own = [row for row in rows if row["solver"] == solver and row["rows"] <= n_rows and row["variance"] <= variance]
    return any(row["seconds"] * (n_rows / row["rows"]) ** 2 > LONGEST for row in own)


def measure_letter(report: Report, sizes: tuple[int, ...], room: str) -> list[Row]:
    """Whole fits, the matrix in memory or not."""
    lines = []
    for n_rows in sizes:
        split = load("letter").head(n_rows).standardised()
        for kernel, (rate, variance) in KERNELS.items():
            line: Row = {"rows": n_rows, "kernel": kernel}
            for solver in BY_PRODUCTS:
                before = [other[solver] for other in lines if other["kernel"] == kernel]
                if before and (before[-1] == "" or 4 * before[-1] > LONGEST):
                    line[solver] = ""
                    continue
                model = KernelLogisticClassifier(
                    rate=rate, variance=variance, criterion=None, solver=solver, random_state=0, **ROOM[room]
                )
                began = time.perf_counter()
                model.fit(split.X, split.y)
                line[solver] = time.perf_counter() - began
            lines.append(line)
            report.progress(f"letter, {room}: {line}")
    return lines


def table(rows: list[Row]) -> list[Row]:
    """One line for each size and variance, seconds of all and products of those that need nothing else."""
    lines: dict[tuple[int, float], Row] = {}
    for row in rows:
        blank = dict.fromkeys((*SOLVERS, "products, newton", "products, kcg"), "")
        start = {"rows": row["rows"], "variance": row["variance"], **blank}
        line = lines.setdefault((row["rows"], row["variance"]), start)
        line[row["solver"]] = row["seconds"]
        if f"products, {row['solver']}" in line:
            line[f"products, {row['solver']}"] = row["products"]
    return list(lines.values())


def draw(measured: dict[str, list[Row]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(measured), len(SIZES), figsize=(11, 6), layout="constrained", sharex=True)
    for line, (name, rows) in zip(axes, measured.items(), strict=True):
        for ax, n_rows in zip(line, SIZES, strict=True):
            for solver in SOLVERS:
                own = [row for row in rows if (row["rows"], row["solver"]) == (n_rows, solver)]
                ax.loglog([row["variance"] for row in own], [row["seconds"] for row in own], "o-", ms=3, label=solver)
            ax.set(title=f"{name}, {n_rows} rows")
        line[0].set_ylabel("seconds")
    for ax in axes[-1]:
        ax.set_xlabel("variance")
    axes[0][0].legend()
    figure.savefig(RESULTS / "solvers.png", dpi=100)


def run(report: Report, quick: bool) -> None:
    sizes = SIZES[:1] if quick else SIZES
    measured = {name: measure_set(report, name, sizes, 1 if quick else 2) for name in ("satimage", "abalone")}
    for name, rows in measured.items():
        report.table(f"{name}: seconds to the default tolerance", table(rows))
        failed = [row for row in rows if row["outcome"] != "CONVERGED"]
        report.verdict(f"{name}: fits that converge", "all", f"{len(rows) - len(failed)} of {len(rows)}", not failed)
    for room in ROOM:
        lines = measure_letter(report, LETTER_ROWS[:1] if quick else LETTER_ROWS, room)
        report.table(f"letter: seconds of a fit whose matrix is {room}", lines)
    if not quick:
        draw(measured)
        report.say("![seconds](solvers.png)")


if __name__ == "__main__":
    main("solvers", __doc__, run)
