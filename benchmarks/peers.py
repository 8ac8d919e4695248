"""Log loss, error and seconds beside scikit-learn's classifiers, each with its usual tuning.

satimage and segment in their original split, digits half and half; inputs standardised on the training rows.
Ours runs at the default rate and variance, nothing learned (criterion=None). Peers: an SVC whose C and gamma are
searched on a 6 x 6 grid and whose probabilities are calibrated in one of two ways, a Gaussian process classifier
with learned hyperparameters on the rows that it can stand, logistic regression with C searched, and histogram
gradient boosting with its defaults. Seconds are those of fit, search included. The default rate and variance
were chosen over many sets, these three among them (defaults.py gives the choice without each).
"""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from data import Split, load
from logikern import KernelLogisticClassifier
from measure import score
from report import Report, Row, main

SETS = ("satimage", "segment", "digits")
QUICK_ROWS = 400
# The one-against-rest fits of a Gaussian process take O(C n^3) for each of some dozens of evaluations.
GAUSSIAN_PROCESS_ROWS = 400
OURS = "logikern, default rate and variance"


class VectorMachine:
    """An SVC: C and gamma by cross-validated accuracy, then calibrated on five folds at the best of them.

    Parameters
    ----------
    grid : dict
    method : {"sigmoid", "temperature"}
        Of the calibration.
    """

    def __init__(self, grid: dict, method: str):
        self.grid = grid
        self.method = method

    def fit(self, X: np.ndarray, y: np.ndarray) -> "VectorMachine":
        best = GridSearchCV(SVC(), self.grid, cv=3).fit(X, y).best_params_
        self.calibrated = CalibratedClassifierCV(SVC(**best), method=self.method, cv=5).fit(X, y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.calibrated.predict_proba(X)


def vector_grid(split: Split, quick: bool) -> dict:
    """36 settings around one over the total variance of the inputs."""
    unit = 1.0 / split.total_variance
    if quick:
        return {"C": [1, 10], "gamma": [unit, 4 * unit]}
    return {"C": [0.3, 1, 3, 10, 30, 100], "gamma": [unit * 2.0**power for power in range(-1, 5)]}


def contenders(split: Split, quick: bool) -> dict[str, tuple[Any, int]]:
    """Model and largest number of training rows, by name."""
    everything = len(split.y)
    linear = GridSearchCV(
        LogisticRegression(max_iter=2000),
        {"C": [0.01, 0.1, 1.0, 10.0, 100.0]},
        cv=3,
        scoring="neg_log_loss",
    )
    grid = vector_grid(split, quick)
    process = GaussianProcessClassifier(ConstantKernel(10.0) * RBF(split.X.shape[1] ** 0.5), random_state=0)
    return {
        OURS: (KernelLogisticClassifier(criterion=None, random_state=0), everything),
        "SVC, searched, sigmoid": (VectorMachine(grid, "sigmoid"), everything),
        "SVC, searched, temperature": (VectorMachine(grid, "temperature"), everything),
        "Gaussian process": (process, 150 if quick else GAUSSIAN_PROCESS_ROWS),
        "logistic regression, C searched": (linear, everything),
        "histogram gradient boosting": (HistGradientBoostingClassifier(random_state=0), everything),
    }


def measure_contender(name: str, model: Any, rows: int, split: Split) -> Row:
    """Fit on at most `rows` rows and score on all test rows."""
    part = split.head(rows)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(part.X, part.y)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    # scikit-learn's log_loss bounds probabilities in the same way.
    probabilities = np.clip(model.predict_proba(split.X_test), np.finfo(float).eps, 1.0)
    scores = score(np.log(probabilities), split.y_test)
    return {
        "model": name,
        "rows": len(part.y),
        "log loss": scores.log_loss,
        "error %": 100 * scores.error,
        "fit seconds": seconds,
        "predict seconds": time.perf_counter() - began,
    }


def run(report: Report, quick: bool) -> None:
    for name in SETS[1:] if quick else SETS:
        split = load(name)
        split = (split.head(QUICK_ROWS) if quick else split).standardised()
        rows = []
        for label, (model, n_rows) in contenders(split, quick).items():
            rows.append(measure_contender(label, model, n_rows, split))
            report.progress(f"{name}, {label}: log loss {rows[-1]['log loss']:.3f}, {rows[-1]['fit seconds']:.1f} s")
        report.table(f"{name}, {len(split.y)} training rows, {split.n_classes} classes", rows)
        best = min(rows[1:], key=lambda row: row["log loss"])
        report.say(f"Best peer by log loss: {best['model']}, {best['log loss']:.4f}; ours {rows[0]['log loss']:.4f}.")


if __name__ == "__main__":
    main("peers", __doc__, run)
