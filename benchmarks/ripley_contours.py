"""Ripley's data: what four estimates of the loss say of rate and variance, as in Cawley & Talbot (2008), Figs. 2, 3.

250 training and 1000 test rows, inputs of mean 0 and variance 1, two classes, one Gaussian kernel, free constants. On
a grid of rates and variances: the leave-one-out loss in closed form, the same by refits, each without one row, the
loss of ten folds, fitted again as well, and the loss on the test rows. All four are mean cross-entropies of the same
model. The paper's gamma is twice the variance (log odds have the variance of two functions), its eta half the rate.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from data import Split, load
from logikern.criteria.leave_one_out.expansion import ExactExpansion
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.fitting.newton.free_bias import FreeBias, free_constants
from logikern.fitting.problem import Problem
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.model.fitted import FittedModel
from logikern.numerics.simplex import log_probabilities
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie
from measure import bind, score
from report import RESULTS, Report, Row, is_kept
from tuned import Tuned, conduct, options, tune

PANELS = ("approximate leave-one-out", "exact leave-one-out", "10-fold", "test")
LOG_RATES, LOG_VARIANCES = (-1.5, 2.5), (-1.5, 3.5)
TOLERANCE = 1e-6
# Contours this far above the least value, each twice the one before.
LEVELS = 0.0025 * 2.0 ** np.arange(9)


def fold_numbers(split: Split, n_folds: int = 10) -> np.ndarray:
    numbers = np.empty(len(split.y), dtype=int)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for number, (_, held_out) in enumerate(splitter.split(split.X, split.y)):
        numbers[held_out] = number
    return numbers


def losses_at(split: Split, folds: np.ndarray, rate: float, variance: float) -> list[float]:
    """The four losses, in the order of PANELS."""
    flat = Flat(split.n_classes)
    specification = Specification((Gaussian(rate),), (variance,), np.inf, tie("shared", flat), flat)
    covariance = bind(split, specification)
    problem = Problem(covariance, Softmax(), from_labels(split.y, split.n_classes), np.ones((1, len(split.y))))
    solver = FreeBias(TOLERANCE)
    result = solver.fit(problem)
    approximate = ExactExpansion(problem, result).leave_out()
    exact = exact_leave_one_out(problem, solver, start=result.latent).latent
    of_folds = exact_leave_one_out(problem, solver, folds, result.latent).latent
    model = FittedModel(specification, split.X, result.dual[0], free_constants(covariance, result))
    tested = score(log_probabilities(model.latents(split.X_test).T).T, split.y_test).log_loss
    own = [score(log_probabilities(latent).T, split.y).log_loss for latent in (approximate, exact, of_folds)]
    return [*own, tested]


def place(losses: np.ndarray) -> tuple[int, int]:
    """Of the least loss, (variance, rate)."""
    row, column = np.unravel_index(losses.argmin(), losses.shape)
    return int(row), int(column)


def describe(losses: dict[str, np.ndarray], rates: np.ndarray, variances: np.ndarray) -> list[Row]:
    test = losses["test"]
    rows = []
    for panel, own in losses.items():
        row, column = place(own)
        near = own <= np.quantile(own, 0.5)
        rows.append(
            {
                "loss": panel,
                "least": own[row, column],
                "at rate": 10 ** rates[column],
                "at variance": 10 ** variances[row],
                "test loss there": test[row, column],
                "correlation with test": np.corrcoef(own.ravel(), test.ravel())[0, 1],
                "in its better half": np.corrcoef(own[near], test[near])[0, 1],
                "correlation with exact": np.corrcoef(own.ravel(), losses[PANELS[1]].ravel())[0, 1],
            }
        )
    return rows


def learn(split: Split) -> Tuned:
    """The model of the paper's Figure 1: its two hyperparameters are learned by approximate leave-one-out."""
    common = {"kernel": "gaussian", "inputs": "raw", "tying": "shared", "ard": False}
    return tune(split, criterion="loo", bias_variance=np.inf, random_state=0, **common)


def describe_model(tuned: Tuned) -> Row:
    specification = tuned.model.model_.specification
    return {
        "rate": float(specification.kernels[0].rate),
        "variance": specification.variances[0],
        "leave-one-out loss": tuned.model.criterion_value_,
        "test loss": tuned.scores.log_loss,
        "test error %": 100 * tuned.scores.error,
    }


