"""The settings of a fit to sequences: checks, and the first hyperparameters."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.encoding.roles import list_chosen
from logikern.encoding.scaling import SCALINGS
from logikern.estimators._inputs.arguments import check_path, check_positive, is_number, suggest
from logikern.estimators._inputs.data import is_precomputed
from logikern.estimators._inputs.start import make_kernel
from logikern.estimators._parameters import check_running
from logikern.kernels.inputs import is_sparse
from logikern.model.defaults import default_rate, default_variance, read_shape
from logikern.numerics.outcome import Array, Indices
from logikern.sequences.hyperparameters import FieldSpecification
from logikern.sequences.inputs import SequenceRows
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tying import tie

CHOICES = {
    "tying": ("shared", "scaled", "separate"),
    "inputs": ("auto", *SCALINGS),
    "decoding": ("sequence", "positions"),
    "criterion": ("cv", None),
    "precision": ("auto", "single", "double"),
    "on_interrupt": ("raise", "keep"),
}
COUNTS = {"search_size": 1, "max_iter": 1}


@dataclass(frozen=True)
class StartPolicy:
    """First values of hyperparameters that are not estimated from the data."""

    transition_variance: float = 4.0
    pseudocount: float = 1.0
    piecewise: float = 1.0
    window: float = 0.3  # weight of each neighbour


POLICY = StartPolicy()


def check_settings(settings: dict[str, Any]) -> None:
    """Raise an error for a setting that is not possible."""
    for name, known in CHOICES.items():
        if settings[name] not in known:
            hint = suggest(settings[name], [one for one in known if one is not None])
            raise ValueError(f"`{name}` must be one of {list(known)}, but is {settings[name]!r}.{hint}")
    for name, least in COUNTS.items():
        if isinstance(settings[name], bool) or not isinstance(settings[name], int | np.integer):
            raise ValueError(f"`{name}` must be an integer, but is {settings[name]!r}.")
        if settings[name] < least:
            raise ValueError(f"`{name}` must be at least {least}, but is {settings[name]}.")
    check_folds(settings["cv"])
    check_running(settings["verbose"], settings["n_jobs"], settings["random_state"])
    list_chosen(settings["categorical_features"])
    check_window(settings["window"])
    check_positive("tol", settings["tol"])
    check_path("checkpoint", settings["checkpoint"])
    if settings["max_time"] is not None:
        check_positive("max_time", settings["max_time"])
    for name in ("bias_variance", "transition_variance", "piecewise"):
        value = settings[name]
        if value is not None and not (is_number(value) and 0 <= value < np.inf):
            raise ValueError(f"`{name}` must be a number of at least 0, but is {value!r}.")
    for name in ("variance", "pseudocount"):
        value = settings[name]
        if value is not None and not (is_number(value) and value > 0):
            raise ValueError(f"`{name}` must be a positive number, but is {value!r}.")
    if is_precomputed(settings["kernel"]):
        raise ValueError("`kernel` must not be precomputed for sequences. Pass their inputs, and another kernel.")


def check_enough(classes: Array, weights: Array, criterion: str | None) -> None:
    """Raise unless sequences of positive weight have two labels, and a search has two of them."""
    if len(classes) < 2:
        raise ValueError(
            f"`y` must have at least two different labels, but all are {str(classes[0])!r}. Add sequences with other "
            "labels."
        )
    if criterion is not None and np.count_nonzero(weights) < 2:
        raise ValueError(
            "The search holds out whole sequences, but there is only one. Pass criterion=None with hyperparameters "
            "of your own, or cut the sequence into parts."
        )


def first_specification(settings: dict[str, Any], rows: Any, weights: Array, n_labels: int) -> FieldSpecification:
    """Hyperparameters as given, or estimated from rows with weights (n,)."""
    kernel, mixing = settings["kernel"], Flat(n_labels)
    if isinstance(kernel, str) and kernel == "auto":
        kernel = "linear" if is_sparse(rows) and settings["rate"] is None else "gaussian"
    made = make_kernel(kernel, settings["rate"], lambda name: default_rate(name, rows, weights))
    if isinstance(kernel, str):
        made = read_shape(made, rows, weights)
    tying = tie(settings["tying"], mixing)
    variance = default_variance(made, rows, weights) if settings["variance"] is None else settings["variance"]
    positions = Specification(
        (made,) * tying.n_kernels,
        (float(variance),) * tying.n_variances,
        float(settings["bias_variance"]),
        tying,
        mixing,
    )
    names = ("transition_variance", "pseudocount", "piecewise")
    others = {name: getattr(POLICY, name) if settings[name] is None else float(settings[name]) for name in names}
    return FieldSpecification(positions, **others, window=_first_weights(settings["window"]))


def _first_weights(window: Any) -> tuple[float, ...]:
    """Weights of neighbours, from their number on each side or from the weights themselves."""
    if isinstance(window, int | np.integer):
        return (POLICY.window,) * (2 * int(window))
    return tuple(float(weight) for weight in window)


def choose_sequences(
    sequences: SequenceRows, weights: Array, search_size: int, random: np.random.RandomState
) -> Indices:
    """Sequences of positive weight in random order, with at most `search_size` rows, but at least two."""
    order = random.permutation(sequences.n_sequences)
    order = order[weights[order] > 0]
    together = np.cumsum(np.diff(sequences.offsets)[order])
    return order[: max(2, int(np.searchsorted(together, search_size, side="right")))]


def divide(cv: Any, chosen: Indices, n_sequences: int) -> Array:
    """Which of the chosen sequences each fold holds out, (F, S); they are in random order already."""
    if isinstance(cv, int | np.integer):
        n_folds = min(cv, len(chosen))
        return np.arange(len(chosen)) % n_folds == np.arange(n_folds)[:, None]
    folds = [_mark(split, n_sequences)[chosen] for split in cv]
    usable = [fold for fold in folds if fold.any() and not fold.all()]
    if not usable:
        raise ValueError(
            f"`cv` must hold out some of the {len(chosen)} sequences of the search and keep others, but no split "
            "does. Pass other splits, or a larger `search_size`."
        )
    return np.array(usable)


def _mark(split: Any, n_sequences: int) -> Array:
    """Which sequences a split holds out, (n_sequences,)."""
    mask = np.zeros(n_sequences, dtype=bool)
    try:
        _, held_out = split
        mask[list(held_out)] = True
    except (TypeError, ValueError, IndexError):
        raise ValueError(
            f"A split in `cv` must be a pair (kept, held out) of lists of sequence numbers from 0 to "
            f"{n_sequences - 1}, but is {split!r}."
        ) from None
    return mask


def check_window(window: Any) -> None:
    """Raise unless `window` is a number of neighbours, or weights of equally many neighbours on both sides."""
    told = "`window` must be an integer of at least 0, or a list with a weight for each neighbour"
    if not isinstance(window, bool) and isinstance(window, int | np.integer):
        if window < 0:
            raise ValueError(f"{told}, but is {window}.")
    elif isinstance(window, str | bool) or not hasattr(window, "__len__"):
        raise ValueError(f"{told}, but is {window!r}.")
    elif len(window) % 2 or not all(is_number(weight) and 0 <= weight < np.inf for weight in window):
        raise ValueError(
            f"{told}, but is {window!r}. Weights are numbers of at least 0, for as many neighbours before a position "
            "as after it."
        )


def check_folds(cv: Any) -> None:
    """Raise unless `cv` is a number of folds or a list of splits."""
    if isinstance(cv, str) or not (isinstance(cv, int | np.integer) or hasattr(cv, "__iter__")):
        raise ValueError(f"`cv` must be a number of folds or an iterable of splits, but is {cv!r}.")
    if isinstance(cv, int | np.integer) and cv < 2:
        raise ValueError(f"`cv` must be at least 2, but is {cv}.")
