"""Row tiles: large results are computed in pieces that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

from logikern.numerics.parallel import n_threads

# 4 MB of float32: smaller tiles slow the matrix product down, larger ones leave the cache between passes.
TILE_ENTRIES = 2**20
# Smaller ones are not worth a thread of their own.
SMALLEST_TILE = 2**17


def row_tiles(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of the rows of a matrix with about `TILE_ENTRIES` entries each, fewer where threads would be idle."""
    entries = min(TILE_ENTRIES, max(SMALLEST_TILE, n_rows * n_columns // n_threads()))
    step = max(1, entries // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
