"""Self-tuning kernel softmax classifier."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> module that defines it. Imported on first use, so that `import logikern` stays fast
# and drags in neither scikit-learn nor any optional dependency.
_HOMES: dict[str, str] = {
    "KernelLogisticClassifier": "logikern.estimators.classifier",
    "load_model": "logikern.model.persistence",
    "error_reject_curve": "logikern.decisions.metrics",
    "target_information": "logikern.decisions.metrics",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
