"""svmlight files: labels and sparse features."""

import io
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from logikern.cli.reading.sources import Reading, Source


@dataclass(frozen=True)
class SparseTable:
    """features: (n_points, n_features) sparse rows; labels: (n_points,)."""

    features: sparse.csr_array
    labels: np.ndarray


def read_svmlight(source: Source, reading: Reading) -> SparseTable:
    """Read lines `label index:value ...`; indices count from 1 unless `zero_based`.

    scikit-learn would guess the first index from the file, and could guess differently for training and new data.
    """
    from sklearn.datasets import load_svmlight_file

    source.text(reading.encoding or "utf-8")
    try:
        features, labels = load_svmlight_file(io.BytesIO(source.content), zero_based=reading.zero_based)
    except (ValueError, IndexError) as error:
        raise ValueError(
            f"`{source.name}` is not readable as svmlight: {error}. Each line must be `label index:value ...` "
            "with increasing indices that start at 1; if they start at 0, pass `--zero-based`."
        ) from None
    if features.shape[0] == 0:
        raise ValueError(f"`{source.name}` has no rows, but needs at least one.")
    values = features.data
    if not np.isfinite(values).all():
        raise ValueError(f"`{source.name}` has infinite or missing feature values. Correct or remove them.")
    return SparseTable(sparse.csr_array(features), labels)


def with_width(features: sparse.csr_array, n_features: int) -> sparse.csr_array:
    """The same rows with `n_features` columns: zeros appended, or surplus columns dropped."""
    if features.shape[1] > n_features:
        return features[:, :n_features]
    return sparse.csr_array((features.data, features.indices, features.indptr), shape=(features.shape[0], n_features))
