"""Tables of a report: hyperparameters, relevance of columns, and rows that need attention."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.encoding.tables import is_frame
from logikern.estimators._inputs.data import names_of_rows
from logikern.estimators._report.subject import Subject
from logikern.numerics.outcome import Array, Indices
from logikern.reporting.document import Table
from logikern.reporting.relevance import Relevances, list_cells, names_of_columns
from logikern.reporting.wording import cut


@dataclass(frozen=True)
class TablePolicy:
    """How much is shown."""

    hyperparameters: int = 40
    columns: int = 30  # by relevance
    rows: int = 20  # suspects, and rows with large losses
    cells: int = 6  # columns of such a row


USUAL = TablePolicy()


def hyperparameters(classifier: Any, policy: TablePolicy = USUAL) -> Table:
    """Name, classes, value and start of the first hyperparameters."""
    frame = classifier.hyperparameters_
    shown = frame.head(policy.hyperparameters)
    rows = tuple(zip(*(shown[name].tolist() for name in shown.columns), strict=True))
    hidden = len(frame) - len(shown)
    return Table(tuple(shown.columns), rows, f"{hidden} more are not shown." if hidden else "")


def relevance(found: Relevances | None, policy: TablePolicy = USUAL) -> Table | str:
    """Columns with the largest relevance; a sentence if it was not computed."""
    if found is None:
        return "Not computed: the inputs have too many columns, or cannot be shuffled column by column."
    rows = tuple((one.column, one.increase, one.error) for one in found.columns[: policy.columns])
    hidden = len(found.columns) - len(rows)
    note = (
        f"Increase in log loss when the values of a column are shuffled, on {found.n_rows} rows. If two columns "
        "carry the same information, the increase may be small for both, although the model uses them."
    )
    more = f" {hidden} columns of smaller relevance are not shown." if hidden else ""
    return Table(("column", "increase in log loss", "standard error"), rows, note + more)


def largest_losses(
    subject: Subject,
    rows: Indices,
    losses: Array,
    likely: Array,
    relevant: Table | str,
    policy: TablePolicy = USUAL,
) -> Table:
    """The rows with the largest losses, with their cells in the most relevant columns.

    `losses` belong to some `rows`, and the predicted labels `likely` to all rows of the report.
    """
    order = np.argsort(-losses, kind="stable")[: policy.rows]
    found, names = rows[order], _own_names(subject.X)
    places = _relevant_places(subject.X, relevant)[: policy.cells]
    columns = [names_of_columns(subject.X)[place] for place in places]
    cells = list_cells(subject.X, found, places) if columns else [[] for _ in found]
    told = []
    for place, row in enumerate(found):
        name = () if names is None else (names[row],)
        probability = float(np.exp(-losses[order[place]]))
        numbers = (subject.labels[row], probability, likely[row], float(losses[order[place]]))
        told.append((subject.origin.number(int(row)), *name, *map(_plain, numbers), *map(_as_text, cells[place])))
    headings = ("row", *(() if names is None else ("name",)), "label", "probability", "likely", "loss")
    return Table((*headings, *map(str, columns)), tuple(told))


def _own_names(X: Any) -> Any:
    """The index of a pandas frame, unless it only numbers the rows."""
    names = names_of_rows(X)
    return None if names is None or np.array_equal(names, np.arange(len(names))) else names


def _relevant_places(X: Any, relevant: Table | str) -> list[int]:
    """Positions of the columns of a frame, the most relevant ones first if that is known."""
    if not is_frame(X):
        return []
    names = names_of_columns(X)
    if isinstance(relevant, str) or len(set(names)) < len(names):
        return list(range(len(names)))
    return [names.index(row[0]) for row in relevant.rows]


def suspects(classifier: Any, first_row: int, policy: TablePolicy = USUAL) -> Table:
    """Training rows with the largest leave-one-out losses."""
    frame = classifier.suspects(policy.rows)
    columns = [frame[name].tolist() for name in frame.columns]
    columns[0] = [row + first_row for row in columns[0]]
    order = f"Rows are numbered from {first_row} in the order of the training data."
    note = f"{order} Leave-one-out: {classifier.loo_method_}."
    return Table(tuple(frame.columns), tuple(zip(*columns, strict=True)), note)


def settings(model: Any) -> str:
    """The model as Python code, with the settings that differ from the defaults."""
    return str(model.__repr__(N_CHAR_MAX=2000)) if hasattr(model, "get_params") else repr(model)


def _as_text(value: Any) -> str:
    """A cell of the user's table, which may have any type and any length."""
    plain = _plain(value)
    return f"{plain:.6g}" if isinstance(plain, float) else cut(plain, 40)


def _plain(value: Any) -> Any:
    """A cell for a table: NumPy numbers become Python numbers, and missing values become empty text."""
    value = value.item() if isinstance(value, np.generic) else value
    is_missing = value is None or value != value  # NaN, and NaT of pandas
    return "" if is_missing is True else value
