"""Iterations of conjugate gradients in parameters against those in the function space, Ratliff & Bagnell (2007).

Their claim: to the same loss, parameter CG takes about the square of the iterations of kernel CG, as its condition
number is that of kernel CG times that of the kernel matrix. Both are Polak-Ribiere with the same restarts and line
search; what differs is the metric. Squared loss (targets 0 and 1 where there are classes) and softmax; usps is one
digit against all, abalone has numbers. Inputs are standardised, rates and variances learned on a part of the rows.
Kernel CG runs until it has converged (tolerance 1e-2: a relative gap of 1e-4 for the squared loss); for each of its
iterations the first one of parameter CG is sought that has a loss as low. An exponent is the slope of the logarithms
of the two numbers. Parameter CG takes two products an iteration, kernel CG one. Writes a figure of all curves.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from data import folder
from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.fitting.functional_cg import GradientPolicy, KernelGradient, best_lengths
from logikern.fitting.iteration import Budget
from logikern.fitting.problem import Problem
from logikern.likelihoods.softmax import Softmax
from logikern.likelihoods.squared import Squared
from logikern.operators.choose import Choice
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from report import RESULTS, Report, Row, is_kept, main

SETS = ("usps", "abalone", "cmc", "covtype", "glass", "ionosphere", "iris", "page_blocks", "pima", "wine")
QUICK_SETS = ("ionosphere", "abalone")
DIGIT = 4
LARGEST = 1000
SEARCHED = 500
# The part of covtype that is commonly used for training; no other set is as large.
FIRST_ROWS = 11340
QUICK_ROWS = 200
TOLERANCE = 1e-2
POLICY = GradientPolicy()
MOST_ITERATIONS = 3000
# Of the first iterations both begin alike.
FIRST_OF_FIT = 3
CONDITION_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Task:
    """Rows of a set, standardised: classes, or numbers where `labels` is None."""

    name: str
    X: np.ndarray
    labels: np.ndarray | None
    numbers: np.ndarray

    @property
    def losses(self) -> tuple[str, ...]:
        return ("squared",) if self.labels is None else ("squared", "softmax")


def load_task(name: str, n_rows: int) -> Task:
    with np.load(folder() / f"{name}.npz", allow_pickle=False) as stored:
        y = stored["y"].astype(float)
        rows = np.random.default_rng(0).permutation(min(len(y), FIRST_ROWS))[:n_rows]
        X, y = _inputs(stored, rows).astype(float), y[rows]
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if name == "abalone":
        return Task(name, X, None, ((y - y.mean()) / y.std())[None])
    labels = np.unique(y == DIGIT if name == "usps" else y, return_inverse=True)[1]
    return Task(name, X, labels, from_labels(labels, labels.max() + 1))


def _inputs(stored: Any, rows: np.ndarray) -> np.ndarray:
    """Of covtype two columns are kept as codes."""
    if "soil" not in stored:
        return stored["X"][rows]
    codes = [np.eye(n_kinds)[stored[kind][rows]] for kind, n_kinds in (("wilderness", 4), ("soil", 40))]
    return np.hstack([stored["numeric"][rows], *codes])


def learned(task: Task, loss: str) -> Specification:
    """One rate and one variance, from a search on some of the rows."""
    common: dict[str, Any] = {
        "kernel": "gaussian",
        "inputs": "raw",
        "ard": False,
        "search_size": SEARCHED,
        "random_state": 0,
    }
    model: Any
    if loss == "squared":
        model = KernelRegressor(**common).fit(task.X, task.numbers.T)
    else:
        model = KernelLogisticClassifier(tying="shared", **common).fit(task.X, task.labels)
    return model.model_.specification


def make_problem(task: Task, loss: str, specification: Specification) -> Problem:
    points = Choice("dense", np.dtype(float), "", 1e9).points(task.X)
    likelihood = Squared() if loss == "squared" else Softmax()
    return Problem(specification.bind(points), likelihood, task.numbers, np.ones((1, len(task.X))))


def parameter_losses(problem: Problem) -> Iterator[float]:
    """Penalised losses of Polak-Ribiere conjugate gradients in the coefficients, one an iteration."""
    dual, latent, direction, image, before = (np.zeros(problem.shape) for _ in range(5))
    n_turns = 0
    while True:
        loss, gradient = problem.likelihood.loss_and_gradient(latent, problem.targets, problem.weights)
        yield float(loss[0] + 0.5 * np.vdot(dual, latent))
        own = problem.covariance.matmul(gradient + dual)  # K~ gamma, the gradient in the coefficients
        strength, overlap = np.vdot(own, own), np.vdot(before, own)
        goes_on = before.any()
        if not problem.likelihood.is_quadratic:
            goes_on &= n_turns < POLICY.restart_after and abs(overlap) < POLICY.largest_overlap * strength
        turn = max(0.0, (strength - overlap) / np.vdot(before, before)) if goes_on else 0.0
        turn = turn if turn * np.vdot(own, direction) < strength else 0.0
        n_turns = n_turns + 1 if turn else 0
        direction, image = turn * direction - own, turn * image - problem.covariance.matmul(own)
        length = best_lengths(problem, dual, latent, direction, image, POLICY.line_accuracy)[0]
        dual, latent, before = dual + length * direction, latent + length * image, own


def iterations_to(levels: np.ndarray, losses: Iterator[float]) -> list[int]:
    """The first iteration at each falling level, as far as they are reached."""
    found: list[int] = []
    for iteration, loss in enumerate(losses):
        while len(found) < len(levels) and loss <= levels[len(found)]:
            found.append(iteration)
        if len(found) == len(levels) or iteration == MOST_ITERATIONS:
            break
    return found


@dataclass(frozen=True, eq=False)
class Curve:
    """Iterations of both methods at the same losses."""

    name: str
    loss: str
    kernel: np.ndarray
    parameter: np.ndarray
    n_kernel: int
    row: Row


def measure(task: Task, loss: str) -> Curve:
    specification = learned(task, loss)
    problem = make_problem(task, loss, specification)
    result = KernelGradient(TOLERANCE, Budget(newton=MOST_ITERATIONS)).fit(problem)
    levels = np.minimum.accumulate([step.loss for step in result.trace])
    # Levels that kernel CG itself needs rounding to reach are left out.
    parameter = np.array(iterations_to(levels * (1 + 1e-12), parameter_losses(problem)))
    kernel = np.arange(len(parameter))
    n_kernel = len(levels) - 1
    reached = len(parameter) == len(levels)
    row = {
        "set": task.name,
        "loss": loss,
        "rows": len(task.X),
        "rate": float(specification.kernels[0].rate),
        "variance": specification.variances[0],
        "kernel CG": n_kernel,
        "parameter CG": int(parameter[-1]) if reached else f"> {MOST_ITERATIONS}",
        "times fewer": (parameter[-1] if reached else MOST_ITERATIONS) / n_kernel,
        "exponent": exponent(kernel, parameter),
        "root of condition": condition(problem),
    }
    return Curve(task.name, loss, kernel, parameter, n_kernel, row)


def exponent(kernel: np.ndarray, parameter: np.ndarray) -> float:
    """The power of the iterations of kernel CG by which those of parameter CG grow."""
    late = kernel >= FIRST_OF_FIT
    if late.sum() < 3:
        return float("nan")
    return float(np.polyfit(np.log(kernel[late]), np.log(parameter[late]), 1)[0])


def condition(problem: Problem) -> float:
    """The root of the largest over the smallest eigenvalue of I + K~, the condition number of kernel CG."""
    rows = np.arange(min(CONDITION_ROWS, problem.shape[2]))
    part = replace(problem, targets=problem.targets[:, rows], weights=problem.weights[:, rows])
    operator = part.covariance.operators[0]
    matrix = part.covariance.variances[0] * np.asarray(operator.rows(rows))[:, rows] + part.covariance.bias_variance
    values = np.linalg.eigvalsh(matrix)
    return float(np.sqrt((1 + values[-1]) / (1 + max(values[0], 0.0))))


def draw(curves: list[Curve]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharey=True)
    for ax, loss in zip(axes, ("squared", "softmax"), strict=True):
        for curve in (curve for curve in curves if curve.loss == loss):
            ax.loglog(curve.kernel[1:], curve.parameter[1:], label=curve.name)
        ends = np.array([1, max(curve.n_kernel for curve in curves)])
        ax.loglog(ends, ends, "k:", linewidth=0.8)
        ax.loglog(ends, ends**2, "k--", linewidth=0.8, label="square")
        ax.set(title=f"{loss} loss", xlabel="iterations of kernel CG", ylim=(1, 1.5 * MOST_ITERATIONS))
        ax.legend()
    axes[0].set_ylabel("iterations of parameter CG to the same loss")
    RESULTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(RESULTS / "kernel_gradient.png", dpi=110)


def run(report: Report, quick: bool) -> None:
    curves = []
    for name in QUICK_SETS if quick else SETS:
        task = load_task(name, QUICK_ROWS if quick else LARGEST)
        for loss in task.losses:
            curves.append(measure(task, loss))
            report.progress(f"{name}, {loss}: {curves[-1].row}")
    report.table(f"Iterations to the same loss, kernel CG to tolerance {TOLERANCE:g}", [c.row for c in curves])
    exponents = np.array([curve.row["exponent"] for curve in curves])
    fewer = np.array([curve.row["times fewer"] for curve in curves])
    middle, share = float(np.median(exponents)), float(np.mean(fewer > 1))
    seen = f"{middle:.2f}, from {exponents.min():.2f} to {exponents.max():.2f}"
    report.verdict("parameter CG takes the square of kernel CG or more: median exponent", ">= 2", seen, middle >= 2)
    report.verdict("kernel CG takes fewer iterations", "on every set", f"on {share:.0%}", share == 1.0)
    report.say(f"On the geometric mean it takes {np.exp(np.log(fewer).mean()):.1f} times fewer, or more.")
    if is_kept(quick):
        draw(curves)
        report.say("![iterations](kernel_gradient.png)")


if __name__ == "__main__":
    main("kernel_gradient", __doc__, run)
