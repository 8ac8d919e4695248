"""Parts of a subset that are kept from a search, so that they can judge what it learns from the rest."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from logikern.criteria.folds import Folds
from logikern.estimators._subsets.cells import Subset
from logikern.estimators._subsets.rungs import Rung
from logikern.numerics.outcome import Indices


@dataclass(frozen=True)
class OuterPolicy:
    """How many parts there are."""

    n_parts: int = 5  # as many as folds by default, so that a part is a fold


USUAL = OuterPolicy()


def outer_rungs(rung: Rung, labels: Indices, seed: int, policy: OuterPolicy = USUAL) -> Iterator[Rung]:
    """The rung without each of its parts, whose rows become unseen rows.

    Parameters
    ----------
    rung : Rung
        A random subset; neighbourhoods have no parts.
    labels : integer array of shape (n,)
        Classes of all training points, by which parts are stratified if there are no folds.
    seed : int
    policy : OuterPolicy
    """
    subset = rung.drawn
    if subset.n_cells > 1:
        return
    part_of = parts_of(rung, labels[subset.rows], seed, policy)
    for part in range(policy.n_parts):
        held, kept = np.flatnonzero(part_of == part), np.flatnonzero(part_of != part)
        if not len(held) or not len(kept):
            continue
        own = Subset(subset.rows[kept], np.array([0, len(kept)]), subset.rows[held])
        groups = None if rung.groups is None else rung.groups[kept]
        folds = None if rung.folds is None else _folds_at(rung.folds, kept)
        if folds is None or len(folds.kept):
            yield replace(rung, subset=own, folds=folds, groups=groups)


def _folds_at(folds: Folds, rows: Indices) -> Folds:
    """The folds of some rows, without folds that would keep no row or hold out no row."""
    kept, held_out = folds.kept[:, rows], folds.held_out[:, rows]
    usable = (kept > 0).any(axis=1) & (held_out > 0).any(axis=1)
    return Folds(kept[usable], held_out[usable])


def parts_of(rung: Rung, labels: Indices, seed: int, policy: OuterPolicy = USUAL) -> Indices:
    """The part of each row, (n,): its fold, or for leave-one-out its group or a random part of its class.

    Rows that no fold holds out belong to no part (-1). `labels` are the classes of the rows, (n,).
    """
    n_parts = policy.n_parts
    if rung.folds is not None:
        is_held = rung.folds.held_out > 0
        return np.where(is_held.any(axis=0), is_held.argmax(axis=0) % n_parts, -1)
    order = np.random.default_rng(seed).permutation(len(labels))
    if rung.groups is not None:
        numbers = np.unique(rung.groups, return_inverse=True)[1]
        return order[numbers] % n_parts
    place = np.empty(len(labels), dtype=np.intp)
    place[order[np.argsort(labels[order], kind="stable")]] = np.arange(len(labels))
    return place % n_parts
