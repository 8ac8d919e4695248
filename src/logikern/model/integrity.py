"""Consistency of the parts of a loaded model, whose types `audit` has checked."""

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from logikern.kernels import Kernel, KernelRows, Precomputed, leaves
from logikern.model.audit import CLASSIFIER, MULTILABEL, REGRESSOR, SEQUENCES, SETTINGS, TRANSFORMER
from logikern.model.cells import check_members
from logikern.model.encoders import check_encoder, check_scaling
from logikern.model.endings import check_ending, is_number
from logikern.model.fitted import FittedModel, OneAgainstRest
from logikern.model.label_sets import check_label_sets, check_loadings
from logikern.model.neighbourhoods import NeighbourhoodModel
from logikern.model.sequences import check_sequences
from logikern.numerics.temperature import Temperature
from logikern.structure.coupling import Coupling
from logikern.structure.label_kernel import LabelKernel
from logikern.structure.loadings import LabelLoadings
from logikern.structure.mixing import Flat, Mixing
from logikern.structure.specification import Specification
from logikern.structure.tree import Tree
from logikern.structure.tying import Tying

_NO_KERNELS = "its kernels do not match its model"


def final_step(model: Any) -> Any:
    """The estimator of a model that may be a pipeline."""
    if type(model) is not Pipeline:
        return model
    steps = model.steps
    if not steps or not all(isinstance(step, tuple) and len(step) == 2 for step in steps):
        raise ValueError("its pipeline has no steps")
    return steps[-1][1]


def check_steps(model: Any) -> None:
    """Raise a ValueError if an encoder before the estimator of a pipeline contradicts itself."""
    if type(model) is not Pipeline:
        return
    from sklearn.compose import ColumnTransformer

    waiting = [model]
    while waiting:
        step = waiting.pop()
        if _name(step) == TRANSFORMER:
            n_features: Any = vars(step).get("n_features_in_")
            check_encoder(vars(step).get("encoder_"), n_features, vars(step).get("feature_names_in_"))
        elif type(step) is Pipeline:
            waiting += [part[1] for part in step.steps[:-1] if isinstance(part, tuple) and len(part) == 2]
        elif isinstance(step, ColumnTransformer):
            fitted = vars(step).get("transformers_", ())
            waiting += [part[1] for part in fitted if isinstance(part, tuple) and len(part) == 3]


def is_ours(model: Any) -> bool:
    """Whether the object is one of logikern's estimators, which belong to a later layer."""
    return _name(model) in _CHECKS


def labels_sequences(model: Any) -> bool:
    """Whether the object is a `KernelSequenceClassifier`, which predicts whole sequences."""
    return _name(model) == SEQUENCES


def check_loaded(loaded: Any) -> None:
    """Raise a ValueError if the fitted attributes of an object from a file contradict each other."""
    _CHECKS[_name(loaded)](loaded)


def _name(model: Any) -> str:
    return f"{type(model).__module__}.{type(model).__qualname__}"


def _check_classifier(classifier: Any, fewest: int = 2) -> None:
    _require(_name(classifier) == CLASSIFIER, f"{type(classifier).__name__} is not a KernelLogisticClassifier")
    found = vars(classifier)
    model, classes = found.get("model_"), found.get("classes_")
    _check_classes(classes, fewest)
    n_inputs = _check_inputs(found)
    if isinstance(found.get("hierarchy"), Tree):
        _check_tree(found["hierarchy"])
    if isinstance(found.get("hierarchy"), LabelLoadings):
        check_loadings(found["hierarchy"])
    _check_settings(found.get("operator"))
    if isinstance(model, OneAgainstRest):
        binaries = found.get("binaries_", ())
        _require(len(model.models) == len(classes) == len(binaries), "it does not have a model for every class")
        _require(len(model.scalings) in (0, len(classes)), "it does not have a scaling for every class")
        for scaling in model.scalings:
            check_scaling(scaling, n_inputs)
        for part, binary in zip(model.models, binaries, strict=True):
            _check_class_model(part, 2, n_inputs)
            _check_classifier(binary)
            same = type(part) is type(binary.model_) and np.array_equal(part.dual, binary.model_.dual)
            _require(same, "its models do not match its classes")
        kernels = tuple(part.specification.kernels[0] for part in model.models)
        variances = np.array([part.specification.latent_variances[1] for part in model.models])
    else:
        _check_class_model(model, len(classes), n_inputs)
        _check_start(found.get("start_"), model)
        _check_hierarchy(found.get("tree_"), model.specification.mixing, classes)
        _check_loadings(found.get("loadings_"), model.specification.mixing)
        kernels, variances = model.specification.kernels, model.specification.latent_variances
    _check_shown(found, kernels, variances)
    coefficients = found.get("dual_coef_")
    _require(
        isinstance(coefficients, np.ndarray) and coefficients.ndim == 2 and coefficients.shape[1] == len(classes),
        "its coefficients are not a table with a column for each class",
    )
    fitted = model.models[0] if isinstance(model, OneAgainstRest) else model
    _require(len(coefficients) >= fitted.dual.shape[1], "it has fewer coefficients than points")
    check_ending(found)


