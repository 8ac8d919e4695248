"""The model of a command: created from options, fitted and loaded."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from logikern.cli.preprocessing import final_step
from logikern.cli.session.wording import in_options
from logikern.encoding.complaints import ColumnWarning
from logikern.model.integrity import labels_sequences
from logikern.structure.tree import Tree


@dataclass(frozen=True)
class FitReport:
    """The fitted model, the outcome of its fit, and the warnings."""

    model: Any
    converged: bool
    outcome: str
    warnings: tuple[str, ...]


def new_classifier(settings: dict[str, Any], fixed: bool = False) -> Any:
    """The estimator with the given settings; hyperparameters are learned unless `fixed`."""
    from logikern.estimators.classifier import KernelLogisticClassifier

    given = {name: value for name, value in settings.items() if value is not None}
    return KernelLogisticClassifier(**given, **({"criterion": None} if fixed else {}))


def new_multilabel_classifier(settings: dict[str, Any], fixed: bool = False) -> Any:
    """The multilabel estimator with the given settings."""
    from logikern.estimators.multilabel.classifier import KernelMultilabelClassifier

    given = {name: value for name, value in settings.items() if value is not None}
    return KernelMultilabelClassifier(**given | ({"criterion": None} if fixed else {}))


def new_regressor(settings: dict[str, Any], fixed: bool = False) -> Any:
    """The estimator of numbers with the given settings."""
    from logikern.estimators.regressor import KernelRegressor

    given = {name: value for name, value in settings.items() if value is not None}
    return KernelRegressor(**given, **({"criterion": None} if fixed else {}))


def new_sequence_classifier(settings: dict[str, Any], fixed: bool = False) -> Any:
    """The estimator of sequences with the given settings."""
    from logikern.sequences.classifier import KernelSequenceClassifier

    given = {name: value for name, value in settings.items() if value is not None}
    return KernelSequenceClassifier(**given | ({"criterion": None} if fixed else {}))


def fit_model(
    model: Any,
    X: Any,
    labels: Any,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> FitReport:
    """Fit, and collect warnings instead of printing them."""
    classifier = final_step(model)
    prefix = "" if classifier is model else f"{model.steps[-1][0]}__"
    given = {"sample_weight": weights, "groups": groups}
    routed = {f"{prefix}{name}": values for name, values in given.items() if values is not None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, labels, **routed)
    return FitReport(
        model,
        converged=_converged(classifier),
        outcome=outcome_sentence(classifier),
        warnings=tuple(
            dict.fromkeys(in_options(str(warning.message)) for warning in caught if _concerns_user(warning))
        ),
    )


def _converged(classifier: Any) -> bool:
    """Whether the fit converged and the search, if there was one, found a model, even if it stopped early."""
    if has_sequences(classifier):
        searched = classifier.criterion is None or bool(np.isfinite(classifier.criterion_value_))
    else:
        searched = classifier.criterion is None or bool(classifier.verdicts_)
    return searched and bool(classifier.outcome_.converged)


def outcome_sentence(classifier: Any) -> str:
    """The outcome of the fit as a sentence."""
    return str(classifier.outcome_.value)


def tree_of(model: Any) -> Tree | None:
    """The class tree, if there is one; a tree of labels does not count."""
    if has_label_sets(model):
        return None
    tree: Tree | None = vars(final_step(model)).get("tree_")
    return tree


def has_label_sets(model: Any) -> bool:
    """Whether a model is multilabel."""
    return type(final_step(model)).__name__ == "KernelMultilabelClassifier"


def load_model(path: str) -> Any:
    """Read the model file of a classifier or regressor."""
    from logikern.model import persistence

    if not Path(path).exists():
        raise ValueError(f"there is no model file `{path}`. Create it with `logikern fit`.")
    if Path(path).is_dir():
        raise ValueError(f"`{path}` is a folder, not a model file.")
    return persistence.load_model(path)


def load_classifier(path: str, command: str) -> Any:
    """Read the model file of a single-label classifier, which `command` needs."""
    model = load_model(path)
    if is_regression(model):
        kind = "regressor"
    elif has_sequences(model):
        kind = "sequence classifier"
    elif has_label_sets(model):
        kind = "multilabel classifier"
    else:
        return model
    raise ValueError(
        f"`logikern {command}` needs a single-label classifier, but `{path}` contains a {kind}. Use `logikern "
        "predict` or `logikern evaluate`."
    )


def load_any_classifier(path: str, command: str) -> Any:
    """Read the model file of a classifier of any kind, which `command` needs."""
    model = load_model(path)
    if is_regression(model):
        raise ValueError(
            f"`logikern {command}` needs a classifier, but `{path}` contains a regressor, which predicts numbers. "
            "Use `logikern evaluate`."
        )
    return model


def is_regression(model: Any) -> bool:
    """Whether a model predicts numbers."""
    from sklearn.base import is_regressor

    return bool(is_regressor(model))


def has_sequences(model: Any) -> bool:
    """Whether a model labels sequences."""
    return labels_sequences(final_step(model))


def _concerns_user(warning: warnings.WarningMessage) -> bool:
    if issubclass(warning.category, ColumnWarning):
        return False  # the reader of the table has already reported it in its own words
    return issubclass(warning.category, UserWarning) or issubclass(warning.category, RuntimeWarning)
