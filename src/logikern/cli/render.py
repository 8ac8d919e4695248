"""Scores as tables for people, and as a record for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from logikern.cli.scores import Scores

MAX_CONFUSION_CLASSES = 12
LONGEST_CLASSES = 40  # letters, before the classes of a hyperparameter are cut


def print_scores(scores: Scores) -> None:
    """Overall scores, one row per class, and who is taken for whom if the classes are few."""
    from rich.console import Console

    console = Console()
    console.print(_overall(scores))
    console.print(_classes(scores))
    if len(scores.per_class) <= MAX_CONFUSION_CLASSES:
        console.print(_confusion(scores))


def scores_record(scores: Scores) -> dict[str, Any]:
    """Everything as plain JSON values."""
    record = asdict(scores)
    record["confusion"] = scores.confusion.tolist()
    record["classes"] = [entry.label for entry in scores.per_class]
    return record


def print_hyperparameters(
    rows: Sequence[Mapping[str, Any]], at_most: int | None = None, stderr: bool = False
) -> None:
    """Name, classes, value and start of each hyperparameter, or of the first ones."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = rows[:at_most]
    more = f"and {len(rows) - len(shown)} more: see `logikern info`" if len(shown) < len(rows) else None
    table = Table(title="hyperparameters", title_justify="left", caption=more, caption_justify="left")
    table.add_column("name")
    table.add_column("classes")
    table.add_column("value", justify="right")
    table.add_column("start", justify="right")
    for row in shown:
        classes = Text(row["classes"])
        classes.truncate(LONGEST_CLASSES, overflow="ellipsis")
        table.add_row(Text(row["name"]), classes, _significant(row["value"]), _significant(row["start"]))
    Console(stderr=stderr).print(table)


def _significant(value: float | str | None) -> str:
    return "-" if value is None else f"{float(value):.4g}"


def _overall(scores: Scores) -> Any:
    from rich.table import Table

    table = Table(title=f"{scores.rows} rows", title_justify="left")
    table.add_column("score")
    table.add_column("value", justify="right")
    table.add_row("log loss", f"{scores.log_loss:.4f}")
    table.add_row("log loss of the class shares", f"{scores.baseline_log_loss:.4f}")
    table.add_row("error", f"{scores.error:.2%}")
    table.add_row("Brier score", f"{scores.brier_score:.4f}")
    table.add_row("calibration error", f"{scores.calibration_error:.4f}")
    return table


def _classes(scores: Scores) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="classes", title_justify="left")
    table.add_column("class")
    for heading in ("rows", "mean probability", "recall", "precision", "log loss"):
        table.add_column(heading, justify="right")
    for entry in scores.per_class:
        table.add_row(
            Text(entry.label),
            str(entry.rows),
            f"{entry.mean_probability:.4f}",
            _or_dash(entry.recall),
            _or_dash(entry.precision),
            _or_dash(entry.log_loss),
        )
    return table


def _confusion(scores: Scores) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="true class (rows) predicted as (columns)", title_justify="left")
    table.add_column("")
    labels = [Text(entry.label) for entry in scores.per_class]
    for label in labels:
        table.add_column(label, justify="right")
    for label, counts in zip(labels, scores.confusion, strict=True):
        table.add_row(label, *(str(count) if count else "." for count in counts))
    return table


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