def _check_classes(classes: Any, fewest: int) -> None:
    """Classes must be distinct labels without missing values."""
    _require(
        isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= fewest,
        "its classes are not a list",
    )
    _require(classes.dtype.kind in "biufUSmMO", "its classes are not labels")
    labels = classes.tolist()
    # Missing values are not labels; NaN does not equal itself.
    known = all(isinstance(label, Hashable) and label is not None and label == label for label in labels)
    _require(known and len(set(labels)) == len(labels), "its classes are not distinct labels")


def _check_inputs(found: dict[str, Any]) -> int:
    """Number of inputs of the kernels: the inputs of the encoder, or the columns of X if there is no encoder."""
    n_features: Any = found.get("n_features_in_")
    names, kernels = found.get("feature_names_in_"), found.get("kernels_")
    _require(isinstance(n_features, int) and n_features >= 1, "it does not say how many features it expects")
    if names is not None:
        is_list = isinstance(names, np.ndarray) and names.shape == (n_features,)
        _require(is_list, "its feature names do not match its features")
    if not isinstance(kernels, tuple) or not all(isinstance(own, Kernel) for own in kernels):
        raise ValueError(_NO_KERNELS)
    if any(isinstance(leaf, Precomputed) for own in kernels for leaf in leaves(own)):
        _require("encoder_" not in found, "it has an encoder, but its kernel is precomputed")
        return int(n_features)
    check_encoder(found.get("encoder_"), n_features, names)
    return int(found["encoder_"].n_inputs)


def _check_start(start: Any, model: FittedModel | NeighbourhoodModel) -> None:
    """The start of the search must have the functions of the model."""
    _check_specification(start)
    same = len(start.tying.kernel_of) == len(model.specification.tying.kernel_of)
    _require(same, "its starting values belong to another model")


def _check_shown(found: dict[str, Any], kernels: tuple[Kernel, ...], variances: np.ndarray) -> None:
    """Public hyperparameters must equal the hyperparameters of the model."""
    _require(found.get("kernels_") == kernels, _NO_KERNELS)
    shown = found.get("variances_")
    is_same = isinstance(shown, np.ndarray) and np.array_equal(shown, variances)
    _require(is_same, "its variances do not match its model")


def _check_settings(operator: Any) -> None:
    """Settings of neighbourhoods, which belong to a later layer, are integers."""
    if _name(operator) == SETTINGS:
        _require(
            all(type(number) is int for number in vars(operator).values()),
            "its neighbourhood settings are not numbers",
        )


def _check_class_model(model: Any, n_classes: int, n_inputs: int) -> None:
    """The biases of classes must follow from the dual, unless they are free."""
    if isinstance(model, NeighbourhoodModel):
        _check_points(model, n_classes, n_inputs)
        _require(bool(np.isfinite(model.specification.bias_variance)), "its neighbourhoods have unpenalised biases")
        check_members(model, n_inputs)
        return
    _check_model(model, n_classes, n_inputs)
    if np.isinf(model.specification.bias_variance):
        _check_constants(model)
    else:
        _require(model.free_constants is None, "it has biases that its model does not use")