def draw_model(tuned: Tuned, split: Split) -> None:
    """Contours of the probability of the second class over the training rows."""
    low, high = split.X.min(axis=0) - 0.3, split.X.max(axis=0) + 0.3
    axes = [np.linspace(*ends, 120) for ends in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    probability = tuned.model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    figure, ax = _new_figure(1, 1, (6, 4.5))
    for label, marker in enumerate("o^"):
        ax.plot(*split.X[split.y == label].T, marker, markersize=4, fillstyle="none", label=f"class {label}")
    lines = ax.contour(*axes, probability, levels=(0.1, 0.3, 0.5, 0.7, 0.9), colors="k", linewidths=0.8)
    ax.clabel(lines, fmt="%.1f", fontsize=8)
    ax.set(xlabel="first input, standardised", ylabel="second input, standardised")
    ax.legend()
    figure.savefig(RESULTS / "ripley_model.png", dpi=110)


def draw_contours(losses: dict[str, np.ndarray], rates: np.ndarray, variances: np.ndarray) -> None:
    figure, axes = _new_figure(2, 2, (9, 8))
    for ax, (panel, own) in zip(axes.ravel(), losses.items(), strict=True):
        lines = ax.contour(rates, variances, own, levels=own.min() + LEVELS, cmap="viridis")
        ax.clabel(lines, fmt="%.3f", fontsize=7)
        row, column = place(own)
        ax.plot(rates[column], variances[row], "k+", markersize=12)
        ax.set(title=panel, xlabel="log10 rate", ylabel="log10 variance")
    figure.savefig(RESULTS / "ripley_contours.png", dpi=110)


def draw_slices(losses: dict[str, np.ndarray], rates: np.ndarray, variances: np.ndarray) -> None:
    """Approximate and exact leave-one-out along each axis, through the least approximate one."""
    row, column = place(losses[PANELS[0]])
    figure, axes = _new_figure(1, 2, (9, 3.6))
    for panel in PANELS[:2]:
        axes[0].plot(variances, losses[panel][:, column], label=panel)
        axes[1].plot(rates, losses[panel][row], label=panel)
    axes[0].set(xlabel="log10 variance", ylabel="mean loss", title=f"rate {10 ** rates[column]:.3g}")
    axes[1].set(xlabel="log10 rate", title=f"variance {10 ** variances[row]:.3g}")
    axes[0].legend()
    figure.savefig(RESULTS / "ripley_slices.png", dpi=110)


def _new_figure(n_rows: int, n_columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(n_rows, n_columns, figsize=size, layout="constrained")


def run(report: Report, chosen: argparse.Namespace) -> None:
    split = load("ripley_synth")
    split = (split.head(60) if chosen.quick else split).standardised()
    size = 4 if chosen.quick else chosen.size
    rates, variances = np.linspace(*LOG_RATES, size), np.linspace(*LOG_VARIANCES, size)
    folds = fold_numbers(split)
    values = np.empty((len(PANELS), size, size))
    for row, variance in enumerate(variances):
        for column, rate in enumerate(rates):
            values[:, row, column] = losses_at(split, folds, 10**rate, 10**variance)
        report.progress(f"variance {10**variance:.3g}: least losses {np.round(values[:, row].min(axis=1), 4)}")
    losses = dict(zip(PANELS, values, strict=True))
    table = describe(losses, rates, variances)
    report.table(f"{len(split.y)} training rows, {size} x {size} settings", table)
    best = table[-1]["least"]
    for entry in table[:-1]:
        excess = entry["test loss there"] / best - 1
        claim = f"test loss at the minimum of {entry['loss']}, over the least test loss"
        report.verdict(claim, "at most 2 % more", f"{excess:.2%} more", excess <= 0.02)
    tuned = learn(split)
    report.table("The model that leave-one-out learns", [describe_model(tuned)])
    if is_kept(chosen.quick):
        RESULTS.mkdir(parents=True, exist_ok=True)
        draw_model(tuned, split)
        draw_contours(losses, rates, variances)
        draw_slices(losses, rates, variances)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--size", type=int, default=17, help="rates, and variances, of the grid (17)")
    conduct("ripley_contours", parser.parse_args(), run)


if __name__ == "__main__":
    main()
