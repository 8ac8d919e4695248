"""Scores of probabilities on a class tree."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.cli.reading.labels import joined
from logikern.decisions.tree_errors import NodeScores, SiblingConfusion, confused_siblings, node_scores
from logikern.decisions.tree_rules import decide_on_tree
from logikern.decisions.tree_scores import (
    LevelScores,
    hierarchical_f1,
    level_scores,
    mean_reciprocal_rank,
    node_log_loss,
    parent_accuracy,
    taxonomic_loss,
)
from logikern.structure.taxonomy import labels_of, lowest_equivalents, nodes_of
from logikern.structure.tree import Tree


@dataclass(frozen=True, eq=False)
class TreeScores:
    """Scores of the most probable classes and of node probabilities; targets may be inner nodes.

    `parent_accuracy` and `mean_reciprocal_rank` use the rows whose target is a class; None without such rows.
    """

    tree: Tree
    rows: int
    inner_rows: int
    log_loss: float
    taxonomic_loss: float
    hierarchical_f1: float
    parent_accuracy: float | None
    mean_reciprocal_rank: float | None
    levels: LevelScores
    nodes: NodeScores
    confused: tuple[SiblingConfusion, ...]


def score_on_tree(probabilities: np.ndarray, labels: np.ndarray, tree: Tree) -> TreeScores:
    """Scores of `probabilities` (n_points, n_classes), columns in the order of `tree.classes`."""
    decisions = labels_of(decide_on_tree(probabilities, tree).decisions, tree)
    nodes = lowest_equivalents(nodes_of(labels, tree), tree)
    labels, inner = labels_of(nodes, tree), tree.n_children[nodes] > 0
    some = not inner.all()
    return TreeScores(
        tree=tree,
        rows=len(labels),
        inner_rows=int(inner.sum()),
        log_loss=node_log_loss(labels, probabilities, tree),
        taxonomic_loss=taxonomic_loss(labels, decisions, tree),
        hierarchical_f1=hierarchical_f1(labels, decisions, tree),
        parent_accuracy=parent_accuracy(labels[~inner], decisions[~inner], tree) if some else None,
        mean_reciprocal_rank=mean_reciprocal_rank(labels[~inner], probabilities[~inner], tree) if some else None,
        levels=level_scores(labels, probabilities, tree),
        nodes=node_scores(labels, decisions, tree),
        confused=tuple(confused_siblings(labels, decisions, tree)),
    )


def tree_record(scores: TreeScores) -> dict[str, Any]:
    """The scores as plain JSON values."""
    names = ("rows", "inner_rows", "log_loss", "taxonomic_loss", "hierarchical_f1", "parent_accuracy")
    levels = {name: getattr(scores.levels, name).tolist() for name in ("depth", "n_nodes", "accuracy", "log_loss")}
    return {
        **{name: getattr(scores, name) for name in (*names, "mean_reciprocal_rank")},
        "levels": [dict(zip(levels, row, strict=True)) for row in zip(*levels.values(), strict=True)],
        "confused_siblings": [_confusion_record(pair) for pair in scores.confused],
    }


def _confusion_record(pair: SiblingConfusion) -> dict[str, Any]:
    return {
        "parent": joined(pair.parent),
        "first": joined(pair.first),
        "second": joined(pair.second),
        "first_as_second": pair.first_as_second,
        "second_as_first": pair.second_as_first,
        "rate": pair.rate,
    }
