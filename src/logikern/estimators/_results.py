"""Fitted attributes: the only place that writes them."""

from typing import Any, TypeAlias

import numpy as np

from logikern.estimators import _failures
from logikern.estimators._callbacks import WRAPPER_FRAMES
from logikern.estimators._fitted.doubts import tell
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.regression import Numbers
from logikern.estimators._run import FitReport
from logikern.fitting.problem import FitResult
from logikern.model.fitted import FittedModel, OneAgainstRest
from logikern.model.neighbourhoods import NeighbourhoodModel
from logikern.numerics.outcome import Array, Outcome
from logikern.structure.coupling import Coupling

AnyModel: TypeAlias = FittedModel | NeighbourhoodModel

# Attributes of a fit that do not end with an underscore.
_HIDDEN = ("_training", "_left_out", "_seed", "_fitted")


def forget_fit(estimator: Any) -> None:
    """Remove the attributes of an earlier fit: a fit that fails must not leave a mixture of two fits."""
    fitted = [name for name in vars(estimator) if name in _HIDDEN or (name.endswith("_") and name[0] != "_")]
    for name in fitted:
        delattr(estimator, name)


def search_results(report: FitReport) -> dict[str, Any]:
    """Attributes from the search; warns if it ended early, or if its criterion is doubtful."""
    found: dict[str, Any] = {"plan_": report.plan, "start_": report.start, "interrupted_": report.interrupted}
    found |= {"verdicts_": (), "trace_": (), "criterion_value_": np.nan, "stopped_early_": ""}
    if report.members or report.approximation is not None:
        found["approximation_"] = report.approximation
    if report.members:
        _failures.warn_partitions(len(report.members), report.n_partitions)
    tuned = report.tuned
    if tuned is None:
        return found
    found |= {"verdicts_": tuned.verdicts, "trace_": tuned.records, "criterion_value_": tuned.value}
    found |= {"criterion_method_": tuned.method, "stopped_early_": tuned.stopped}
    found["criterion_doubt_"] = tell(tuned.check, "Use criterion='cv'.", stacklevel=3 + WRAPPER_FRAMES)
    if tuned.stopped:
        _failures.warn_search(f"{tuned.stopped}; the best hyperparameters so far are used")
    return found


def fit_results(result: FitResult, model: AnyModel, tolerance: float, operator: str) -> dict[str, Any]:
    """Attributes from the final fit, for any estimator."""
    return {
        "model_": model,
        "kernels_": model.specification.kernels,
        "variances_": model.specification.latent_variances,
        "newton_trace_": result.trace,
        "n_iter_": max(1, result.n_steps),
        "operator_": operator,
        "outcome_": _failures.outcome(result, tolerance),
    }


def class_results(data: TrainingData, model: AnyModel, seed: int) -> dict[str, Any]:
    """Further attributes of a classifier: classes, coefficients, and the training data for leave-one-out."""
    found = {"_training": data, "_seed": seed, "classes_": data.classes}
    found["dual_coef_"] = _coefficients(data, model.dual)
    found |= {"loadings_": data.mixing.loadings} if isinstance(data.mixing, Coupling) else {}
    return found | input_results(data) | ({} if data.tree is None else {"tree_": data.tree})


def input_results(data: TrainingData) -> dict[str, Any]:
    """The encoder, if the kernel takes encoded inputs."""
    return {} if data.encoder is None else {"encoder_": data.encoder}


def number_results(own: Numbers, model: FittedModel) -> dict[str, Any]:
    """Further attributes of a regressor: outputs and coefficients."""
    coefficients = _coefficients(own.data, model.dual)
    return {
        "n_outputs_": len(own.scale),
        "outputs_": own.data.classes,
        "dual_coef_": coefficients if own.is_table else coefficients[:, 0],
    } | input_results(own.data)


def fitted_numbers(report: FitReport, points: Any, own: Numbers) -> FittedModel:
    """The model of a regression in units of y."""
    dual, bias_variance = report.result.dual[0], report.specification.bias_variance
    is_free = np.isinf(bias_variance)
    constants = report.free_constants() if is_free else bias_variance * dual.sum(axis=1)
    return FittedModel(report.specification, points, dual * own.scale[:, None], own.offset + own.scale * constants)


def _coefficients(data: TrainingData, dual: Array) -> Array:
    """Coefficients with one row for each given row, zero for rows of weight zero."""
    coefficients = np.zeros((data.n_rows, len(data.classes)), dtype=dual.dtype)
    coefficients[data.kept] = dual.T
    return coefficients


def binary_results(binaries: tuple[Any, ...], classes: Array, has_own_scalings: bool) -> dict[str, Any]:
    """Combined attributes of one binary model per class.

    With `has_own_scalings` each model scales inputs itself, and the shared encoder does not.
    """
    scalings = tuple(binary.encoder_.scaling for binary in binaries) if has_own_scalings else ()
    return {
        "model_": OneAgainstRest(tuple(binary.model_ for binary in binaries), scalings),
        "dual_coef_": np.stack([binary.dual_coef_[:, 1] for binary in binaries], axis=1),
        "classes_": classes,
        "binaries_": binaries,
        "kernels_": tuple(kernel for binary in binaries for kernel in binary.kernels_[:1]),
        "variances_": np.array([binary.variances_[1] for binary in binaries]),
        "criterion_value_": float(np.mean([binary.criterion_value_ for binary in binaries])),
        "verdicts_": sum((binary.verdicts_ for binary in binaries), ()),
        "n_iter_": max(binary.n_iter_ for binary in binaries),
        "interrupted_": any(binary.interrupted_ for binary in binaries),
        "trace_": sum((binary.trace_ for binary in binaries), ()),
        "newton_trace_": sum((binary.newton_trace_ for binary in binaries), ()),
        "operator_": " ".join(dict.fromkeys(binary.operator_ for binary in binaries)),
        "outcome_": next(
            (binary.outcome_ for binary in binaries if not binary.outcome_.converged), Outcome.CONVERGED
        ),
    }


def write(estimator: Any, found: dict[str, Any]) -> None:
    """Set the fitted attributes of an estimator."""
    estimator.__dict__.update(found)
    if not found.get("trace_", True):
        estimator.trace_ = found["newton_trace_"]
