"""Lazy predictions: one graph key holds the model, and each chunk of rows is one task."""

from typing import Any
from uuid import uuid4

import numpy as np
from dask import array, delayed
from dask.highlevelgraph import HighLevelGraph

from logikern.dask.chunks import row_chunks
from logikern.dask.tasks import predict_chunk
from logikern.numerics.outcome import Array


def lazily(model: Any, method: str, X: Any, empty: Array) -> Any:
    """A Dask array with the rows of X in the same chunks; the chunks of a frame have unknown sizes.

    Parameters
    ----------
    model : KernelLogisticClassifier
    method : str
        Name of a method of the model.
    X : dask array or dask frame
    empty : array of shape (0, ...)
        The result of the method for zero rows.
    """
    chunks = row_chunks(X, "X")
    lengths = X.chunks[0] if isinstance(X, array.Array) else (np.nan,) * len(chunks)
    token = uuid4().hex
    held = delayed(model, name=f"logikern-model-{token}", traverse=False)
    name, others = f"logikern-predict-{token}", (0,) * (empty.ndim - 1)
    tasks: dict[Any, Any] = {
        (name, place, *others): (predict_chunk, held.key, method, chunk.key, empty)
        for place, chunk in enumerate(chunks)
    }
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[held, *chunks])
    return array.Array(graph, name, (tuple(lengths), *((size,) for size in empty.shape[1:])), meta=empty)
