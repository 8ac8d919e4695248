"""Figures of docs/how-it-works.md: python docs/figures/how_it_works.py."""

import numpy as np
from canvas import figure
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from logikern import KernelLogisticClassifier
from logikern.operators.partition import divide

COLOURS = ("tab:blue", "tab:orange", "tab:green")


def three_bumps(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """One input, three classes that overlap; the first class has two modes."""
    random = np.random.default_rng(0)
    classes = random.integers(0, 3, n)
    centres = np.choose(classes, [np.where(random.random(n) < 0.5, -3.0, 3.0), -0.8, 1.0])
    return (centres + 0.7 * random.standard_normal(n))[:, None], classes


def draw_functions() -> None:
    """Class functions and their softmax."""
    X, y = three_bumps()
    line = np.linspace(-6, 6, 300)[:, None]
    model = KernelLogisticClassifier("gaussian", inputs="raw", tying="shared", random_state=0).fit(X, y)
    with figure("functions", 1, 2, sharex=True) as (left, right):
        for own, colour in enumerate(COLOURS):
            left.plot(line, model.decision_function(line)[:, own], color=colour, label=f"class {own}")
            right.plot(line, model.predict_proba(line)[:, own], color=colour)
            right.plot(X[y == own], np.full((y == own).sum(), -0.04 - 0.03 * own), "|", color=colour, markersize=5)
        left.set(title="class functions", xlabel="input")
        right.set(title="probabilities, and the training rows below", xlabel="input")
        left.legend(frameon=False)


def draw_hyperparameters() -> None:
    """The probability of one class at different rates and variances."""
    X, y = three_bumps()
    line = np.linspace(-6, 6, 300)[:, None]
    with figure("hyperparameters", 1, 2, sharex=True, sharey=True) as (left, right):
        for rate, colour in zip((0.05, 1.0, 50.0), COLOURS, strict=True):
            model = KernelLogisticClassifier("gaussian", criterion=None, rate=rate, variance=10.0).fit(X, y)
            left.plot(line, model.predict_proba(line)[:, 0], color=colour, label=f"rate {rate:g}")
        for variance, colour in zip((0.1, 10.0, 1000.0), COLOURS, strict=True):
            model = KernelLogisticClassifier("gaussian", criterion=None, rate=1.0, variance=variance).fit(X, y)
            right.plot(line, model.predict_proba(line)[:, 0], color=colour, label=f"variance {variance:g}")
        left.set(title="variance 10", xlabel="input", ylabel="probability of class 0")
        right.set(title="rate 1", xlabel="input")
        for axes in (left, right):
            axes.legend(frameon=False)


def cross_validated(X: np.ndarray, y: np.ndarray, rate: float, variance: float) -> float:
    """The criterion of fixed hyperparameters, by five fits of scikit-learn's making."""
    model = KernelLogisticClassifier("gaussian", criterion=None, rate=rate, variance=variance)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return float(log_loss(y, cross_val_predict(model, X, y, cv=folds, method="predict_proba")))


def draw_search() -> None:
    """The criterion over rate and variance, with the start and the end of the search."""
    X, y = make_moons(150, noise=0.35, random_state=0)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    model = KernelLogisticClassifier("gaussian", inputs="raw", tying="shared", ard=False, cv=folds, random_state=0)
    model.fit(X, y)
    table = model.hyperparameters_.set_index("name")
    rates, variances = np.geomspace(0.05, 50, 19), np.geomspace(0.3, 3000, 19)
    values = [[cross_validated(X, y, rate, variance) for rate in rates] for variance in variances]
    with figure("search", size=(5.0, 3.4)) as axes:
        levels = np.min(values) + 0.003 * 1.7 ** np.arange(10)
        axes.contour(rates, variances, values, levels=levels, cmap="viridis_r", linewidths=0.9)
        path = table.loc[["rate", "variance"], ["start", "value"]].to_numpy()
        axes.annotate("", path[:, 1], path[:, 0], arrowprops={"arrowstyle": "->", "color": "tab:red"})
        axes.plot(*path[:, 0], "o", color="tab:red", label="start, estimated from the data")
        axes.plot(*path[:, 1], "*", color="tab:red", markersize=11, label=f"learned, {len(model.trace_)} evaluations")
        axes.set(xscale="log", yscale="log", xlabel="rate", ylabel="variance", title="cross-validated log loss")
        axes.legend(frameon=False, loc="upper right")


def draw_leave_one_out() -> None:
    """Leave-one-out from one fit, against refits."""
    X, y = load_iris(return_X_y=True)
    model = KernelLogisticClassifier(tying="shared", ard=False, random_state=0).fit(X, y)
    rows = np.arange(len(y))
    one_fit, refits = model.loo_proba_[rows, y], model.exact_loo()[rows, y]
    with figure("leave_one_out", size=(3.4, 3.2)) as axes:
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        axes.plot(refits, one_fit, "o", markersize=3, alpha=0.6)
        axes.set(xlabel="150 refits", ylabel="one fit", title="probability of the label", aspect="equal")


def draw_neighbourhoods() -> None:
    """Two partitions of the same points."""
    X, _ = make_moons(400, noise=0.25, random_state=0)
    with figure("neighbourhoods", 1, 2, sharex=True, sharey=True) as panels:
        for seed, axes in enumerate(panels):
            _, cells = divide(X, np.ones(2), 60, np.random.default_rng(seed))
            for members in cells:
                axes.plot(*X[members].T, "o", markersize=2)
            axes.set(title=f"partition {seed + 1}: {len(cells)} neighbourhoods", xticks=[], yticks=[])


if __name__ == "__main__":
    draw_functions()
    draw_hyperparameters()
    draw_search()
    draw_leave_one_out()
    draw_neighbourhoods()
