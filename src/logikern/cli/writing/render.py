"""Scores as tables for people, and as a record for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from logikern.cli.models import tree_of
from logikern.cli.preprocessing import final_step
from logikern.cli.reading.hierarchy import path_text
from logikern.cli.writing.scores import Report, Scores
from logikern.cli.writing.tree_scores import TreeScores, tree_record
from logikern.report.tree import render_tree
from logikern.structure.taxonomy import short_name
from logikern.structure.tree import ROOT

MAX_CONFUSION_CLASSES = 12
MAX_NODES = 40  # of a tree
LONGEST_CLASSES = 40  # letters, before the classes of a hyperparameter are cut


def print_report(report: Report) -> None:
    """Overall scores, then those of classes and who is taken for whom, or of the tree that the classes have."""
    from rich.console import Console

    console = Console()
    if report.scores is not None:
        console.print(_overall(report.scores))
    if report.tree is not None:
        _print_tree_scores(report.tree, console)
    elif report.scores is not None:
        console.print(_classes(report.scores))
        if len(report.scores.per_class) <= MAX_CONFUSION_CLASSES:
            console.print(_confusion(report.scores))


def report_record(report: Report) -> dict[str, Any]:
    """Everything as plain JSON values."""
    record: dict[str, Any] = {}
    if report.scores is not None:
        record |= asdict(report.scores)
        record["confusion"] = report.scores.confusion.tolist()
        record["classes"] = [entry.label for entry in report.scores.per_class]
    if report.tree is not None:
        record["tree"] = tree_record(report.tree)
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


def print_tree(model: Any) -> None:
    """The top of the tree that the classes have, if any, with the variance of each node."""
    tree = tree_of(model)
    if tree is not None:
        print(f"tree: {len(tree.labels)} nodes, {tree.n_classes} of them classes")
        print(render_tree(tree, {"variance": final_step(model).node_variances_}, MAX_NODES))


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


def _print_tree_scores(scores: TreeScores, console: Any) -> None:
    console.print(_tree_overall(scores))
    console.print(_levels(scores))
    nodes = {"rows": scores.nodes.true, "recall": scores.nodes.recall, "precision": scores.nodes.precision}
    # Not by rich, which would take brackets in labels for markup.
    print(render_tree(scores.tree, nodes, MAX_NODES))
    if scores.confused:
        console.print(_confused(scores))


def _tree_overall(scores: TreeScores) -> Any:
    from rich.table import Table

    rows = f"{scores.rows} rows" + (f", {scores.inner_rows} of inner nodes" if scores.inner_rows else "")
    table = Table(title=f"on the tree: {rows}", title_justify="left")
    table.add_column("score")
    table.add_column("value", justify="right")
    table.add_row("log loss of the nodes named", f"{scores.log_loss:.4f}")
    table.add_row("taxonomic loss", f"{scores.taxonomic_loss:.4f}")
    table.add_row("parent accuracy", _or_dash(scores.parent_accuracy))
    table.add_row("hierarchical F1", f"{scores.hierarchical_f1:.4f}")
    table.add_row("mean reciprocal rank", _or_dash(scores.mean_reciprocal_rank))
    return table


def _levels(scores: TreeScores) -> Any:
    from rich.table import Table

    table = Table(title="levels", title_justify="left")
    for heading in ("depth", "nodes", "accuracy", "log loss"):
        table.add_column(heading, justify="right")
    levels = scores.levels
    for depth, n_nodes, accuracy, loss in zip(
        levels.depth, levels.n_nodes, levels.accuracy, levels.log_loss, strict=True
    ):
        table.add_row(str(depth), str(n_nodes), f"{accuracy:.4f}", f"{loss:.4f}")
    return table


def _confused(scores: TreeScores) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="siblings that are most often confused", title_justify="left")
    for heading in ("below", "first", "second"):
        table.add_column(heading, overflow="fold")
    for heading in ("1st as 2nd", "2nd as 1st", "share"):
        table.add_column(heading, justify="right")
    tree = scores.tree
    for pair in scores.confused:
        first, second = tree.place[pair.first], tree.place[pair.second]
        above = tree.parents[first]
        parent = "the root" if above == ROOT else path_text(above, tree)
        names = (parent, short_name(first, tree), short_name(second, tree))
        counts = (f"{pair.first_as_second:g}", f"{pair.second_as_first:g}", f"{pair.rate:.1%}")
        table.add_row(*map(Text, names), *counts)
    return table


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
