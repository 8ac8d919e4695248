"""Inputs and settings that make no sense: a ValueError or TypeError that was meant, or a fit; nothing else."""

import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from logikern import KernelLogisticClassifier, KernelRegressor, decide_on_tree, error_reject_curve
from logikern.decisions.metrics import brier_score
from logikern.decisions.rules import decide
from tests.fuzz.checks import Checks
from tests.fuzz.tables import Random

# What somebody might pass for any setting. No functions: what these raise is their own affair.
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2.5, 1e-300, 1e300, float("nan"), float("inf"), -float("inf"), 10**30),
    *("", "auto", "no such thing", b"bytes", "gaussian", "shared", "nan", "3"),
    *([], (), {}, [1.0], [1.0, 2.0], [-1.0, 2.0], ["a", "b"], {"a": 1}, [[1.0]], [None], [float("nan")] * 2),
    *(object(), np.array([]), np.array([1.0, 2.0]), np.float32(0.5), np.int64(3), np.str_("auto")),
    pd.DataFrame({"a": [1.0]}),
    range(3),
)
# Where several libraries see an input first, their errors are clear enough.
TRUSTED_LIBRARIES = ("sklearn", "skops", "_mt19937.pyx")  # the last one judges seeds


def judge_refusal(checks: Checks, kind: str, call: Callable[[], Any], told: str, must: bool = False) -> None:
    """An error that was meant: raised by a `raise` of ours, or by scikit-learn; with `must`, no success either."""
    try:
        with checks.quiet("mistakes"):
            call()
    except (ValueError, TypeError) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        parts = PurePath(frame.filename).parts
        trusted = any(library in parts for library in TRUSTED_LIBRARIES)
        meant = "logikern" in parts and (frame.line or "").lstrip().startswith("raise")
        where = f"{type(error).__name__}: {error} at {'/'.join(parts[-3:])}:{frame.lineno}"
        checks.that(f"mistakes: {kind}: the error is meant", trusted or meant, f"{where} {told}")
        checks.that(f"mistakes: {kind}: the error is a sentence", len(str(error).split()) >= 4, f"{where} {told}")
    except Exception as error:
        trace = traceback.extract_tb(error.__traceback__)
        where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in trace[:-5:-1])
        checks.that(f"mistakes: {kind}", False, f"{type(error).__name__}: {error} in {where} {told}")
    else:
        checks.that(f"mistakes: {kind}: refused", not must, f"accepted {told}")


def odd_settings(random: Random, checks: Checks) -> None:
    """One or two settings at odd values."""
    n = int(random.integers(6, 24))
    X, y = random.normal(size=(n, 2)), np.arange(n) % 3
    for _ in range(6):
        regress = random.random() < 0.2
        kind: Any = KernelRegressor if regress else KernelLogisticClassifier
        names = sorted(kind().get_params())
        settings: dict[str, Any] = {"criterion": None, "memory_limit": "1GB", "max_time": 2.0}
        for name in random.choice(names, int(random.choice([1, 1, 2])), replace=False).tolist():
            if name == "checkpoint":
                continue
            settings[name] = ODD_VALUES[random.integers(len(ODD_VALUES))]
            if name in SEARCHED:
                settings["criterion"] = "loo" if regress else "cv"
        # Random numbers that nobody fixed are no mistake, but this case must repeat.
        settings.setdefault("random_state", 0)
        told = f"[{kind.__name__}({settings})]"
        estimator = kind(**settings)
        judge_refusal(checks, "settings", lambda e=estimator, X=X, y=y: e.fit(X, y).predict(X), told)


SEARCHED = ("cv", "ard", "learn_bias", "sharpen", "search_size", "optimizer", "n_starts", "max_time", "tying")


def odd_data(random: Random, checks: Checks) -> None:
    """Rows, targets and weights that are wrong in some way."""
    n = int(random.integers(6, 20))
    X, y = random.normal(size=(n, 3)), np.arange(n) % 3
    weights = np.ones(n)
    estimator: Any = KernelLogisticClassifier(criterion=None)
    for name, (wrong_X, wrong_y, wrong_weights) in _wrong_data(random, X, y, weights).items():
        judge_refusal(
            checks,
            "data",
            lambda X=wrong_X, y=wrong_y, w=wrong_weights: estimator.fit(X, y, sample_weight=w),
            f"[{name}]",
            must=True,
        )
    fitted = KernelLogisticClassifier(criterion=None).fit(X, y)
    for name, rows in _wrong_rows(random, X).items():
        judge_refusal(checks, "rows to predict", lambda rows=rows: fitted.predict_proba(rows), f"[{name}]", must=True)
    _odd_decisions(random, checks, fitted, X, y)


