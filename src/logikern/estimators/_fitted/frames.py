"""Arrays as frames of the library that the user works with."""

import importlib
import re
from dataclasses import asdict
from typing import Any

import numpy as np

from logikern.encoding.encoder import Encoder
from logikern.estimators._inputs.data import names_of_rows
from logikern.numerics.outcome import Array
from logikern.structure.coupling import Coupling
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tree import Tree

NUMBERED = re.compile(r"^(.*)\[(\d+)\]$")
# Maximum number of names in a list.
MOST_NAMES = 8


def labelled_frame(X: Any, values: Array, classes: Array) -> Any:
    """Values (n, C) with one column per class: polars for polars input, pandas otherwise."""
    if type(X).__module__.startswith("polars"):
        return importlib.import_module("polars").DataFrame(values, schema=[str(name) for name in classes])
    pandas = _pandas()
    # A tuple is one label, not a label for each of several levels.
    columns = pandas.Index(classes.tolist(), tupleize_cols=False)
    return pandas.DataFrame(values, columns=columns, index=names_of_rows(X))


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("A labelled frame needs pandas: install logikern[cli].") from error


def hyperparameter_frame(
    found: Specification, start: Specification, classes: Array, encoder: Encoder | None = None
) -> Any:
    """One row per hyperparameter: name, the classes that use it, value and start.

    Rates of inputs or columns have their names if the encoder has names: `rate[age]`.
    """
    rows = []
    for number, kernel in enumerate(found.kernels):
        served = users(found.tying.kernel_of, number, found, classes)
        origin = start.kernels[start.tying.kernel_of[found.tying.kernel_of.index(number)]]
        began = dict(zip(origin.parameter_names, np.exp(origin.log_parameters), strict=True))
        for name, value in zip(kernel.parameter_names, np.exp(kernel.log_parameters), strict=True):
            first = began.get(name, began.get(name.split("[")[0], np.nan))
            shown = _with_names(name, kernel.parameter_names, encoder)
            rows.append({"name": shown, "classes": served, "value": float(value), "start": float(first)})
    if isinstance(found.mixing, Coupling):
        for (place, factor), value in np.ndenumerate(found.mixing.loadings):
            row = {"name": f"loading[{factor}]", "classes": str(classes[place]), "value": float(value), "start": 0.0}
            rows.append(row)
    for number, variance in enumerate(found.variances):
        served = users(found.tying.variance_of, number, found, classes)
        first = start.latent_variances[found.tying.variance_of.index(number)]
        rows.append({"name": "variance", "classes": served, "value": variance, "start": float(first)})
    whole = {"bias_variance": (found.bias_variance, start.bias_variance)}
    if not found.temperature.is_neutral:
        began = asdict(start.temperature)
        whole |= {
            f"inverse temperature of {name} rows": (value, began[name])
            for name, value in asdict(found.temperature).items()
        }
    rows += [{"name": name, "classes": "all", "value": one, "start": first} for name, (one, first) in whole.items()]
    return _pandas().DataFrame(rows)


def _with_names(name: str, siblings: tuple[str, ...], encoder: Encoder | None) -> str:
    """The name of a parameter with the name of its input or column in place of a number."""
    match = NUMBERED.match(name)
    if match is None or encoder is None or encoder.names is None:
        return name
    n_values = sum(sibling.startswith(f"{match[1]}[") for sibling in siblings)
    names = rate_names(n_values, encoder)
    return name if names is None else f"{match[1]}[{names[int(match[2])]}]"


def rate_names(n_rates: int, encoder: Encoder) -> tuple[str, ...] | None:
    """Names of the inputs, or of the columns with inputs, whichever have `n_rates` members; None if neither do."""
    used = tuple(encoder.column_names[place] for place in np.unique(encoder.columns))
    return {len(used): used, encoder.n_inputs: encoder.input_names}.get(n_rates)


def users(group_of: tuple[int, ...], number: int, found: Specification, classes: Array) -> str:
    """The classes, or the nodes of a hierarchy, that use a parameter."""
    tree = found.mixing
    members = np.flatnonzero(np.array(group_of) == number)
    if len(members) == len(group_of):
        return "all"
    if isinstance(tree, Flat | Coupling):
        return ", ".join(str(classes[member]) for member in members)
    if not isinstance(tree, Tree):
        return tree.describe(members)
    own = np.unique(tree.levels[members])
    one_each = len(set(group_of)) == len(group_of)
    if not one_each and len(own) == 1 and len(members) == np.count_nonzero(tree.levels == own[0]):
        return "leaves" if own[0] > tree.latent_depths.max() else f"level {own[0]}"
    names = [str(tree.labels[tree.branches[member]]) for member in members[:MOST_NAMES]]
    return ", ".join(names) + (f" and {len(members) - MOST_NAMES} more" if len(members) > MOST_NAMES else "")


def stacked_frames(frames: list[Any], classes: Array) -> Any:
    """Frames of the models of each class against the rest, one below the other."""
    labelled = [
        frame.assign(classes=f"{label} against the rest") for frame, label in zip(frames, classes, strict=True)
    ]
    return _pandas().concat(labelled, ignore_index=True)
