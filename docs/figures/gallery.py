"""Figures of docs/gallery.md: python docs/figures/gallery.py."""

import numpy as np
from canvas import figure
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from logikern import KernelLogisticClassifier, error_reject_curve, plot_error_reject, plot_reliability, plot_search


def draw_decisions() -> None:
    """The curves of two models of the same data."""
    data = load_breast_cancer()
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, data.target, test_size=0.5, random_state=0, stratify=data.target
    )
    models = {
        "all columns": KernelLogisticClassifier(random_state=0).fit(X_train, y_train).predict_proba(X_test),
        "two columns": KernelLogisticClassifier(random_state=0)
        .fit(X_train[:, :2], y_train)
        .predict_proba(X_test[:, :2]),
    }
    with figure("error_reject", size=(4.6, 3.0)) as axes:
        plot_error_reject({name: error_reject_curve(y_test, found) for name, found in models.items()}, axes)
    with figure("reliability", size=(4.0, 3.0)) as axes:
        plot_reliability(y_test, models["two columns"], n_bins=8, ax=axes)


def draw_search() -> None:
    """The search of a fit of digits."""
    X, y = load_digits(return_X_y=True)
    model = KernelLogisticClassifier(random_state=0).fit(X[:400], y[:400])
    with figure("search_trace", size=(7.5, 3.2)) as axes:
        plot_search(model.trace_, axes)


def draw_tree() -> None:
    """The nodes of a class tree with their errors."""
    digits = load_digits()
    groups = {0: "round", 6: "round", 8: "round", 9: "round", 1: "straight", 4: "straight", 7: "straight"}
    paths = np.array([f"{groups.get(digit, 'curved')}/{digit}" for digit in digits.target])
    model = KernelLogisticClassifier(hierarchy="paths", tying="level", ard=False, random_state=0)
    model.fit(digits.data[:300], paths[:300])
    with figure("tree", size=(6.0, 4.2)) as axes:
        model.plot_tree(digits.data[300:], paths[300:], axes)


if __name__ == "__main__":
    draw_decisions()
    draw_search()
    draw_tree()
