"""`logikern info`: the contents of a model file."""

import json
from pathlib import Path
from typing import Any

from logikern.cli import options
from logikern.cli.session.exits import ends_cleanly

HELP = """
Show the contents of a model file: classes, inputs, hyperparameters, the stages of the search, the class tree, the
outcome of the fit, and sizes.

Examples:

  logikern info iris.skops

  logikern info iris.skops --json

Exit codes: 0 done, 1 invalid model file, 2 wrong usage.
"""

# These are shown below the table, or by other entries.
APART = (
    *("kernels", "variances", "hyperparameters", "tree", "verdicts"),
    *("transitions", "first_labels", "last_labels"),
)


@ends_cleanly
def info(model: options.ModelArgument, json_output: options.JsonOption = False) -> None:
    from logikern.cli.models import has_sequences, load_model
    from logikern.cli.preprocessing import final_step
    from logikern.cli.writing.description import describe
    from logikern.cli.writing.render import print_hyperparameters, print_transitions, print_tree
    from logikern.cli.writing.sequences import describe_sequences

    loaded = load_model(model)
    record = (describe_sequences if has_sequences(loaded) else describe)(loaded, Path(model))
    if json_output:
        print(json.dumps(record, indent=2))
        return
    _print_record({name: value for name, value in record.items() if name not in APART})
    for verdict in record["verdicts"]:
        print(verdict["sentence"])
    print_hyperparameters(record["hyperparameters"])
    print_tree(loaded)
    if has_sequences(loaded):
        print_transitions(final_step(loaded))


info.__doc__ = HELP


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
            if rows:
                table.add_row(name.replace("_", " "), "")
        else:
            rows = {name.replace("_", " "): value}
        for key, own in rows.items():
            if own is not None:
                table.add_row(key, Text(_short(own)))
    Console().print(table)


def _short(value: Any) -> str:
    from logikern.cli.writing.render import LIMITS, shortened
    from logikern.reporting.wording import printable

    if not isinstance(value, list):
        return f"{value:g}" if isinstance(value, float) else printable(str(value))
    shown = ", ".join(shortened(_short(entry)) for entry in value[: LIMITS.names])
    more = f" and {len(value) - LIMITS.names} more" if len(value) > LIMITS.names else ""
    return f"{len(value)}: {shown}{more}" if len(value) > 1 else shown
