"""Whether a loaded model is one: types were judged by `audit`, here it is whether the parts fit each other."""

import dataclasses
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from logikern.kernels import Kernel, KernelRows
from logikern.model.audit import CLASSIFIER, REGRESSOR
from logikern.model.fitted import FittedModel, OneAgainstRest
from logikern.numerics.outcome import NewtonStep, Outcome
from logikern.numerics.sharpness import Sharpness
from logikern.selection.search import Record
from logikern.structure.specification import Specification
from logikern.structure.tree import Tree
from logikern.structure.tying import Tying


def final_step(model: Any) -> Any:
    """The estimator of a model that may be a pipeline."""
    if type(model) is not Pipeline:
        return model
    steps = model.steps
    if not steps or not all(isinstance(step, tuple) and len(step) == 2 for step in steps):
        raise ValueError("its pipeline has no steps")
    return steps[-1][1]


def is_ours(model: Any) -> bool:
    """Whether the object is one of our estimators, which belong to a later layer."""
    return _name(model) in _CHECKS


def check_estimator(estimator: Any) -> None:
    """Refuse, as a ValueError, an estimator whose fitted attributes contradict each other."""
    _CHECKS[_name(estimator)](estimator)
    _check_ending(estimator)


def _check_ending(estimator: Any) -> None:
    found = vars(estimator)
    _require(isinstance(found.get("outcome_"), Outcome), "it does not say how its fit ended")
    trace = found.get("trace_")
    _require(
        isinstance(trace, tuple) and all(isinstance(step, NewtonStep | Record) for step in trace),
        "its trace is no trace",
    )


def _name(model: Any) -> str:
    return f"{type(model).__module__}.{type(model).__qualname__}"


def _check_classifier(classifier: Any) -> None:
    _require(_name(classifier) == CLASSIFIER, f"{type(classifier).__name__} is no KernelLogisticClassifier")
    found = vars(classifier)
    model, classes, n_features = found.get("model_"), found.get("classes_"), found.get("n_features_in_")
    _require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2, "its classes are no list")
    if isinstance(found.get("hierarchy"), Tree):
        _check_tree(found["hierarchy"])
    if isinstance(model, OneAgainstRest):
        _require(len(model.models) == len(classes) == len(found["binaries_"]), "it has no model for every class")
        for part, binary in zip(model.models, found["binaries_"], strict=True):
            _check_class_model(part, 2, n_features)
            _check_classifier(binary)
            _check_ending(binary)
    else:
        _check_class_model(model, len(classes), n_features)
        _check_specification(found.get("start_"))
        _check_hierarchy(found.get("tree_"), model.specification.tree, classes)


def _check_class_model(model: Any, n_classes: int, n_features: int | None) -> None:
    """Of classes the dual tells the constants, unless these are free."""
    _check_model(model, n_classes, n_features)
    if np.isinf(model.specification.bias_variance):
        _check_constants(model)
    else:
        _require(model.free_constants is None, "it has constants that do not belong to it")


def _check_regressor(regressor: Any) -> None:
    found = vars(regressor)
    outputs, coefficients = found.get("outputs_"), found.get("dual_coef_")
    _require(isinstance(outputs, np.ndarray) and outputs.ndim == 1 and len(outputs) >= 1, "its outputs are no list")
    _check_model(found.get("model_"), len(outputs), found.get("n_features_in_"))
    _check_constants(found["model_"])
    _check_specification(found.get("start_"))
    _require(found["model_"].specification.tree is None, "its outputs have a tree")
    _require(found["model_"].specification.sharpness.is_neutral, "its outputs are sharpened")
    wanted = (1, 2) if len(outputs) == 1 else (2,)
    _require(isinstance(coefficients, np.ndarray) and coefficients.ndim in wanted, "its coefficients are no table")


_CHECKS = {CLASSIFIER: _check_classifier, REGRESSOR: _check_regressor}


def _check_model(model: Any, n_classes: int, n_features: int | None) -> None:
    _require(isinstance(model, FittedModel), "it holds no fitted model")
    _check_specification(model.specification)
    _require(model.specification.mixing.n_classes == n_classes, "its classes are not those of its kernels")
    dual, points = model.dual, model.points
    _require(
        isinstance(dual, np.ndarray) and dual.dtype.kind == "f" and dual.ndim == 2 and len(dual) == n_classes,
        "its coefficients have the wrong shape",
    )
    _require(dual.shape[1] == points.shape[0], "its points and coefficients differ in number")
    if isinstance(points, KernelRows):
        _require(
            points.values is None and isinstance(points.indices, np.ndarray) and points.indices.dtype.kind == "i",
            "its points are no places in a kernel matrix",
        )
    else:
        _require(points.dtype.kind == "f" and points.ndim == 2, "its points are no table of numbers")
        _require(points.shape[1] == n_features, "its points have another number of features")


def _check_constants(model: FittedModel) -> None:
    constants = model.free_constants
    _require(
        isinstance(constants, np.ndarray) and constants.dtype.kind == "f" and constants.shape == (len(model.dual),),
        "its constants have the wrong shape",
    )


def _check_specification(specification: Any) -> None:
    _require(isinstance(specification, Specification), "it has no specification")
    kernels, variances, tying = specification.kernels, specification.variances, specification.tying
    _require(isinstance(tying, Tying) and len(tying.kernel_of) >= 1, "it has no functions")
    if specification.tree is not None:
        _check_tree(specification.tree)
    _require(len(tying.kernel_of) == specification.mixing.n_latent, "its tying is not that of its classes")
    _require(
        set(tying.kernel_of) == set(range(len(kernels)))
        and set(tying.variance_of) == set(range(len(variances)))
        and len(tying.kernel_of) == len(tying.variance_of),
        "its classes and kernels do not belong together",
    )
    positive = [0 < value < np.inf for value in variances]
    _require(all(positive) and specification.bias_variance >= 0, "its variances are not positive")
    sharpness = specification.sharpness
    _require(isinstance(sharpness, Sharpness), "it does not say how sharp its probabilities are")
    numbers = (sharpness.certain, sharpness.uncertain)
    _require(all(isinstance(number, float) and 0 < number < np.inf for number in numbers), "its sharpness is none")
    for kernel in kernels:
        _check_kernel(kernel)


def _check_hierarchy(tree: Any, mixing: Tree | None, classes: np.ndarray) -> None:
    """The tree that users see is the one that mixes, and its leaves are the classes."""
    if tree is None or mixing is None:
        _require(tree is mixing, "it has half a hierarchy")
        return
    _check_tree(tree)
    _require((tree.labels, tree.parents) == (mixing.labels, mixing.parents), "it has two hierarchies")
    _require(tree.classes.tolist() == classes.tolist(), "its classes are not the leaves of its hierarchy")


def _check_tree(tree: Any) -> None:
    """Parents before their children: whoever climbs a tree arrives at the top."""
    _require(isinstance(tree, Tree), "its hierarchy is no tree")
    labels, parents = tree.labels, tree.parents
    _require(isinstance(labels, tuple) and isinstance(parents, tuple), "its hierarchy has no nodes")
    Tree(labels, parents)  # the loader fills records without their constructor, which checks them


def _check_kernel(kernel: Any) -> None:
    _require(isinstance(kernel, Kernel), f"{kernel!r} is no kernel")
    # The loader fills records without their constructor, which checks the parameters.
    _require(dataclasses.replace(kernel) == kernel, "a kernel has parameters of the wrong type")
    for field in dataclasses.fields(kernel):
        if field.type == "Kernel":
            _check_kernel(getattr(kernel, field.name))


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
