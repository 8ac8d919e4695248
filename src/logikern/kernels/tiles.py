"""Row tiles: large results are computed in pieces that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

# 4 MB of float32: smaller tiles slow the matrix product down, larger ones leave the cache between passes.
TILE_ENTRIES = 2**20


def row_tiles(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of the rows of an (n_rows, n_columns) matrix with about `TILE_ENTRIES` entries each."""
    step = max(1, TILE_ENTRIES // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
