"""A tree of the classes, learned from the classes that a model confuses."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from logikern.estimators._inputs.data import FEWEST_LEAVES
from logikern.numerics.outcome import Array, Indices
from logikern.structure.tree import ROOT, Tree

# Smaller probabilities are replaced by this one, so that single rows do not dominate a mean of logarithms.
SMALLEST_PROBABILITY = 1e-12


@dataclass(frozen=True)
class ClusterPolicy:
    """Form of a learned tree."""

    # Classes from which a tree has two levels of groups instead of one: with about C^(1/3) and C^(2/3) groups, and
    # C^(1/2) groups of fewer classes. The search learns a variance per level, so a level too many does little harm.
    two_levels_from: int = 27
    named: int = 3  # classes in the name of a group


USUAL = ClusterPolicy()


def cluster_classes(
    probabilities: Array, targets: Array, classes: Array, policy: ClusterPolicy = USUAL
) -> Tree | None:
    """A tree in which classes that are confused are siblings; None if there is no such tree.

    Parameters
    ----------
    probabilities : array of shape (C, n)
        Probabilities of held-out rows.
    targets : array of shape (C, n)
        Their distributions over the classes, times their weights.
    classes : array of shape (C,)
    policy : ClusterPolicy

    The profile of a class consists of the mean log probabilities of all classes in rows of this class, and of this
    class in rows of all classes. Classes with similar profiles are joined by Ward's method. A profile is less noisy
    than the few confusions of two classes with each other.
    """
    if len(classes) < FEWEST_LEAVES or probabilities.shape[1] == 0:
        return None
    profiles = _profiles(probabilities, targets)
    if not np.ptp(profiles, axis=0).any():
        return None
    joined = linkage(profiles, "ward")
    levels = [fcluster(joined, count, "maxclust") for count in _group_counts(len(classes), policy)]
    return _as_tree(levels, classes, policy)


def _profiles(probabilities: Array, targets: Array) -> Array:
    """Symmetrised mean log probabilities between classes, with rows of mean zero and norm one, (C, C).

    The diagonal, how well a class is recognised, is replaced by the largest other entry of its row.
    """
    logs = np.log(np.maximum(probabilities, SMALLEST_PROBABILITY))
    totals = targets.sum(axis=1, keepdims=True)
    means = targets @ logs.T / np.where(totals > 0, totals, 1.0)  # of class d over rows of class c, (C, C)
    means -= means.mean(axis=1, keepdims=True)
    between = 0.5 * (means + means.T)
    np.fill_diagonal(between, -np.inf)
    np.fill_diagonal(between, between.max(axis=1))
    between -= between.mean(axis=1, keepdims=True)
    return np.asarray(between / np.maximum(np.linalg.norm(between, axis=1, keepdims=True), 1e-300))


def _group_counts(n_classes: int, policy: ClusterPolicy) -> list[int]:
    """Number of groups on each level, from the top."""
    powers = (1 / 3, 2 / 3) if n_classes >= policy.two_levels_from else (1 / 2,)
    return [max(2, round(n_classes**power)) for power in powers]


def _as_tree(levels: list[Indices], classes: Array, policy: ClusterPolicy) -> Tree | None:
    """The tree of nested groups; None if no group is left.

    `levels` holds, for each level, the number of each class's group, (C,). Groups that contain only one class, or
    the same classes as their parent, are left out. A group has a name such as "group 1: a, b", which differs from
    the names of all classes.
    """
    leaves: list[Any] = classes.tolist()
    labels: list[str] = []
    parents: list[int] = []
    above = np.full(len(leaves), ROOT)  # last node on the path to each class so far
    whole = np.zeros(len(leaves), dtype=np.intp)
    for level in levels:
        for group in np.unique(level):
            members = np.flatnonzero(level == group)
            if 1 < len(members) < np.count_nonzero(whole == whole[members[0]]):
                name = _name(len(labels) + 1, [leaves[place] for place in members], policy)
                parents.append(int(above[members[0]]))
                labels.append(f"{name} (group)" if name in leaves else name)
                above[members] = len(labels) - 1
        whole = level
    return Tree((*labels, *leaves), (*parents, *above.tolist())) if labels else None


def _name(number: int, members: list[Any], policy: ClusterPolicy) -> str:
    more = len(members) - policy.named
    shown = ", ".join(map(str, members[: policy.named]))
    return f"group {number}: {shown}{f' and {more} more' if more > 0 else ''}"