def _wrong_data(random: Random, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> dict[str, tuple]:
    n = len(y)
    soft = np.eye(3)[y]

    def spoilt(values: np.ndarray, value: Any) -> np.ndarray:
        values = values.astype(object if isinstance(value, str) else float).copy()
        values[tuple(random.integers(values.shape))] = value
        return values

    return {
        "nan alone in X": (np.full_like(X, np.nan), y, None),
        "infinity in X": (spoilt(X, np.inf), y, None),
        "text in X": (spoilt(X, "a"), y, None),
        "huge X": (spoilt(X, 1e300), y, None),
        "complex X": (X + 1j, y, None),
        "X of one dimension": (X[:, 0], y, None),
        "X of three dimensions": (X[None], y, None),
        "no rows": (X[:0], y[:0], None),
        "no columns": (X[:, :0], y, None),
        "more rows than labels": (X, y[:-1], None),
        "sparse nan": (sparse.csr_matrix(spoilt(X, np.nan)), y, None),
        "y is None": (X, None, None),
        "one class": (X, np.zeros(n, dtype=int), None),
        "nan in y": (X, spoilt(y.astype(float), np.nan), None),
        "numbers with fractions as labels": (X, y + random.random(n), None),
        "labels of two kinds": (X, spoilt(y.astype(object), "a"), None),
        "a missing label": (X, np.where(y == 1, None, y.astype(object)), None),
        "pandas NA as label": (X, pd.array([pd.NA, *y[1:].tolist()], dtype="Int64"), None),
        "y of three dimensions": (X, soft[None], None),
        "targets that do not sum to one": (X, 1.5 * soft, None),
        "negative targets": (X, spoilt(soft - 0.0, -0.5), None),
        "nan in targets": (X, spoilt(soft, np.nan), None),
        "text in targets": (X, soft.astype(str), None),
        "too few weights": (X, y, weights[:-1]),
        "negative weight": (X, y, spoilt(weights, -1.0)),
        "nan weight": (X, y, spoilt(weights, np.nan)),
        "infinite weight": (X, y, spoilt(weights, np.inf)),
        "no weight": (X, y, 0 * weights),
        "weights of one class only": (X, y, (y == 0).astype(float)),
        "text weights": (X, y, ["a"] * n),
        "a table of weights": (X, y, np.ones((n, 2))),
    }


def _wrong_rows(random: Random, X: np.ndarray) -> dict[str, Any]:
    infinite = X.copy()
    infinite[int(random.integers(len(X))), 0] = np.inf
    return {
        "a column too many": np.hstack([X, X[:, :1]]),
        "a column too few": X[:, :2],
        "infinite": infinite,
        "one dimension": X[0],
        "text": X.astype(str).tolist() + [["a", "b", "c"]],
        "no table": 3,
        "None": None,
        "sparse of another width": sparse.csr_matrix(X[:, :2]),
    }


def _odd_decisions(random: Random, checks: Checks, fitted: Any, X: np.ndarray, y: np.ndarray) -> None:
    proba = fitted.predict_proba(X)
    loss = np.ones((3, 3))
    tree = {"a": None, "b": None, 0: "a", 1: "a", 2: "b"}
    calls: dict[str, Callable[[], Any]] = {
        "loss of another shape": lambda: fitted.decide(X, loss[:, :2]),
        "negative loss": lambda: decide(proba, -loss),
        "nan loss": lambda: decide(proba, loss * np.nan),
        "text loss": lambda: fitted.decide(X, "taxonomic"),
        "negative cost": lambda: decide(proba, loss, -1.0),
        "text cost": lambda: decide(proba, loss, "cheap"),
        "probabilities that are none": lambda: decide(2 * proba),
        "probabilities of one column": lambda: decide(proba[:, :1]),
        "no probabilities": lambda: brier_score([], proba[:0], [0, 1, 2]),
        "label without column": lambda: brier_score(y + 7, proba, [0, 1, 2]),
        "classes twice": lambda: error_reject_curve(y, proba, [0, 0, 1]),
        "weights of zero": lambda: brier_score(y, proba, [0, 1, 2], np.zeros(len(y))),
        "tree of other classes": lambda: decide_on_tree(proba[:, :2], tree),
        "tree that is none": lambda: decide_on_tree(proba, {"a": "b", "b": "a"}),
        "loss that trees do not know": lambda: decide_on_tree(proba, tree, "squared"),
        "inner nodes without a loss": lambda: decide_on_tree(proba, tree, "zero_one", allow_inner=True),
    }
    for name, call in calls.items():
        judge_refusal(checks, "decisions", call, f"[{name}]", must=True)
    for _ in range(4):
        odd = ODD_VALUES[random.integers(len(ODD_VALUES))]
        judge_refusal(checks, "hierarchy", lambda odd=odd: _fit_tree(odd, X, y), f"[hierarchy={odd!r}]")
        judge_refusal(checks, "loss", lambda odd=odd: fitted.decide(X, odd), f"[loss={odd!r}]")
        judge_refusal(checks, "targets", lambda odd=odd: fitted.fit(X, odd), f"[y={odd!r}]")
        judge_refusal(checks, "groups", lambda odd=odd: _fit_groups(odd, X, y), f"[groups={odd!r}]")


def _fit_tree(hierarchy: Any, X: np.ndarray, y: np.ndarray) -> Any:
    return KernelLogisticClassifier(criterion=None, hierarchy=hierarchy).fit(X, y)


def _fit_groups(groups: Any, X: np.ndarray, y: np.ndarray) -> Any:
    return KernelLogisticClassifier(criterion=None).fit(X, y, groups=groups)
