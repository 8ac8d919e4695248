"""Arrays as frames of the library that the user works with."""

import importlib
from typing import Any

from logikern.numerics.outcome import Array


def labelled_frame(X: Any, values: Array, classes: Array) -> Any:
    """Values (n, C) with one column per class: polars for polars input, pandas otherwise."""
    columns = [str(name) for name in classes] if type(X).__module__.startswith("polars") else list(classes)
    if type(X).__module__.startswith("polars"):
        return importlib.import_module("polars").DataFrame(values, schema=columns)
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "A labelled frame needs pandas: install logikern[cli], or use predict_proba."
        ) from error
    return pandas.DataFrame(values, columns=columns, index=getattr(X, "index", None))
