"""Numbers that decide how a table is encoded."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EncodingPolicy:
    """Bounds on levels, and what counts as an identifier."""

    most_levels: int = 100  # most levels of a category with an input each; rarer levels share one input
    # With this many rows, levels that occur only once share one input: a single row says nothing about them.
    many_rows: int = 1000
    rows_to_judge: int = 20  # with fewer rows, distinct values do not suggest an identifier
    # Text with a larger share of distinct values is an identifier or prose, not a category.
    distinct_share: float = 0.9
    # Distinct whole numbers that fill at least this share of their range are row numbers. A random half of a numbered
    # table still does so; distinct measurements hardly ever fill half of their range.
    counted_share: float = 0.5
    sparse_width: int = 200  # fewer inputs are always stored densely
    # Inputs are stored sparsely if at most this share of them differs from zero. With 4000 rows, Gaussian kernels of
    # sparse inputs then take the same time as dense ones at 200 inputs, and a sixth of the time at 1 % of 1000
    # inputs. At 10 % of 400 inputs they take 1.4 times as long.
    sparse_share: float = 0.05
    # Rows from which medians are computed if an array has no missing values in training, since they may never be
    # needed.
    median_rows: int = 2000


DEFAULT_POLICY = EncodingPolicy()
