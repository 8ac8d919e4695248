"""Scores, hyperparameters and trees as tables, and scores as a JSON record."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from logikern.cli.models import tree_of
from logikern.cli.preprocessing import final_step
from logikern.cli.reading.hierarchy import path_text
from logikern.cli.writing.label_sets import LabelScore, SetScores
from logikern.cli.writing.number_scores import NumberScores, named_scores
from logikern.cli.writing.scores import ClassScore, Report, Scores
from logikern.cli.writing.sequences import SequenceScores
from logikern.cli.writing.tree_scores import TreeScores, tree_record
from logikern.decisions.intervals import Estimate
from logikern.reporting.tree import render_tree
from logikern.reporting.wording import cut_middle
from logikern.structure.taxonomy import short_name
from logikern.structure.tree import ROOT


@dataclass(frozen=True)
class DisplayLimits:
    """How much of a result fits on a screen; `--json` has everything."""

    confusion_classes: int = 12  # classes in a confusion matrix
    nodes: int = 40  # nodes of a tree
    class_characters: int = 40  # characters for the classes of a hyperparameter
    hyperparameters: int = 12  # at the end of a fit
    names: int = 12  # entries of a list
    cell_characters: int = 80  # of a cell of a table


LIMITS = DisplayLimits()


def print_report(report: Report) -> None:
    """Overall scores, then scores per class and the confusion matrix, or scores on the class tree; or of numbers."""
    from rich.console import Console

    console = Console()
    if report.numbers is not None:
        console.print(_numbers(report.numbers))
    if report.scores is not None:
        console.print(_overall(report.scores))
    if report.label_sets is not None:
        _print_set_scores(report.label_sets, console)
    if report.tree is not None:
        _print_tree_scores(report.tree, console)
    if report.sequences is not None:
        console.print(_whole_sequences(report.sequences))
    if report.tree is None and report.scores is not None:
        console.print(_classes(report.scores))
        if len(report.scores.per_class) <= LIMITS.confusion_classes:
            console.print(_confusion(report.scores))


def report_record(report: Report) -> dict[str, Any]:
    """The report as plain JSON values."""
    record: dict[str, Any] = {} if report.numbers is None else asdict(report.numbers)
    if report.scores is not None:
        record |= asdict(report.scores)
        record["confusion"] = report.scores.confusion.tolist()
        record["classes"] = [entry.label for entry in report.scores.per_class]
    if report.label_sets is not None:
        record |= asdict(report.label_sets)
    if report.tree is not None:
        record["tree"] = tree_record(report.tree)
    if report.sequences is not None:
        record["sequences"] = asdict(report.sequences)
    return record


def print_hyperparameters(
    rows: Sequence[Mapping[str, Any]], at_most: int | None = None, stderr: bool = False
) -> None:
    """Print name, classes or outputs, value and start of each hyperparameter, up to a limit."""
    from rich.console import Console

    shown = rows[:at_most]
    owners = next((unit for unit in ("outputs", "labels") if any(unit in row for row in shown)), "classes")
    lines = ((row["name"], _cut(row[owners]), _digits(row["value"]), _digits(row["start"])) for row in shown)
    table = make_table("hyperparameters", ("name", owners), ("value", "start"), lines)
    if len(shown) < len(rows):
        table.caption, table.caption_justify = f"and {len(rows) - len(shown)} more: see `logikern info`", "left"
    Console(stderr=stderr).print(table)


def print_tree(model: Any) -> None:
    """The top of the class tree, if there is one, with the variance of each node."""
    tree = tree_of(model)
    if tree is not None:
        print(f"tree: {len(tree.labels)} nodes, {tree.n_classes} of them classes")
        print(render_tree(tree, {"variance": final_step(model).node_variances_}, LIMITS.nodes))


def make_table(title: str, texts: Iterable[str], numbers: Iterable[str], rows: Iterable[Iterable[str]]) -> Any:
    """A rich table with text columns, then number columns; cells are not read as markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for heading in texts:
        table.add_column(Text(shortened(heading)), overflow="fold")
    for heading in numbers:
        table.add_column(Text(shortened(heading)), justify="right")
    for row in rows:
        table.add_row(*(Text(shortened(cell)) for cell in row))
    return table


def shortened(text: str) -> str:
    """A cell without control characters, and with an ellipsis in place of the middle of a long text."""
    return (
        text
        if text.isprintable() and len(text) <= LIMITS.cell_characters
        else cut_middle(text, LIMITS.cell_characters)
    )


def _cut(text: str) -> str:
    return text if len(text) <= LIMITS.class_characters else text[: LIMITS.class_characters - 1] + "…"


def _digits(value: float | str | None) -> str:
    return "-" if value is None else f"{float(value):.4g}"


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _scores(title: str, scores: dict[str, str]) -> Any:
    return make_table(title, ["score"], ["value"], scores.items())


def _overall(scores: Scores) -> Any:
    found = scores.intervals
    values = {
        "log loss": _with_interval(found["log_loss"], ".4f"),
        "log loss of the class frequencies": (f"{scores.baseline_log_loss:.4f}", ""),
        "error": _with_interval(found["error"], ".2%"),
        "Brier score": _with_interval(found["brier_score"], ".4f"),
        "calibration error": (f"{scores.calibration_error:.4f}", ""),
    }
    return _intervals(f"{scores.rows} rows", values)


