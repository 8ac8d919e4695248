"""Comparison with scikit-learn's classifiers on its handwritten digits."""

import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from logikern.cli.models import load_model, new_classifier
from logikern.cli.session.messages import Messages
from logikern.cli.writing.render import make_table
from logikern.cli.writing.scores import Scores, score
from logikern.model.persistence import save_model

GAUSSIAN_PROCESS_ROWS = 300  # with more rows, its ten one-vs-rest fits take minutes
OURS = "logikern"
# Heading -> format and value of each score; smaller is better.
FIGURES: dict[str, tuple[str, Callable[["Result"], float]]] = {
    "log loss": (".4f", lambda result: result.scores.log_loss),
    "error": (".2%", lambda result: result.scores.error),
    "Brier": (".4f", lambda result: result.scores.brier_score),
    "calibration": (".4f", lambda result: result.scores.calibration_error),
    "CPU s": (".2f", lambda result: result.seconds),
}


@dataclass(frozen=True)
class Contender:
    """A model to compare; `rows` limits its training set."""

    name: str
    model: Any
    rows: int | None = None


@dataclass(frozen=True)
class Result:
    """Test scores of a contender, and the CPU seconds of its fit."""

    name: str
    model: Any
    rows: int
    seconds: float
    scores: Scores


@dataclass(frozen=True)
class Split:
    """Training and test rows, the same for every contender."""

    X: np.ndarray
    labels: np.ndarray
    X_test: np.ndarray
    labels_test: np.ndarray


def show(messages: Messages) -> None:
    """Fit and score all contenders; then write, reload and use our model."""
    split = digits_split()
    messages.info(
        f"handwritten digits: {len(split.labels)} rows to fit, {len(split.labels_test)} to test, "
        f"{split.X.shape[1]} inputs, {len(np.unique(split.labels))} classes"
    )
    # On a busy machine, two threads took 8 to 100 times as long as one for these small fits.
    with threadpool_limits(1):
        results = compare(contenders(), split, messages)
    print_results(results)
    ours = next(result for result in results if result.name == OURS)
    print(f"What {OURS} found:\n{ours.model.explain()}")
    _write_and_reload(ours, split)


def digits_split(test_size: float = 0.5, seed: int = 0) -> Split:
    """Half of the digits for training, half for testing, stratified by class."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, labels = load_digits(return_X_y=True)
    # Grey levels from 0 to 1. All contenders do worse on standardised pixels, which turn empty margins into noise.
    X_fit, X_test, fitted, test = train_test_split(
        pixels / 16, labels, test_size=test_size, random_state=seed, stratify=labels
    )
    return Split(X_fit, fitted, X_test, test)


def contenders(seed: int = 0) -> list[Contender]:
    """Our classifier, with and without learning, and tuned classifiers from scikit-learn."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    # Calibration inside the grid search, which then selects by log loss: the strongest variant.
    vector_machine = _tuned(
        CalibratedClassifierCV(SVC(), cv=5),
        estimator__C=[1, 10, 100],
        estimator__gamma=[0.03, 0.1, 0.3, 1.0],
        method=["sigmoid", "temperature"],
    )
    linear = _tuned(LogisticRegression(max_iter=500), C=[0.1, 1, 10, 100])
    process = GaussianProcessClassifier(ConstantKernel(10.0) * RBF(2.0), random_state=seed)
    return [
        Contender(OURS, new_classifier({"random_state": seed})),
        Contender("logikern, fixed hyperparameters", new_classifier({"random_state": seed}, fixed=True)),
        Contender("SVC, tuned, calibrated", vector_machine),
        Contender("Gaussian process", process, GAUSSIAN_PROCESS_ROWS),
        Contender("logistic regression, tuned", linear),
    ]


def _tuned(model: Any, **grid: list[Any]) -> Any:
    """The model, tuned by log loss in 3-fold cross-validation."""
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(model, grid, cv=3, scoring="neg_log_loss")


def compare(rivals: Sequence[Contender], split: Split, messages: Messages) -> list[Result]:
    """Fit every contender on the training rows and score it on the test rows."""
    results = []
    for rival in rivals:
        rows = slice(rival.rows)  # the rows are already in random order
        with messages.working(rival.name), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.process_time()
            model = clone(rival.model).fit(split.X[rows], split.labels[rows])
            seconds = time.process_time() - began
            scores = score(_log_probabilities(model, split.X_test), split.labels_test, model.classes_)
        results.append(Result(rival.name, model, len(split.labels[rows]), seconds, scores))
    return results


def print_results(results: Sequence[Result]) -> None:
    """One row per contender, and the best contender for each score."""
    from rich.console import Console

    whole = max(result.rows for result in results)
    rows = (
        (
            f"{result.name}, {result.rows} rows" if result.rows < whole else result.name,
            *(format(figure(result), spec) for spec, figure in FIGURES.values()),
        )
        for result in results
    )
    title = "same rows and one thread for all; tuned by 3-fold grid search; smaller is better"
    Console().print(make_table(title, ["model"], FIGURES, rows))
    for heading, (_, figure) in FIGURES.items():
        print(f"smallest {heading}: {min(results, key=figure).name}")


def _write_and_reload(ours: Result, split: Split) -> None:
    """Write and reload our model, and check that its probabilities are the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.skops"
        save_model(ours.model, str(path))
        size = path.stat().st_size / 1024
        reloaded = load_model(str(path)).predict_proba(split.X_test)
    if not np.array_equal(reloaded, ours.model.predict_proba(split.X_test)):
        raise ValueError("The reloaded model does not give the same probabilities as the model in memory.")
    print(f"wrote the model to a file ({size:.0f} kB), loaded it, and got the same probabilities;")
    first = reloaded[0]
    likely = np.argsort(first)[::-1][:3]
    shown = ", ".join(f"{ours.model.classes_[place]} with {first[place]:.3f}" for place in likely)
    print(f"the first test digit, a {split.labels_test[0]}, is predicted as {shown}.")


def _log_probabilities(model: Any, X: np.ndarray) -> np.ndarray:
    # Probabilities may be exactly zero; scikit-learn's log_loss clips them in the same way.
    probabilities = model.predict_proba(X)
    return np.log(np.clip(probabilities, np.finfo(float).eps, 1.0))
