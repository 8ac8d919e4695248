"""Classes of a tree one after the other, as its branches have them."""

from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Indices


class ClassOrder(NamedTuple):
    """Classes in an order in which those below any latent function follow one another.

    Attributes
    ----------
    classes : integer array of shape (C,)
    paths : list of lists
        Of each class, in this order, the latent functions from the top to its own.
    below : dict
        From a latent function that has others below it to the places of its classes.
    inner : list of lists
        These functions from the bottom up, a list for each at the top.
    """

    classes: Indices
    paths: list[list[int]]
    below: dict[int, slice]
    inner: list[list[int]]


def order_classes(links: list[tuple[int, int]], leaf_latents: Indices) -> ClassOrder:
    """By their paths."""
    upward = dict(links)
    paths = []
    for leaf in leaf_latents:
        path = [int(leaf)]
        while path[-1] in upward:
            path.append(upward[path[-1]])
        paths.append(path[::-1])
    classes = sorted(range(len(paths)), key=lambda index: paths[index])
    paths = [paths[index] for index in classes]
    below: dict[int, slice] = {}
    for place, path in enumerate(paths):
        for number in path[:-1]:
            below[number] = slice(below[number].start if number in below else place, place + 1)
    inner: dict[int, set[int]] = {}
    for path in paths:
        inner.setdefault(path[0], set()).update(path[:-1])
    return ClassOrder(np.array(classes), paths, below, [sorted(own, reverse=True) for own in inner.values() if own])
