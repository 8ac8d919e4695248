"""Consistency of a loaded encoder: its columns, levels and scales must match each other and the table."""

from typing import Any

import numpy as np

from logikern.encoding.complaints import SENTENCES, Note
from logikern.encoding.encoder import Encoder
from logikern.encoding.levels import Levels
from logikern.encoding.numbers import KINDS, Numbers
from logikern.encoding.scaling import Ranked, Standardised, Unscaled


def check_encoder(encoder: Any, n_columns: int, names: Any) -> None:
    """Raise a ValueError if the encoder does not belong to a table with these columns; names may be None."""
    _require(isinstance(encoder, Encoder), "it has no encoder")
    _require(encoder.n_columns == n_columns, "its encoder has a different number of columns")
    own = encoder.names
    if own is not None:
        is_list = isinstance(own, tuple) and all(isinstance(name, str) for name in own)
        _require(is_list and len(own) == n_columns, "its encoder has different column names")
        _require(names is None or list(own) == names.tolist(), "its encoder has different column names")
    _require(type(encoder.is_sparse) is bool, "its encoder does not say whether inputs are sparse")
    _check_numbers(encoder.numbers, n_columns)
    _check_levels(encoder.levels, n_columns)
    _check_notes(encoder.notes, n_columns)
    used = [*encoder.numbers.places.tolist(), *(levels.place for levels in encoder.levels)]
    used += [note.place for note in encoder.notes if note.drops]
    _require(sorted(used) == list(range(n_columns)), "its encoder does not use every column once")
    check_scaling(encoder.scaling, encoder.n_inputs)


def _check_numbers(numbers: Any, n_columns: int) -> None:
    _require(isinstance(numbers, Numbers), "its encoder has no record of numeric columns")
    invalid = "its encoder has an invalid record of numeric columns"
    outside = "its encoder refers to numeric columns that the table does not have"
    for places, bound, complaint in (
        (numbers.places, n_columns, outside),
        (numbers.gaps, len(numbers.places), invalid),
    ):
        _require(_are_whole(places) and bool(np.all(np.diff(places) > 0)), invalid)
        _require(not len(places) or (places[0] >= 0 and places[-1] < bound), complaint)
    _require(_are_whole(numbers.kinds), invalid)
    known = bool(np.all((numbers.kinds >= 0) & (numbers.kinds < len(KINDS))))
    _require(known, "its encoder has numeric columns of an unknown type")
    same = _are_finite(numbers.medians) and len(numbers.medians) == len(numbers.places) == len(numbers.kinds)
    _require(same, "its encoder does not have a median for each numeric column")


def _check_levels(levels: Any, n_columns: int) -> None:
    invalid = "its encoder has an invalid record of categorical columns"
    outside = "its encoder refers to categorical columns that the table does not have"
    _require(isinstance(levels, tuple) and all(isinstance(own, Levels) for own in levels), invalid)
    for own in levels:
        _require(type(own.place) is int, invalid)
        _require(0 <= own.place < n_columns, outside)
        is_list = isinstance(own.names, tuple) and all(isinstance(name, str) for name in own.names)
        _require(is_list and len(set(own.names)) == len(own.names), "categories of its encoder are not distinct")
        _require(type(own.has_missing) is bool and type(own.has_rest) is bool, invalid)
        _require(own.n_inputs > 0, invalid)


def _check_notes(notes: Any, n_columns: int) -> None:
    complaint = "its encoder has invalid notes on columns"
    _require(isinstance(notes, tuple) and all(isinstance(note, Note) for note in notes), complaint)
    for note in notes:
        _require(type(note.place) is int and 0 <= note.place < n_columns, complaint)
        _require(isinstance(note.cause, str) and note.cause in SENTENCES and type(note.count) is int, complaint)


def check_scaling(scaling: Any, n_inputs: int) -> None:
    """Raise a ValueError if the scaling does not have `n_inputs` inputs."""
    complaint = "its scaling belongs to other inputs"
    if isinstance(scaling, Standardised):
        for values in (scaling.shift, scaling.scale):
            _require(_are_finite(values) and len(values) == n_inputs, complaint)
        _require(bool(np.all(scaling.scale > 0)), "its scaling has a scale that is not positive")
    elif isinstance(scaling, Ranked):
        _check_ranks(scaling, n_inputs, complaint)
    else:
        _require(isinstance(scaling, Unscaled), "it has no scaling")


def _check_ranks(scaling: Ranked, n_inputs: int, complaint: str) -> None:
    starts, knots, ranks = scaling.starts, scaling.knots, scaling.ranks
    _require(_are_finite(scaling.units) and len(scaling.units) == n_inputs, complaint)
    _require(bool(np.all(scaling.units > 0)), "its scaling has a scale that is not positive")
    _require(_are_finite(knots) and _are_finite(ranks) and len(knots) == len(ranks), complaint)
    _require(_are_whole(starts) and len(starts) == n_inputs + 1, complaint)
    _require(starts[0] == 0 and starts[-1] == len(knots) and bool(np.all(np.diff(starts) >= 0)), complaint)
    inside = np.ones(max(len(knots) - 1, 0), dtype=bool)  # steps between knots of the same input
    inside[[start - 1 for start in starts if 0 < start < len(knots)]] = False
    rising = np.all(np.diff(knots)[inside] > 0) and np.all(np.diff(ranks)[inside] >= 0)
    _require(bool(rising and np.all((ranks >= 0) & (ranks <= 1))), "its ranks do not rise from 0 to 1")


def _are_whole(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i"


def _are_finite(values: Any) -> bool:
    is_list = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "f"
    return is_list and bool(np.isfinite(values).all())


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