def _check_regressor(regressor: Any) -> None:
    found = vars(regressor)
    outputs, coefficients = found.get("outputs_"), found.get("dual_coef_")
    _require(
        isinstance(outputs, np.ndarray) and outputs.ndim == 1 and len(outputs) >= 1, "its outputs are not a list"
    )
    _check_model(found.get("model_"), len(outputs), _check_inputs(found))
    _check_constants(found["model_"])
    _check_start(found.get("start_"), found["model_"])
    _check_shown(found, found["model_"].specification.kernels, found["model_"].specification.latent_variances)
    _require(type(found["model_"].specification.mixing) is Flat, "it is a regressor, but has a class tree")
    _require(found.get("n_outputs_") == len(outputs), "its number of outputs does not match its model")
    _require(is_number(found.get("held_out_error_"), float), "it has no held-out error")
    errors = found.get("held_out_rmse_")
    _require(
        isinstance(errors, np.ndarray) and errors.dtype.kind == "f" and errors.shape == (len(outputs),),
        "it does not have one held-out error per output",
    )
    _require(found["model_"].specification.temperature.is_neutral, "it is a regressor, but has a temperature")
    allowed = (1, 2) if len(outputs) == 1 else (2,)
    _require(
        isinstance(coefficients, np.ndarray) and coefficients.ndim in allowed, "its coefficients are not a table"
    )
    _require(len(coefficients) >= found["model_"].dual.shape[1], "it has fewer coefficients than points")
    check_ending(found)


def _check_multilabel(classifier: Any) -> None:
    _check_classes(vars(classifier).get("classes_"), 1)
    for tree in (vars(classifier).get("tree_"), vars(classifier).get("hierarchy")):
        if not isinstance(tree, str | None):
            _check_tree(tree)
    check_label_sets(vars(classifier), _check_classifier)


def _check_sequences(classifier: Any) -> None:
    _check_classes(vars(classifier).get("classes_"), 2)
    check_sequences(vars(classifier), _check_model, _check_specification)
    check_ending(vars(classifier))


_CHECKS: dict[str, Callable[[Any], None]] = {
    CLASSIFIER: _check_classifier,
    REGRESSOR: _check_regressor,
    MULTILABEL: _check_multilabel,
    SEQUENCES: _check_sequences,
}


def _check_model(model: Any, n_classes: int, n_inputs: int) -> None:
    _require(isinstance(model, FittedModel), "it holds no fitted model")
    _check_points(model, n_classes, n_inputs)
    dual = model.dual
    _require(
        isinstance(dual, np.ndarray) and dual.dtype.kind == "f" and dual.ndim == 2 and len(dual) == n_classes,
        "its coefficients have the wrong shape",
    )
    _require(dual.shape[1] == model.points.shape[0], "its points and coefficients differ in number")
    _require(bool(np.isfinite(dual).all()), "its coefficients are not finite")


def _check_points(model: FittedModel | NeighbourhoodModel, n_classes: int, n_inputs: int) -> None:
    """Training points and kernels fit each other and the classes."""
    _check_specification(model.specification)
    _require(model.specification.mixing.n_classes == n_classes, "its classes do not match its kernels")
    points = model.points
    parts = [leaf for kernel in model.specification.kernels for leaf in leaves(kernel)]
    is_given = [isinstance(part, Precomputed) for part in parts]
    if isinstance(points, KernelRows):
        _require(all(is_given), "its points do not match its kernels")
        _check_places(points, n_inputs)
    else:
        _require(not any(is_given), "its points do not match its kernels")
        _require(points.dtype.kind == "f" and points.ndim == 2, "its points are not a table of numbers")
        _require(points.shape[1] == n_inputs, "its points have a different number of features")
        values: Any = getattr(points, "data", None) if sparse.issparse(points) else points
        _require(bool(np.isfinite(values).all()), "its points are not finite")
        counts = {count for part in parts for count in _input_counts(part)}
        _require(counts <= {n_inputs}, "its kernels have rates for a different number of features")


def _input_counts(kernel: Kernel) -> set[int]:
    """Number of inputs of a plain kernel with one rate per input; empty for other kernels."""
    rate, columns = getattr(kernel, "rate", None), getattr(kernel, "columns", None)
    if columns is not None:
        return {len(columns)}
    return {len(rate)} if isinstance(rate, tuple) else set()


def _check_places(points: KernelRows, n_training: int) -> None:
    """Distinct positions in a kernel matrix of `n_training` columns."""
    places: Any = points.indices
    is_list = isinstance(places, np.ndarray) and places.ndim == 1 and places.dtype.kind == "i" and len(places) > 0
    _require(points.values is None and is_list, "its points are not positions in a kernel matrix")
    inside = places.min() >= 0 and places.max() < n_training and len(np.unique(places)) == len(places)
    _require(bool(inside), f"its points are not positions among the {n_training} rows of its kernel matrix")