def _print_set_scores(scores: SetScores, console: Any) -> None:
    found = scores.intervals
    values = {
        "joint log loss": _with_interval(found["joint_log_loss"], ".4f"),
        "joint log loss of the label frequencies": (f"{scores.baseline_joint_log_loss:.4f}", ""),
        "Hamming loss": _with_interval(found["hamming_loss"], ".4f"),
        "subset error": _with_interval(found["subset_error"], ".2%"),
        "mean F1 per row": _with_interval(found["f1"], ".4f"),
    }
    console.print(_intervals(f"{scores.rows} rows", values))
    console.print(_table_of("labels", "label", scores.per_label))


def _numbers(scores: NumberScores) -> Any:
    values = {
        name: _with_interval(value, ".4g") if isinstance(value, Estimate) else (_digits(value), "")
        for name, value in named_scores(scores)
    }
    return _intervals(f"{scores.rows} rows", values)


def _whole_sequences(scores: SequenceScores) -> Any:
    values = {
        "error": _with_interval(scores.intervals["error"], ".2%"),
        "log loss": _with_interval(scores.intervals["log_loss"], ".4f"),
        "log loss per row": _with_interval(scores.intervals["log_loss_per_row"], ".4f"),
    }
    return _intervals(f"{scores.sequences} whole sequences", values)


def _intervals(title: str, scores: dict[str, tuple[str, str]]) -> Any:
    rows = ((name, *texts) for name, texts in scores.items())
    return make_table(title, ["score"], ["value", "95 % interval"], rows)


def _with_interval(found: Estimate, form: str) -> tuple[str, str]:
    return f"{found.value:{form}}", f"{found.low:{form}} to {found.high:{form}}"


def print_transitions(classifier: Any) -> None:
    """Scores of pairs of labels, and of first and last labels, if there are few labels."""
    from rich.console import Console

    labels = [str(label) for label in classifier.classes_]
    if len(labels) > LIMITS.confusion_classes:
        return
    table = [*zip(labels, classifier.transition_, classifier.end_, strict=True)]
    rows = [(label, *(f"{value:.2f}" for value in (*scores, last))) for label, scores, last in table]
    rows.append(("(first)", *(f"{value:.2f}" for value in classifier.start_), ""))
    Console().print(make_table("transition scores, from row to column", [""], [*labels, "(last)"], rows))


def _classes(scores: Scores) -> Any:
    return _table_of("classes", "class", scores.per_class)


def _table_of(title: str, unit: str, entries: Iterable[ClassScore | LabelScore]) -> Any:
    headings = ("rows", "mean probability", "recall", "precision", "log loss")
    rows = (
        (entry.label, str(entry.rows), f"{entry.mean_probability:.4f}")
        + tuple(map(_or_dash, (entry.recall, entry.precision, entry.log_loss)))
        for entry in entries
    )
    return make_table(title, [unit], headings, rows)


def _confusion(scores: Scores) -> Any:
    labels = [entry.label for entry in scores.per_class]
    rows = (
        (label, *(str(count) if count else "." for count in counts))
        for label, counts in zip(labels, scores.confusion, strict=True)
    )
    return make_table("true class (rows), predicted class (columns)", [""], labels, rows)


def _print_tree_scores(scores: TreeScores, console: Any) -> None:
    console.print(_tree_overall(scores))
    console.print(_levels(scores))
    nodes = {"rows": scores.nodes.true, "recall": scores.nodes.recall, "precision": scores.nodes.precision}
    # Not printed by rich, which would read brackets in labels as markup.
    print(render_tree(scores.tree, nodes, LIMITS.nodes))
    if scores.confused:
        console.print(_confused(scores))


def _tree_overall(scores: TreeScores) -> Any:
    inner = f", {scores.inner_rows} with inner nodes as targets" if scores.inner_rows else ""
    values = {
        "node log loss": f"{scores.log_loss:.4f}",
        "taxonomic loss": f"{scores.taxonomic_loss:.4f}",
        "parent accuracy": _or_dash(scores.parent_accuracy),
        "hierarchical F1": f"{scores.hierarchical_f1:.4f}",
        "mean reciprocal rank": _or_dash(scores.mean_reciprocal_rank),
    }
    return _scores(f"on the tree: {scores.rows} rows{inner}", values)


def _levels(scores: TreeScores) -> Any:
    levels = scores.levels
    columns = (levels.depth, levels.n_nodes, levels.accuracy, levels.log_loss)
    rows = ((str(depth), str(n), f"{hits:.4f}", f"{loss:.4f}") for depth, n, hits, loss in zip(*columns, strict=True))
    return make_table("levels", (), ("depth", "nodes", "accuracy", "log loss"), rows)


def _confused(scores: TreeScores) -> Any:
    tree, rows = scores.tree, []
    for pair in scores.confused:
        first, second = tree.place[pair.first], tree.place[pair.second]
        parent = tree.parents[first]
        names = ("the root" if parent == ROOT else path_text(parent, tree), short_name(first, tree))
        counts = (f"{pair.first_as_second:g}", f"{pair.second_as_first:g}", f"{pair.rate:.1%}")
        rows.append((*names, short_name(second, tree), *counts))
    headings = ("1st as 2nd", "2nd as 1st", "share")
    return make_table("most frequently confused siblings", ("parent", "first", "second"), headings, rows)
