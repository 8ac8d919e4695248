"""Classifiers for tables, each as its users run it: `fit(X, y, seed)` returns a model with `predict_proba`.

Every method runs on one thread. Tuning is part of `fit`. Those of NATIVE also take frames with categories and missing
values; all others take a matrix.
"""

import itertools
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.svm import SVC

from data import Split
from peers import vector_grid

Inputs = np.ndarray | pd.DataFrame

# 8 settings, each scored after three numbers of trees: 24 in all.
BOOSTING_GRID = {"learning_rate": (0.03, 0.1), "num_leaves": (7, 31), "min_child_samples": (5, 20)}
NUMBERS_OF_TREES = (50, 150, 400)
# Categories of a column that HistGradientBoostingClassifier stands.
MOST_CATEGORIES = 255
VALIDATION_SHARE = 0.2


def folds(y: np.ndarray, most: int, seed: int) -> StratifiedKFold:
    """At most so many folds, and no more than the smallest class has rows, so that every fold has every class."""
    return StratifiedKFold(int(np.clip(np.bincount(y).min(), 2, most)), shuffle=True, random_state=seed)


def ours(X: Inputs, y: np.ndarray, seed: int) -> Any:
    """logikern with its defaults."""
    from logikern import KernelLogisticClassifier

    return KernelLogisticClassifier(random_state=seed, n_jobs=1).fit(X, y)


def lightgbm_defaults(X: Inputs, y: np.ndarray, seed: int) -> Any:
    return _boosted(seed).fit(X, y)


def lightgbm_tuned(X: Inputs, y: np.ndarray, seed: int) -> Any:
    """The best of 24 settings by log loss of 3 folds.

    A fit with the largest number of trees also gives the predictions of the smaller ones, which costs LightGBM a
    third of what a plain grid search would.
    """
    splits = list(folds(y, 3, seed).split(X, y))
    losses = {}
    for values in itertools.product(*BOOSTING_GRID.values()):
        setting = dict(zip(BOOSTING_GRID, values, strict=True))
        by_fold = [_losses_by_trees(X, y, train, test, _boosted(seed, **setting)) for train, test in splits]
        for trees, loss in zip(NUMBERS_OF_TREES, np.mean(by_fold, axis=0), strict=True):
            losses[(*values, trees)] = loss
    *values, trees = min(losses, key=losses.__getitem__)
    best = dict(zip(BOOSTING_GRID, values, strict=True))
    return _boosted(seed, n_estimators=trees, **best).fit(X, y)


def _losses_by_trees(X: Inputs, y: np.ndarray, train: np.ndarray, test: np.ndarray, model: Any) -> list[float]:
    """Held-out log loss after each number of trees."""
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    model.set_params(n_estimators=NUMBERS_OF_TREES[-1]).fit(rows[train], y[train])
    tables = (model.predict_proba(rows[test], num_iteration=trees) for trees in NUMBERS_OF_TREES)
    return [log_loss(y[test], table, labels=model.classes_) for table in tables]


def _boosted(seed: int, **settings: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1, **settings)


def catboost_defaults(X: Inputs, y: np.ndarray, seed: int) -> Any:
    from catboost import CatBoostClassifier

    categories = _categories(X)
    model = CatBoostClassifier(
        thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False, cat_features=categories
    )
    return _Translated(model, lambda frame: _with_named_gaps(frame, categories)).fit(X, y)


def histogram_boosting(X: Inputs, y: np.ndarray, seed: int) -> Any:
    """Columns with more categories than it takes become numbers."""
    crowded = [name for name in _categories(X) if X[name].nunique() > MOST_CATEGORIES]
    model = HistGradientBoostingClassifier(random_state=seed)
    return _Translated(model, lambda frame: _with_codes(frame, crowded)).fit(X, y)


class _Translated:
    """A model behind a change of its inputs."""

    def __init__(self, model: Any, translate: Callable[[Inputs], Inputs]):
        self.model = model
        self.translate = translate

    def fit(self, X: Inputs, y: np.ndarray) -> "_Translated":
        self.model.fit(self.translate(X), y)
        return self

    def predict_proba(self, X: Inputs) -> np.ndarray:
        return self.model.predict_proba(self.translate(X))


def _categories(X: Inputs) -> list[str]:
    if isinstance(X, pd.DataFrame):
        return list(X.columns.difference(X.select_dtypes("number").columns, sort=False))
    return []


def _with_named_gaps(X: Inputs, categories: list[str]) -> Inputs:
    """CatBoost takes no missing value in a category."""
    if not categories:
        return X
    return X.assign(**{name: X[name].astype(object).fillna("missing").astype(str) for name in categories})


def _with_codes(X: Inputs, categories: list[str]) -> Inputs:
    if not categories:
        return X
    return X.assign(**{name: X[name].cat.codes for name in categories})


def logistic_regression(X: Inputs, y: np.ndarray, seed: int) -> Any:
    return LogisticRegressionCV(
        Cs=10, cv=folds(y, 5, seed), scoring="neg_log_loss", max_iter=1000, n_jobs=1, random_state=seed
    ).fit(X, y)


def support_vectors(X: Inputs, y: np.ndarray, seed: int) -> Any:
    """C and gamma on a 6 x 6 grid by accuracy, then probabilities by a sigmoid of the decision values."""
    grid = vector_grid(Split("", X, y, X, y), quick=False)
    best = GridSearchCV(SVC(), grid, cv=folds(y, 5, seed), refit=False).fit(X, y).best_params_
    machine = CalibratedClassifierCV(SVC(**best), method="sigmoid", cv=folds(y, 5, seed), ensemble=False)
    return machine.fit(X, y)


def feature_machine(X: Inputs, y: np.ndarray, seed: int) -> Any:
    """xRFM with its defaults; it needs validation rows, here a fifth of the training rows."""
    from xrfm import xRFM

    X, X_valid, y, y_valid = train_test_split(X, y, test_size=VALIDATION_SHARE, random_state=seed, stratify=y)
    model = xRFM(random_state=seed, n_threads=1, verbose=False)
    model.fit(X, y, X_valid, y_valid)
    return model


OURS = "ours"
METHODS: dict[str, Callable[[Any, np.ndarray, int], Any]] = {
    OURS: ours,
    "LightGBM tuned": lightgbm_tuned,
    "LightGBM": lightgbm_defaults,
    "CatBoost": catboost_defaults,
    "HistGradientBoosting": histogram_boosting,
    "LogisticRegressionCV": logistic_regression,
    "SVC grid": support_vectors,
    "xRFM": feature_machine,
}
NATIVE = ("LightGBM tuned", "LightGBM", "CatBoost", "HistGradientBoosting")
# The package behind each method; all others are of scikit-learn.
PACKAGES = {
    OURS: "logikern",
    "LightGBM tuned": "lightgbm",
    "LightGBM": "lightgbm",
    "CatBoost": "catboost",
    "xRFM": "xrfm",
}


def is_installed(method: str) -> bool:
    return find_spec(PACKAGES.get(method, "sklearn")) is not None
