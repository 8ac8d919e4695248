"""Dask arrays and frames as chunks of rows."""

from typing import Any

import numpy as np
from dask import array, is_dask_collection
from scipy import sparse

from logikern.numerics.free_memory import available_memory


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask array or a Dask frame."""
    return bool(is_dask_collection(X))


def row_chunks(X: Any, name: str) -> list[Any]:
    """One delayed object for each chunk of rows, in order.

    Parameters
    ----------
    X : dask array or dask frame
        The chunks of an array must have known sizes.
    name : str
        For error messages.
    """
    if not isinstance(X, array.Array):
        if not hasattr(X, "npartitions"):
            raise TypeError(f"`{name}` must be a Dask array or a Dask dataframe, but is of type {type(X).__name__}.")
        return list(X.to_delayed())
    if np.isnan(X.shape).any():
        raise ValueError(
            f"`{name}` has chunks of unknown size. Call `{name}.compute_chunk_sizes()` before you pass it."
        )
    whole_rows = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    return list(whole_rows.to_delayed().ravel())


def require_room(X: Any) -> None:
    """Raise an error if the rows do not fit in the memory of this process; the size of frames is unknown."""
    n_bytes = X.nbytes if isinstance(X, array.Array) else np.nan
    free = available_memory()
    if n_bytes > free:
        raise MemoryError(
            f"`X` must fit into the process that calls `fit`, but takes {n_bytes / 1e9:.1f} GB, and only "
            f"{free / 1e9:.1f} GB are free. Pass fewer rows, or float32."
        )


def stack(chunks: list[Any]) -> Any:
    """Rows of consecutive chunks in one array, sparse matrix or frame."""
    if len(chunks) == 1:
        return chunks[0]
    if sparse.issparse(chunks[0]):
        return sparse.vstack(chunks, format="csr")
    if hasattr(chunks[0], "iloc"):
        from dask.dataframe.dispatch import concat

        return concat(chunks)
    return np.concatenate(chunks)
