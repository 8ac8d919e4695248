"""`--loss`: a table of losses with named decisions and classes."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from logikern.cli.reading.cells import level, name_list
from logikern.cli.reading.labels import joined
from logikern.cli.reading.sources import open_source

NAMES = ("zero_one", "taxonomic", "parent")
SEPARATORS = ",;\t|"


@dataclass(frozen=True, eq=False)
class LossTable:
    """loss[d, c] of each decision d and true class c, in the order of the classes."""

    decisions: np.ndarray  # (D,): classes, or text if some decision is not a class
    losses: np.ndarray  # (D, C)


def check_loss(given: str | None) -> None:
    """Reject what is neither a name nor a file, before any work."""
    if given is not None and given not in NAMES and not Path(given).is_file():
        names = ", ".join(map(repr, NAMES))
        raise typer.BadParameter(f"`--loss` must be a file or one of {names}, but there is no file `{given}`.")


def read_losses(path: str, classes: Sequence[Any]) -> LossTable:
    """Read a table whose first column names decisions, and whose header names the true classes."""
    rows = _rows(path)
    truths, decisions = [name.strip() for name in rows[0][1:]], [row[0].strip() for row in rows[1:]]
    own = {level(joined(label)): label for label in classes}
    _require_same(path, truths, list(own))
    _require_distinct(path, decisions)
    losses = np.array([[_number(path, row[0], text) for text in row[1:]] for row in rows[1:]])
    ordered = losses[:, [truths.index(name) for name in own]]
    if set(decisions) <= set(own):
        return LossTable(_objects([own[name] for name in decisions]), ordered)
    return LossTable(_objects(decisions), ordered)


def _rows(path: str) -> list[list[str]]:
    text = open_source(path, "csv").text(None)
    first = text.lstrip().splitlines()[0]
    separator = max(SEPARATORS, key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if "".join(row).strip()]
    ragged = next((row for row in rows if len(row) != len(rows[0])), None)
    if ragged is not None or len(rows) < 2 or len(rows[0]) < 2:
        fault = "it has too few rows or columns" if ragged is None else f"row {ragged[0]!r} has a different length"
        raise ValueError(
            f"`{path}` must have a header with the true classes and one row of losses per decision, all of the same "
            f"length, but {fault}."
        )
    return rows


def _require_same(path: str, truths: list[str], classes: list[str]) -> None:
    lacking = [name for name in classes if name not in truths]
    unknown = [name for name in truths if name not in classes]
    _require_distinct(path, truths)
    if lacking or unknown:
        wrong = f"lacks {name_list(lacking)}" if lacking else f"names {name_list(unknown)}, unknown to the model"
        raise ValueError(f"the header of `{path}` must name the classes {name_list(classes)}, but {wrong}.")


def _require_distinct(path: str, names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"`{path}` names {name_list(repeated)} more than once. Rename or remove them.")


def _number(path: str, decision: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"`{path}` must hold numbers, but the row of {decision!r} has {text!r}.") from None


def _objects(labels: list[Any]) -> np.ndarray:
    """Labels as an array of objects, because a label may be a tuple."""
    found = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):
        found[place] = joined(label)
    return found
