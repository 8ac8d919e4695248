"""Consistency of a loaded sequence model, and the feature dicts of its file."""

from collections.abc import Callable
from typing import Any

import numpy as np

from logikern.kernels import KernelRows
from logikern.model.audit import FIELD_SPECIFICATION, SEQUENCE_MODEL
from logikern.model.encoders import check_encoder
from logikern.structure.mixing import Flat

MODEL_PARTS = {"positions", "transitions", "window", "edges"}
SPECIFICATION_PARTS = {"positions", "transition_variance", "pseudocount", "piecewise", "window"}


def pack_features(vectorizer: Any) -> tuple[Any, ...] | None:
    """The names of the features of dicts, in their order; None if inputs are not dicts."""
    return None if vectorizer is None else tuple(vectorizer.feature_names_)


def unpack_features(names: Any) -> Any:
    """The vectorizer of feature dicts with these names."""
    if names is None:
        return None
    from sklearn.feature_extraction import DictVectorizer  # slow

    is_list = isinstance(names, tuple) and all(isinstance(name, str | int) for name in names)
    _require(is_list and len(set(names)) == len(names) > 0, "its features are not distinct names")
    vectorizer = DictVectorizer()
    vectorizer.feature_names_ = list(names)
    vectorizer.vocabulary_ = {name: place for place, name in enumerate(names)}
    return vectorizer


def check_sequences(
    found: dict[str, Any], check_model: Callable[[Any, int, int], None], check_specification: Callable[[Any], None]
) -> None:
    """Raise a ValueError if the attributes of a classifier of sequences contradict each other.

    Parameters
    ----------
    found : dict
        Its attributes; `classes_` are labels.
    check_model : callable
        Checks a fitted model of single positions, for a number of labels and of inputs.
    check_specification : callable
        Checks the hyperparameters of such a model.
    """
    n_inputs, n_labels = _check_inputs(found), len(found["classes_"])
    parts = _parts(found.get("_model"), SEQUENCE_MODEL, MODEL_PARTS, "it contains no sequence model")
    positions: Any = parts.get("positions")
    check_model(positions, n_labels, n_inputs)
    _require(not isinstance(positions.points, KernelRows), "its points do not match its kernels")
    _require(positions.free_constants is None, "it has biases that its model does not use")
    _check_scores(found, parts.get("transitions"), n_labels)
    own = _check_field(found.get("specification_"), check_specification)
    _require(own["positions"] == positions.specification, "its hyperparameters do not match its model")
    first = _check_field(found.get("first_specification_"), check_specification)
    _require(first["positions"].mixing == own["positions"].mixing, "its starting values belong to another model")
    _check_window(parts, own, first, positions.points.shape[0])
    _check_ending(found)


def _check_inputs(found: dict[str, Any]) -> int:
    """Number of inputs, checked against columns and features."""
    n_features: Any = found.get("n_features_in_")
    names, vectorizer = found.get("feature_names_in_"), found.get("vectorizer_")
    _require(type(n_features) is int and n_features >= 1, "it does not say how many features it expects")
    if names is not None:
        is_list = isinstance(names, np.ndarray) and names.shape == (n_features,)
        _require(is_list, "its feature names do not match its features")
    check_encoder(found.get("encoder_"), n_features, names)
    if vectorizer is not None:
        _require(len(vectorizer.vocabulary_) == n_features, "its features do not match its inputs")
    return int(found["encoder_"].n_inputs)


def _check_scores(found: dict[str, Any], scores: Any, n_labels: int) -> None:
    """Scores of pairs, first and last labels must be finite, and public scores must be the same."""
    is_table = isinstance(scores, np.ndarray) and scores.dtype.kind == "f"
    _require(is_table and scores.shape == (n_labels, n_labels + 2), "its transitions have the wrong shape")
    _require(bool(np.isfinite(scores).all()), "its transitions are not finite")
    shown = {"transition_": scores[:, :-2], "start_": scores[:, -2], "end_": scores[:, -1]}
    for name, values in shown.items():
        own = found.get(name)
        is_same = isinstance(own, np.ndarray) and np.array_equal(own, values)
        _require(is_same, f"`{name}` does not match its transitions")


def _check_field(specification: Any, check_specification: Callable[[Any], None]) -> dict[str, Any]:
    """All hyperparameters, as a dict."""
    parts = _parts(specification, FIELD_SPECIFICATION, SPECIFICATION_PARTS, "it has no sequence hyperparameters")
    positions: Any = parts.get("positions")
    check_specification(positions)
    _require(type(positions.mixing) is Flat, "it is a sequence model, but has a class tree")
    _require(np.isfinite(positions.bias_variance), "it is a sequence model with unpenalised biases")
    _require(positions.temperature.is_neutral, "it is a sequence model, but has a temperature")
    _require(_is_float(parts.get("transition_variance"), 0.0), "its transition variance is not a number")
    _require(_is_float(parts.get("piecewise"), 0.0), "its position weight is not a number")
    count = parts.get("pseudocount")
    _require(_is_float(count, 0.0) or count == np.inf, "its pseudocount is not a number")
    return parts


def _check_window(model: dict[str, Any], own: dict[str, Any], first: dict[str, Any], n_points: int) -> None:
    """A window has a weight for each neighbour on both sides, and needs the edges of the training sequences."""
    weights, edges = model.get("window", ()), model.get("edges")
    is_list = isinstance(weights, tuple) and all(_is_float(weight, 0.0) for weight in weights)
    _require(is_list and len(weights) % 2 == 0, "its window is not a list of weights")
    _require(weights == own.get("window", ()), "its window does not match its hyperparameters")
    started = first.get("window", ())
    _require(
        isinstance(started, tuple) and len(started) == len(weights), "its starting values belong to another model"
    )
    _require(edges is not None or not weights, "it has a window, but no sequences")
    if edges is not None:
        is_list = isinstance(edges, np.ndarray) and edges.ndim == 1 and edges.dtype.kind == "i" and len(edges) > 1
        _require(is_list and edges[0] == 0 and edges[-1] == n_points, "its sequences do not cover its points")
        _require(bool(np.all(np.diff(edges) > 0)), "its sequences overlap or are empty")


def _check_ending(found: dict[str, Any]) -> None:
    _require(isinstance(found.get("stopped_early_"), str), "it does not say why its search ended")
    _require(isinstance(found.get("interrupted_"), bool), "it does not say whether it was interrupted")
    _require(type(found.get("n_products_")) is int, "it does not say how many products its fit took")


def _parts(record: Any, kind: str, known: set[str], complaint: str) -> dict[str, Any]:
    """The fields of a record, which belongs to a later layer and is known by name."""
    _require(f"{type(record).__module__}.{type(record).__qualname__}" == kind, complaint)
    # Anything else, such as a cached value, would be used as it is.
    _require(vars(record).keys() <= known, "a record has unknown fields")
    return vars(record)


def _is_float(value: Any, least: float) -> bool:
    return isinstance(value, float) and least <= value < np.inf


def _require(condition: Any, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
