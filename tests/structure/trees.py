"""Trees over a few classes. A new shape is one more row here."""

from typing import Any

from logikern.structure.tree import ROOT, Tree


def tree(nested: tuple[Any, ...]) -> Tree:
    """From nested tuples: a number is a class, a tuple an inner node, the outermost one the root."""
    labels: list[Any] = []
    parents: list[int] = []

    def grow(children: tuple[Any, ...], parent: int) -> None:
        for child in children:
            parents.append(parent)
            labels.append(child if isinstance(child, int) else f"node {len(labels)}")
            if isinstance(child, tuple):
                grow(child, len(labels) - 1)

    grow(nested, ROOT)
    return Tree(tuple(labels), tuple(parents))


TREES = {
    "balanced": tree(((0, 1), (2, 3))),
    "ragged": tree(((0, 1), 2)),
    "chain": tree((3, (1, (2, 0)))),
    "without siblings": tree((((0, (1, 2)),), (3,))),
    "of depth one": tree((2, 0, 1)),
    "of two": tree((0, 1)),
}
