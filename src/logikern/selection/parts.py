"""Gains on parts of the rows that took no part in the choice of a model."""

from collections.abc import Callable

import numpy as np

from logikern.selection.judgement import paired_gain
from logikern.selection.search import SearchData, SearchLog
from logikern.structure.specification import Specification


def gain_without_parts(
    rung: SearchData,
    before: Specification,
    learn: Callable[[SearchData, int], Specification | None],
    log: SearchLog,
) -> tuple[float, float, int] | None:
    """Mean gain, its noise, and the number of rows; each part of the rows judges what `learn` finds on the others.

    With few rows per class, loadings and trees overfit the rows that they are learned on, and their gain there says
    little. A part for which nothing is found has gain zero. None if there are no parts, or if the search ended.
    """
    pairs, weights, warm_start = [], [], log.warm_start
    for number, outer in enumerate(rung.without_parts()):
        assert outer.unseen is not None
        log.warm_start = None  # it belongs to other rows
        found = learn(outer, number)
        if log.stopped:
            break
        models = (before, before if found is None else found)
        losses = [log.judge(outer.unseen, model, outer.n_points) for model in models]
        usable = [own for own in losses if own is not None]
        if len(usable) < len(models):
            break
        pairs.append(np.stack(usable))
        weights.append(outer.unseen.weights)
    log.warm_start = warm_start
    if log.stopped or not pairs:
        return None
    together = np.concatenate(pairs, axis=1)
    points = np.arange(together.shape[1])
    gain, noise = paired_gain(together[0], together[1], np.concatenate(weights), points)
    return gain, noise, len(points)
