"""`--label`: columns that say whether a row has a label."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import typer

from logikern.cli.reading.cells import count, levels, numbers, show_wrong
from logikern.cli.reading.hierarchy import AUTO, NONE, tree_of_file
from logikern.cli.reading.labels import missing_targets
from logikern.cli.session.messages import Messages
from logikern.estimators.multilabel._trees import node_indicators
from logikern.structure.hierarchy import read_tree
from logikern.structure.links import SEPARATOR
from logikern.structure.tree import Tree

LABELS = "labels"  # note in a model file: the columns as JSON
PRESENT, ABSENT = ("yes", "true"), ("no", "false")


@dataclass(frozen=True)
class LabelledSets:
    """Which labels each row has, (n, L), with the names of the labels."""

    indicator: np.ndarray
    names: tuple[Any, ...]
    tree: Tree | None = None  # whose nodes are the labels


def missing_labels(table: pd.DataFrame, names: Sequence[str], drop: bool) -> np.ndarray:
    """Which rows lack the value of a label; without `drop` such a row is an error."""
    return np.any([missing_targets(table[name], drop) for name in names], axis=0)


def dropped_note(missing: np.ndarray, of_labels: bool) -> str:
    """A sentence about rows that `--drop-missing-target` dropped; empty if there are none."""
    n_dropped = int(missing.sum())
    why = "with a missing value in a label column" if of_labels else "without a target"
    return f"dropped {count(n_dropped, 'row')} {why}" if n_dropped else ""


def read_label_sets(table: pd.DataFrame, hierarchy: str, encoding: str | None, messages: Messages) -> LabelledSets:
    """The columns as labels, or as nodes of a tree; nodes without a column of their own are added."""
    frame = pd.DataFrame({name: _presence(table[name]) for name in table.columns})
    tree = None if hierarchy == NONE else _tree(frame, hierarchy, encoding, messages)
    if tree is None:
        return LabelledSets(frame.to_numpy(), tuple(frame.columns))
    frame = frame.rename(columns={str(label): label for label in tree.labels})
    _require_nodes(frame, tree, hierarchy)
    levels_ = count(int(tree.depths.max()), "level")
    messages.info(f"tree: {count(len(tree.labels), 'label')} in {levels_}; the ancestors of labels are added")
    return LabelledSets(node_indicators(frame, tree).to_numpy(), tree.labels, tree)


def _presence(column: pd.Series) -> np.ndarray:
    """1 or 0 for each row, from any spelling."""
    spelled, values = np.char.lower(levels(column).astype(str)), numbers(column)
    present, absent = np.isin(spelled, PRESENT) | (values == 1), np.isin(spelled, ABSENT) | (values == 0)
    wrong = np.flatnonzero(~(present | absent))
    if len(wrong):
        raise ValueError(
            f"the label `{column.name}` must hold 0 or 1, no or yes, or false or true, but has "
            f"{show_wrong(column, wrong)}. Correct these values; for a column "
            "of classes, use `--target`."
        )
    return present.astype(np.int64)


def _tree(frame: pd.DataFrame, hierarchy: str, encoding: str | None, messages: Messages) -> Tree | None:
    if hierarchy != AUTO:
        return tree_of_file(hierarchy, encoding)
    if not any(SEPARATOR in name for name in frame.columns):
        messages.warn(
            "no label is a path such as 'art/music': labels are fitted without a tree. To use a tree, pass "
            "`--hierarchy FILE` with their parents."
        )
        return None
    return read_tree("paths", list(frame.columns))


def _require_nodes(frame: pd.DataFrame, tree: Tree, hierarchy: str) -> None:
    unknown = [name for name in frame.columns if name not in tree.place]
    if unknown:
        raise ValueError(
            f"the label `{unknown[0]}` is not a node of `{hierarchy}`. Add it with its parent, or rename the column."
        )
    lacking = [tree.labels[leaf] for leaf in tree.leaves if tree.labels[leaf] not in frame.columns]
    if lacking:
        raise ValueError(
            f"`{hierarchy}` has the leaf {str(lacking[0])!r}, but no `--label` names it. Add the column, or remove "
            "the leaf."
        )


def known_label_sets(classifier: Any, table: pd.DataFrame) -> np.ndarray:
    """Which of the labels of a model each row has, (n, L); columns are labels."""
    frame = pd.DataFrame({name: _presence(table[str(name)]) for name in _named(classifier, table)})
    tree = vars(classifier).get("tree_")
    if tree is not None:
        frame = node_indicators(frame, tree)
    return frame[classifier.classes_.tolist()].to_numpy()


def _named(classifier: Any, table: pd.DataFrame) -> list[Any]:
    return [name for name in classifier.classes_.tolist() if str(name) in table.columns]


def label_columns(classifier: Any, notes: dict[str, str]) -> list[str]:
    """The columns of the labels: the same as in the fit, or all labels of a model that was fitted in Python."""
    known = [str(name) for name in classifier.classes_]
    try:
        found = json.loads(notes.get(LABELS, ""))
    except json.JSONDecodeError:
        return known
    return [name for name in found if name in known] if isinstance(found, list) else known


def refuse_both(target: str | None, labels: Sequence[str]) -> None:
    """Raise if a target and labels are named."""
    if target is not None and labels:
        raise typer.BadParameter(
            "`--target` names a column of classes, and `--label` names columns of labels: pass only one of them."
        )
