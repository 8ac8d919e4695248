"""Arrays as frames of the library that the user works with."""

import importlib
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array
from logikern.structure.specification import Specification


def labelled_frame(X: Any, values: Array, classes: Array) -> Any:
    """Values (n, C) with one column per class: polars for polars input, pandas otherwise."""
    columns = [str(name) for name in classes] if type(X).__module__.startswith("polars") else list(classes)
    if type(X).__module__.startswith("polars"):
        return importlib.import_module("polars").DataFrame(values, schema=columns)
    return _pandas().DataFrame(values, columns=columns, index=getattr(X, "index", None))


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("A labelled frame needs pandas: install logikern[cli].") from error


def hyperparameter_frame(found: Specification, start: Specification, classes: Array) -> Any:
    """One row per hyperparameter: name, the classes that it serves, value and start."""
    rows = []
    for number, kernel in enumerate(found.kernels):
        users = _users(found.tying.kernel_of, number, classes)
        origin = start.kernels[start.tying.kernel_of[found.tying.kernel_of.index(number)]]
        began = dict(zip(origin.parameter_names, np.exp(origin.log_parameters), strict=True))
        for name, value in zip(kernel.parameter_names, np.exp(kernel.log_parameters), strict=True):
            first = began.get(name, began.get(name.split("[")[0], np.nan))
            rows.append({"name": name, "classes": users, "value": float(value), "start": float(first)})
    for number, variance in enumerate(found.variances):
        users = _users(found.tying.variance_of, number, classes)
        first = start.latent_variances[found.tying.variance_of.index(number)]
        rows.append({"name": "variance", "classes": users, "value": variance, "start": float(first)})
    bias = {"name": "bias_variance", "classes": "all", "value": found.bias_variance, "start": start.bias_variance}
    return _pandas().DataFrame([*rows, bias])


def _users(group_of: tuple[int, ...], number: int, classes: Array) -> str:
    users = [str(name) for name, group in zip(classes, group_of, strict=True) if group == number]
    return "all" if len(users) == len(classes) else ", ".join(users)


def stacked_frames(frames: list[Any], classes: Array) -> Any:
    """Frames of the models of each class against the rest, one below the other."""
    labelled = [
        frame.assign(classes=f"{label} against the rest") for frame, label in zip(frames, classes, strict=True)
    ]
    return _pandas().concat(labelled, ignore_index=True)
