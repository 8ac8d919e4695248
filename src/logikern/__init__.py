"""Self-tuning kernel softmax classifier."""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Module -> the public names that it defines. They are imported on first use, so that `import logikern` stays fast
# and loads neither scikit-learn nor any optional library.
_EXPORTS: dict[str, tuple[str, ...]] = {
    "estimators.classifier": ("KernelLogisticClassifier",),
    "estimators.multilabel.classifier": ("KernelMultilabelClassifier",),
    "estimators.multilabel._trees": ("node_indicators",),
    "estimators.regressor": ("KernelRegressor",),
    "sequences.classifier": ("KernelSequenceClassifier",),
    "estimators._fitted.pipelines": ("explain", "predict_decisions", "predict_proba_frame", "suspects"),
    "estimators._report.contents": ("report",),
    "estimators._inputs.transformer": ("TableEncoder",),
    "estimators._cells.settings": ("NeighbourhoodSettings",),
    "model.persistence": ("load_model", "save_model"),
    "kernels": (
        "FunctionKernel",
        "Gaussian",
        "GaussianLaplacian",
        "Kernel",
        "Laplacian",
        "Linear",
        "Matern12",
        "Matern32",
        "Matern52",
        "Polynomial",
        "Precomputed",
        "RationalQuadratic",
        "Stationary",
    ),
    "structure.tree": ("Tree",),
    "structure.hierarchy": ("read_tree",),
    "structure.taxonomy": ("labels_of",),
    "decisions.rules": ("decide", "to_labels"),
    "decisions.tree_rules": ("decide_on_tree",),
    "decisions.metrics": (
        "brier_score",
        "calibration_error",
        "error_reject_curve",
        "joint_log_loss",
        "reliability_bins",
        "target_information",
    ),
    "decisions.tree_scores": (
        "hierarchical_f1",
        "hierarchical_precision",
        "hierarchical_recall",
        "level_scores",
        "mean_reciprocal_rank",
        "node_log_loss",
        "parent_accuracy",
        "taxonomic_loss",
    ),
    "decisions.tree_errors": ("confused_siblings", "node_scores"),
    "reporting.curves": ("plot_error_reject", "plot_reliability"),
    "reporting.search": ("plot_search",),
    "reporting.tree": ("plot_tree", "render_tree"),
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _EXPORTS.items() for name in names}

__all__ = ["__version__", "kernels", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "kernels":
        return import_module("logikern.kernels")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
