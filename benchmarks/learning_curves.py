"""Penalised loss against CPU seconds on digits, the learning curves of Memisevic (2006), Figure 1.

usps, 5000 training rows drawn at random (which ones the paper has is not known), inputs of unit variance, kernel
exp(-|x - z|^2 / sigma^2) with sigma^2 = 128, variance 1 / lambda, no bias, for the three values of lambda / N in the
paper. Conjugate gradients in the coefficients and pairwise ascent are the methods of the paper; Newton's method and
kernel conjugate gradients are added. The matrix is computed before the clock starts. A curve ends when its solver has
converged or its CPU seconds are used up. The table has the seconds until the loss is so far above the least one of
all, relative to it; a figure is drawn.
"""

import contextlib
import time
from collections.abc import Iterator

import numpy as np

from data import load
from kernel_gradient import parameter_losses
from logikern.fitting.problem import Problem
from logikern.numerics.outcome import NewtonStep
from logikern.numerics.parallel import own_threads
from printed import CURVE_LAMBDAS, CURVE_ROWS, CURVE_SIGMA_SQUARED
from report import RESULTS, Report, Row, is_kept, main
from smo import SOLVERS, Reached, make_problem, specification

PARAMETERS = "CG in the coefficients"
GAPS = (1e-2, 1e-4, 1e-6)
# CPU seconds and rows.
LONGEST = {"full": 20.0, "quick": 0.3}
ROWS = {"full": CURVE_ROWS, "quick": 300}
# Seconds, losses.
Curve = tuple[np.ndarray, np.ndarray]


def parameter_curve(problem: Problem, longest: float) -> Curve:
    began = time.process_time()
    return _arrays(_until(((time.process_time() - began, loss) for loss in parameter_losses(problem)), longest))


def _until(points: Iterator[tuple[float, float]], longest: float) -> Iterator[tuple[float, float]]:
    last = np.inf
    for seconds, loss in points:
        yield seconds, loss
        if seconds > longest or last - loss < 1e-12 * abs(loss):
            return
        last = loss


def solver_curve(problem: Problem, kind: str, longest: float) -> Curve:
    points: list[tuple[float, float]] = []
    began = time.process_time()

    def watch(step: NewtonStep) -> None:
        points.append((time.process_time() - began, step.loss))
        if points[-1][0] > longest:
            raise Reached

    with contextlib.suppress(Reached):
        SOLVERS[kind]().fit(problem, callback=watch)
    return _arrays(iter(points))


def _arrays(points: Iterator[tuple[float, float]]) -> Curve:
    seconds, losses = np.array(list(points)).T
    return seconds, np.minimum.accumulate(losses)


def seconds_to(curve: Curve, least: float, gap: float) -> float | str:
    """Until the loss is at most so far above the least one, relative to that."""
    reached = curve[1] <= least + gap * abs(least)
    return float(curve[0][reached.argmax()]) if reached.any() else f"> {curve[0][-1]:.0f}"


def draw(curves: dict[float, dict[str, Curve]], least: dict[float, float]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(11, 3.8), layout="constrained", sharey=True)
    for ax, (relative, own) in zip(axes, curves.items(), strict=True):
        for kind, (seconds, losses) in own.items():
            above = np.maximum(losses / least[relative] - 1, 1e-9)
            ax.loglog(np.maximum(seconds, 1e-3), above, label=kind)
        ax.set(title=f"lambda / N = {relative:g}", xlabel="CPU seconds")
    axes[0].set_ylabel("penalised loss above the least, relative")
    axes[0].legend()
    RESULTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(RESULTS / "learning_curves.png", dpi=110)


def run(report: Report, quick: bool) -> None:
    size = "quick" if quick else "full"
    split = load("usps").standardised().head(ROWS[size])
    curves: dict[float, dict[str, Curve]] = {}
    with own_threads():
        for relative in CURVE_LAMBDAS:
            problem = make_problem(split, specification(split, CURVE_SIGMA_SQUARED, relative * len(split.y)))
            own = {PARAMETERS: parameter_curve(problem, LONGEST[size])}
            own |= {kind: solver_curve(problem, kind, LONGEST[size]) for kind in SOLVERS}
            curves[relative] = own
            report.progress(f"lambda / N = {relative:g}: done")
    least = {relative: min(losses[-1] for _, losses in own.values()) for relative, own in curves.items()}
    rows: list[Row] = []
    for relative, own in curves.items():
        for kind, curve in own.items():
            to = {f"s to {gap:.0e}": seconds_to(curve, least[relative], gap) for gap in GAPS}
            rows.append({"lambda / N": relative, "method": kind, **to, "last loss": curve[1][-1]})
    report.table(f"CPU seconds to a penalised loss near the least, {len(split.y)} digits", rows)
    faster = sum(_is_faster(own, least[relative]) for relative, own in curves.items())
    claim = "SMO is nearer than CG in the coefficients when it ends"
    report.verdict(claim, "at each lambda", f"{faster} of {len(curves)}", faster == len(curves))
    if is_kept(quick):
        draw(curves, least)


def _is_faster(own: dict[str, Curve], least: float) -> bool:
    """Whether pairwise ascent has reached its last loss before conjugate gradients in the coefficients do."""
    seconds, losses = own["SMO"]
    reached = own[PARAMETERS][1] <= losses[-1] + 1e-12 * abs(least)
    return not reached.any() or float(own[PARAMETERS][0][reached.argmax()]) > float(seconds[-1])


if __name__ == "__main__":
    main("learning_curves", __doc__, run)