def _check_constants(model: FittedModel) -> None:
    constants: Any = model.free_constants
    _require(
        isinstance(constants, np.ndarray) and constants.dtype.kind == "f" and constants.shape == (len(model.dual),),
        "its biases have the wrong shape",
    )
    _require(bool(np.isfinite(constants).all()), "its biases are not finite")


def _check_specification(specification: Any) -> None:
    _require(isinstance(specification, Specification), "it has no specification")
    kernels, variances, tying = specification.kernels, specification.variances, specification.tying
    _require(isinstance(tying, Tying) and len(tying.kernel_of) >= 1, "it has no latent functions")
    _check_mixing(specification.mixing)
    _require(len(tying.kernel_of) == specification.mixing.n_latent, "its tying belongs to other classes")
    whole = all(type(number) is int for number in (*tying.kernel_of, *tying.variance_of))
    _require(whole, "its tying has groups that are not integers")
    _require(
        set(tying.kernel_of) == set(range(len(kernels)))
        and set(tying.variance_of) == set(range(len(variances)))
        and len(tying.kernel_of) == len(tying.variance_of),
        "its classes do not match its kernels",
    )
    positive = [0 < value < np.inf for value in variances]
    _require(all(positive) and specification.bias_variance >= 0, "its variances are not positive")
    temperature = specification.temperature
    _require(isinstance(temperature, Temperature), "it has no temperature")
    numbers = (temperature.certain, temperature.uncertain)
    _require(
        all(isinstance(number, float) and 0 < number < np.inf for number in numbers),
        "its temperature is not positive and finite",
    )
    for kernel in kernels:
        _check_kernel(kernel)


def _check_mixing(mixing: Any) -> None:
    if isinstance(mixing, Flat):
        _require(type(mixing.n_classes) is int, "its number of classes is not an integer")
    elif isinstance(mixing, Coupling):
        _check_table(mixing.loadings, "its loadings are not a table of numbers")
    elif isinstance(mixing, LabelKernel):
        _check_label_kernel(mixing)
    elif isinstance(mixing, LabelLoadings):
        check_loadings(mixing)
    else:
        _check_tree(mixing)


def _check_label_kernel(mixing: LabelKernel) -> None:
    _check_table(mixing.factor, "its label kernel is not a table of numbers")
    _require(is_number(mixing.own, float) and 0 <= mixing.own < np.inf, "its label kernel has no class-specific part")


def _check_loadings(loadings: Any, mixing: Mixing) -> None:
    """Public loadings must equal the loadings of the model."""
    same = np.array_equal(loadings, mixing.loadings) if isinstance(mixing, Coupling) else loadings is None
    _require(same, "its loadings do not match its model")


def _check_table(table: Any, complaint: str) -> None:
    """A matrix of finite numbers."""
    _require(isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind == "f", complaint)
    _require(bool(np.isfinite(table).all()), complaint)


def _check_hierarchy(tree: Any, mixing: Mixing, classes: np.ndarray) -> None:
    """The public tree must be the tree of the model, and its leaves must be the classes."""
    if tree is None or not isinstance(mixing, Tree):
        _require(tree is None and not isinstance(mixing, Tree), "its hierarchy is incomplete")
        return
    _check_tree(tree)
    _require((tree.labels, tree.parents) == (mixing.labels, mixing.parents), "its hierarchy does not match its model")
    _require(tree.classes.tolist() == classes.tolist(), "its classes are not the leaves of its hierarchy")


def _check_tree(tree: Any) -> None:
    """Parents must come before their children, so every path ends at the top."""
    _require(isinstance(tree, Tree), "its hierarchy is not a tree")
    labels, parents = tree.labels, tree.parents
    _require(isinstance(labels, tuple) and isinstance(parents, tuple), "its hierarchy has no nodes")
    Tree(labels, parents)  # the loader fills records without their constructor, which checks them


def _check_kernel(kernel: Any) -> None:
    _require(isinstance(kernel, Kernel), f"{kernel!r} is not a kernel")
    # The loader fills records without their constructor, which checks the parameters.
    _require(dataclasses.replace(kernel) == kernel, "a kernel has parameters of the wrong type")
    for field in dataclasses.fields(kernel):
        if field.type == "Kernel":
            _check_kernel(getattr(kernel, field.name))


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
