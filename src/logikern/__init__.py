"""Self-tuning kernel softmax classifier."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> module that defines it. Imported on first use, so that `import logikern` stays fast
# and drags in neither scikit-learn nor any optional dependency.
_HOMES: dict[str, str] = {
    "KernelLogisticClassifier": "logikern.estimators.classifier",
    "KernelRegressor": "logikern.estimators.regressor",
    "load_model": "logikern.model.persistence",
    "error_reject_curve": "logikern.decisions.metrics",
    "target_information": "logikern.decisions.metrics",
    "decide": "logikern.decisions.rules",
    "Tree": "logikern.structure.tree",
    "read_tree": "logikern.structure.hierarchy",
    "decide_on_tree": "logikern.decisions.tree_rules",
    "taxonomic_loss": "logikern.decisions.tree_scores",
    "parent_accuracy": "logikern.decisions.tree_scores",
    "hierarchical_precision": "logikern.decisions.tree_scores",
    "hierarchical_recall": "logikern.decisions.tree_scores",
    "hierarchical_f1": "logikern.decisions.tree_scores",
    "mean_reciprocal_rank": "logikern.decisions.tree_scores",
    "node_log_loss": "logikern.decisions.tree_scores",
    "level_scores": "logikern.decisions.tree_scores",
    "node_scores": "logikern.decisions.tree_errors",
    "confused_siblings": "logikern.decisions.tree_errors",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
