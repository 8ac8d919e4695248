"""`--hierarchy`: the class tree from the target or a file, and labels as its nodes."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from logikern.cli.reading.cells import count, levels, name_list, row_names
from logikern.cli.reading.labels import as_integers, class_labels, suspect_measurements
from logikern.cli.reading.sources import FORMATS, Reading, Source, open_source
from logikern.cli.reading.tables import read_table, refuse_duplicates
from logikern.cli.session.messages import Messages
from logikern.estimators._inputs.hierarchy import describe_mergers
from logikern.structure import links
from logikern.structure.hierarchy import grow
from logikern.structure.taxonomy import lowest_equivalents, nodes_of, short_name
from logikern.structure.tree import Tree, as_labels

AUTO, NONE = "auto", "none"
CHILD, PARENT = "child", "parent"
SEPARATORS = ",;\t|"


@dataclass(frozen=True)
class Labelled:
    """The labels of all points, (n_points,): classes, or nodes of the tree if there is one."""

    labels: np.ndarray
    tree: Tree | None


def check_hierarchy(given: str) -> None:
    """Reject values that are neither a name nor a file, before any work."""
    if given not in (AUTO, NONE) and not Path(given).is_file():
        raise typer.BadParameter(
            f"`--hierarchy` must be {AUTO!r}, {NONE!r} or a file with the columns `{CHILD}` and `{PARENT}`, but "
            f"there is no file `{given}`."
        )


def read_labels(target: pd.Series, hierarchy: str, encoding: str | None, messages: Messages) -> Labelled:
    """The target as classes, or as nodes of the tree."""
    tree = None if hierarchy == NONE else _tree(target, hierarchy, encoding, messages)
    if tree is None:
        labels = class_labels(target)
        suspicion = suspect_measurements(target, labels)
        if suspicion is not None:
            messages.warn(suspicion)
        if hierarchy == NONE and all(links.SEPARATOR in str(label) for label in labels):
            messages.info(
                f"the target has paths such as {str(labels[0])!r}: pass `--hierarchy auto` to use their tree"
            )
        return Labelled(labels, None)
    spelled, nodes = levels(target).astype(str), {str(label): label for label in tree.labels}
    _require_nodes(target, spelled, nodes, hierarchy)
    labels = as_labels([nodes[label] for label in spelled.tolist()])
    _describe(tree, labels, messages)
    told = describe_mergers(tree, nodes_of(labels, tree)) if hierarchy == AUTO else ""
    if told:
        messages.warn(told)
    return Labelled(labels, tree)


def path_text(node: int, tree: Tree) -> str:
    """The path from the top to a node: `science/physics/optics`."""
    return links.SEPARATOR.join(short_name(upper, tree) for upper in tree.path(node))


def _tree(target: pd.Series, hierarchy: str, encoding: str | None, messages: Messages) -> Tree | None:
    if hierarchy != AUTO:
        return tree_of_file(hierarchy, encoding)
    name = f"the target `{target.name}`"
    paths = dict.fromkeys(levels(target).astype(str))
    if not any(links.SEPARATOR in path for path in paths):
        messages.warn(
            f"{name} has no paths such as 'science/physics': its {len(paths)} classes are fitted without a tree. "
            "To use a tree, pass `--hierarchy FILE` with their parents."
        )
        return None
    return grow(links.Reading(f"{name}, read as paths,", links.from_paths(paths, name)))


def tree_of_file(path: str, encoding: str | None) -> Tree:
    """The tree of a table with the columns `child` and `parent`."""
    is_known = any(suffix.lower() in FORMATS for suffix in Path(path).suffixes)
    source = open_source(path, None if is_known else "csv")
    if source.format == "svmlight":
        raise ValueError(f"`{path}` is svmlight, but must be a table with the columns `{CHILD}` and `{PARENT}`.")
    names, separator = _header(source, encoding)
    # A node may be called "NA", so only empty fields are missing.
    table = read_table(source, Reading(encoding=encoding, separator=separator), names, missing=("",))
    table = table.rename(columns=str.lower)
    refuse_duplicates(table.columns, source)
    lacking = [name for name in (CHILD, PARENT) if name not in table.columns]
    if lacking:
        raise ValueError(
            f"`{path}` must have the columns `{CHILD}` and `{PARENT}` and a row for each node, but lacks "
            f"{name_list(lacking)}; it has {name_list(table.columns)}. Name the columns in the first line, "
            "separated by commas."
        )
    nameless = np.flatnonzero(table[CHILD].isna())
    if len(nameless):
        raise ValueError(f"`{path}` has no `{CHILD}` in {row_names(nameless)}. Fill it in, or drop the row.")
    return grow(links.Reading(f"`{path}`", _links(table)))


def _header(source: Source, encoding: str | None) -> tuple[list[str], str | None]:
    """Column names and separator of a text file; the usual names for other formats."""
    if source.format in ("csv", "tsv"):
        first = source.text(encoding).lstrip().splitlines()[0]
        for separator in SEPARATORS:
            names = [name.strip(' "') for name in first.split(separator)]
            if {CHILD, PARENT} <= set(map(str.lower, names)):
                return names, separator
    return [CHILD, PARENT], None


def _links(table: pd.DataFrame) -> Iterator[links.Link]:
    """Links from the table; labels are integers if all are spelled as integers."""
    top = table[PARENT].isna().to_numpy(dtype=bool)
    children, parents = levels(table[CHILD]), levels(table[PARENT])[~top]
    named = as_integers(np.concatenate([children, parents])).tolist()
    above = iter(named[len(children) :])
    for child, is_top in zip(named, top, strict=False):
        yield child, None if is_top else next(above)


def _require_nodes(target: pd.Series, labels: np.ndarray, nodes: dict[str, links.Label], hierarchy: str) -> None:
    unknown = np.flatnonzero([label not in nodes for label in labels.tolist()])
    if not len(unknown):
        return
    first = str(labels[unknown[0]])
    own = np.flatnonzero(labels == first)
    near = difflib.get_close_matches(first, nodes, n=3)
    meant = " or ".join(f"`{node}`" for node in near)
    advice = f"Did you mean {meant}?" if near else f"Add it with its parent to `{hierarchy}`."
    raise ValueError(
        f"the target `{target.name}` holds {first!r} in {row_names(target.index[own])}, but `{hierarchy}` has no "
        f"such node. {advice}"
    )


def _describe(tree: Tree, labels: np.ndarray, messages: Messages) -> None:
    messages.info(
        f"tree: {count(len(tree.labels), 'node')} in {count(int(tree.depths.max()), 'level')}; "
        f"{tree.n_classes} of the nodes are classes"
    )
    nodes = lowest_equivalents(nodes_of(labels, tree), tree)
    n_inner = int(np.count_nonzero(tree.n_children[nodes]))
    if n_inner:
        messages.info(f"{count(n_inner, 'row')} with an inner node as target")
    empty = [tree.labels[node] for node in np.setdiff1d(tree.leaves, nodes)]
    if empty:
        messages.info(f"classes without rows: {name_list(empty, 3)}")
