"""`logikern info`: what is in a model file?"""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from logikern.cli import options
from logikern.cli.exits import ends_cleanly
from logikern.cli.inputs import wanted_columns
from logikern.cli.models import load_model, outcome_sentence
from logikern.cli.preprocessing import final_step, roles_of
from logikern.model.persistence import HEADER

EXAMPLES = """
Show what a model file holds: classes, inputs, hyperparameters, how its fit ended, and sizes.

Examples:

  logikern info iris.skops

  logikern info iris.skops --json

Exit codes: 0 done, 1 refused, 2 wrong usage.
"""

SHOWN = 12  # names in a row of the table before "and more"


@ends_cleanly
def info(model: options.ModelArgument, json_output: options.JsonOption = False) -> None:
    record = describe(load_model(model), Path(model))
    if json_output:
        print(json.dumps(record, indent=2))
    else:
        _print_record(record)


info.__doc__ = EXAMPLES


def describe(model: Any, path: Path) -> dict[str, Any]:
    """A model as plain JSON values."""
    classifier = final_step(model)
    parameters = classifier.get_params(deep=False)
    roles = roles_of(model)
    inputs = {"columns": wanted_columns(model)}
    if roles is not None:
        inputs = {"numeric": roles.numeric, "categorical": roles.categorical, "text": roles.text}
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "model": type(classifier).__name__,
        "pipeline": [type(step).__name__ for _, step in model.steps] if classifier is not model else None,
        "classes": np.asarray(classifier.classes_).tolist(),
        "inputs": {kind: list(names) for kind, names in inputs.items() if names},
        "features": int(classifier.n_features_in_),
        "training_rows": int(classifier.dual_coef_.shape[0]),
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "kernels": [str(kernel) for kernel in classifier.kernels_],
        "variances": np.asarray(classifier.variances_, dtype=float).tolist(),
        "newton_steps": _plain(classifier.n_iter_),
        "outcome": outcome_sentence(classifier),
        "operator": classifier.operator_,
        "written_by": _header(path),
    }


def _header(path: Path) -> dict[str, Any]:
    """Format and versions that wrote the file, which `load_model` has checked."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(HEADER))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print_record(record: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in record.items():
        if isinstance(value, dict):
            rows = {f"  {key}": own for key, own in value.items()}
            table.add_row(name.replace("_", " "), "")
        else:
            rows = {name.replace("_", " "): value}
        for key, own in rows.items():
            if own is not None:
                table.add_row(key, Text(_short(own)))
    Console().print(table)


def _short(value: Any) -> str:
    if not isinstance(value, list):
        return f"{value:g}" if isinstance(value, float) else str(value)
    shown = ", ".join(_short(entry) for entry in value[:SHOWN])
    more = f" and {len(value) - SHOWN} more" if len(value) > SHOWN else ""
    return f"{len(value)}: {shown}{more}" if len(value) > 1 else shown
