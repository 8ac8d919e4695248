"""A fit that learns a tree of the classes and keeps it if it predicts better than independent classes."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.criteria.folds import Folds, folds_from_splits
from logikern.estimators._cells.fit import FitCells
from logikern.estimators._checkpoint import checkpoint_of
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.splits import GivenRows
from logikern.estimators._names.solvers import inner_solver
from logikern.estimators._parameters import Parameters
from logikern.estimators._plan import FitPlan, resolve
from logikern.estimators._run import FitReport, finish
from logikern.estimators._search import Tuned, search, search_data
from logikern.estimators._search_plan import SearchPlan
from logikern.estimators._subsets.cells import Subset
from logikern.estimators._subsets.outer import outer_rungs, parts_of
from logikern.estimators._subsets.rungs import Rung
from logikern.estimators._trees.clusters import cluster_classes
from logikern.estimators._trees.transfer import carry_to, start_on_tree
from logikern.fitting.problem import Problem
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import soft_maximum
from logikern.selection.judgement import Verdict, paired_gain
from logikern.selection.search import INTERRUPTED, Record
from logikern.structure.specification import Specification
from logikern.structure.tree import Tree

STAGE = "learned tree"


def run_with_tree(
    parameters: Parameters,
    plan: FitPlan,
    data: TrainingData,
    given: GivenRows,
    listeners: Any,
    fit_cells: FitCells,
) -> FitReport:
    """Search with independent classes, then with a tree of the classes that are confused; fit the better one."""
    assert plan.search is not None
    on_evaluation, on_step = listeners
    began = time.monotonic()
    flat = search(plan.search, plan.alternatives, data, on_evaluation)
    choice = _Choice(plan, data, flat)
    if flat.verdicts and not flat.stopped:
        settings = replace(parameters, checkpoint=checkpoint_of(parameters.checkpoint, 1))
        try:
            choice = _try_tree(settings, choice, given, on_evaluation, began)
        except KeyboardInterrupt:
            if not plan.search.keep_interrupted:
                raise
            choice = replace(choice, tuned=replace(flat, stopped=INTERRUPTED))
    return finish(choice.plan, choice.data, choice.tuned, on_step, fit_cells)


@dataclass(frozen=True, eq=False)
class _Choice:
    """A model with the plan of its fit."""

    plan: FitPlan
    data: TrainingData
    tuned: Tuned


def _try_tree(parameters: Parameters, flat: _Choice, given: GivenRows, on_evaluation: Any, began: float) -> _Choice:
    """The model with a tree, or the flat one with a verdict about the tree."""
    plan, data, tuned = flat.plan.search, flat.data, flat.tuned
    assert plan is not None and data.labels is not None
    confusions = _Confusions(plan, _largest_subset(plan), data, tuned)
    tree = confusions.cluster(confusions.rung)
    if tree is None:
        return _declined(flat, Verdict(STAGE, 0, tuned.value, 0.0, 0.0, False, "not better"), ())
    own = _in_order_of(tree, data)
    start = start_on_tree(tuned.specification, tuned.alternative.start, tree)
    alternatives = (replace(tuned.alternative, name="", start=start),)
    tree_plan = resolve(replace(parameters, hierarchy=tree), own, alternatives, given, flat.plan.resources)
    assert tree_plan.search is not None
    limit = None if plan.max_time is None else max(1e-3, plan.max_time - (time.monotonic() - began))
    # With the same seed, both searches see the same rows and folds.
    found = search(replace(tree_plan.search, max_time=limit), alternatives, own, _prefixed(on_evaluation, tuned))
    records = tuple(_numbered(record, tuned) for record in found.records)
    if found.stopped or not found.verdicts:
        return _Choice(flat.plan, data, replace(tuned, records=(*tuned.records, *records), stopped=found.stopped))
    gain, noise, n_rows = confusions.gain(found.specification)
    kept = gain > noise
    last = next(verdict for verdict in reversed(found.verdicts) if verdict.kept)
    fate = "better" if kept else "not better"
    name = f"{STAGE}, {last.stage}"
    verdict = Verdict(name, last.n_parameters, found.value, gain, noise, kept, fate, n_rows)
    if not kept:
        return _declined(flat, verdict, records)
    both = replace(found, verdicts=(*tuned.verdicts, verdict), records=(*tuned.records, *records))
    return _Choice(tree_plan, own, both)


def _declined(flat: _Choice, verdict: Verdict, records: tuple[Record, ...]) -> _Choice:
    tuned = flat.tuned
    told = replace(tuned, verdicts=(*tuned.verdicts, verdict), records=(*tuned.records, *records))
    return replace(flat, tuned=told)


def _numbered(record: Record, before: Tuned) -> Record:
    """A record of the second search, numbered after the first."""
    return replace(record, stage=f"tree, {record.stage}", evaluation=record.evaluation + len(before.records))


def _prefixed(on_evaluation: Any, before: Tuned) -> Any:
    return lambda record: on_evaluation(_numbered(record, before))


def _largest_subset(plan: SearchPlan) -> Rung:
    """The last random subset of a search; neighbourhoods have few of the classes each."""
    return [rung for rung in plan.rungs if isinstance(rung.subset, Subset)][-1]


def _in_order_of(tree: Tree, data: TrainingData) -> TrainingData:
    """The data with classes in the order of the leaves, which are sorted."""
    order = [data.classes.tolist().index(name) for name in tree.classes.tolist()]
    place = np.argsort(order)
    assert data.labels is not None
    return replace(
        data,
        targets=np.ascontiguousarray(data.targets[order]),
        classes=tree.classes,
        mixing=tree,
        labels=place[data.labels],
        row_labels=None if data.row_labels is None else place[data.row_labels],
    )


@dataclass(frozen=True, eq=False)
class _Confusions:
    """Trees from held-out rows of a subset, at the hyperparameters of independent classes."""

    plan: SearchPlan
    rung: Rung
    data: TrainingData
    flat: Tuned

    @property
    def specification(self) -> Specification:
        """The flat model in the units of the search."""
        return self.flat.specification.scaled(self.plan.unit)

    @property
    def weighed(self) -> TrainingData:
        return replace(self.data, weights=self.data.weights / self.plan.unit)

    def cluster(self, rung: Rung) -> Tree | None:
        """A tree of the classes, from the classes that are confused by fits to the folds of a subset."""
        data, rows, folds = self.weighed, rung.drawn.rows, self._folds(rung)
        points = rung.operator.points(self.flat.alternative.points(data.points[rows]))
        targets = np.ascontiguousarray(data.targets[:, rows])
        problem = Problem(self.specification.bind(points), data.likelihood, targets, folds.kept)
        solver = inner_solver(False, rung.conditioning, self.plan.seed, self.plan.effort.judging_tolerance)
        fold, point = np.nonzero(folds.held_out)
        latent = solver.fit(problem).latent[fold, :, point].T  # (C, held-out rows)
        probabilities = soft_maximum(latent).probabilities
        return cluster_classes(probabilities, targets[:, point] * folds.held_out[fold, point], data.classes)

    def _folds(self, rung: Rung) -> Folds:
        """The folds of a subset; for leave-one-out, its parts."""
        if rung.folds is not None:
            return rung.folds
        assert self.data.labels is not None
        rows = rung.drawn.rows
        part_of = parts_of(rung, self.data.labels[rows], self.plan.seed)
        splits = [(np.flatnonzero(part_of != part), np.flatnonzero(part_of == part)) for part in np.unique(part_of)]
        return folds_from_splits(splits, self.weighed.weights[rows])

    def gain(self, found: Specification) -> tuple[float, float, int]:
        """Gain of a tree over independent classes on each part of the rows, its noise, and the number of rows.

        Each part is predicted by fits to the others, with a tree of the classes that are confused among the others.
        """
        pairs = list(self._losses(found.scaled(self.plan.unit)))
        if not pairs:
            return 0.0, 0.0, 0
        before, after, weights = (np.concatenate(own) for own in zip(*pairs, strict=True))
        gain, noise = paired_gain(before, after, weights, np.arange(len(before)))
        return gain, noise, len(before)

    def _losses(self, found: Specification) -> Iterator[tuple[Array, Array, Array]]:
        """Losses of the rows of each part without and with a tree, and their weights."""
        assert self.data.labels is not None and isinstance(found.mixing, Tree)
        data = self.weighed
        ordered = replace(_in_order_of(found.mixing, data), weights=data.weights)
        for outer in outer_rungs(self.rung, self.data.labels, self.plan.seed):
            tree = self.cluster(outer)
            before = _unseen_losses(self.plan, outer, data, self.flat, self.specification)
            after = before
            if tree is not None:
                after = _unseen_losses(self.plan, outer, ordered, self.flat, carry_to(found, tree))
            if before is not None and after is not None:
                yield before, after, data.weights[outer.drawn.unseen]


def _unseen_losses(
    plan: SearchPlan, outer: Rung, data: TrainingData, flat: Tuned, model: Specification
) -> Array | None:
    unseen = search_data(plan, outer, data, flat.alternative).unseen
    assert unseen is not None
    return unseen.losses(model, None)
