"""Classes in random trees, with labels that may name inner nodes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from logikern import KernelLogisticClassifier, Tree
from tests.fuzz.checks import Checks
from tests.fuzz.fits import draw_settings, draw_variances
from tests.fuzz.judging import Problem, judge_fit, seen_by
from tests.fuzz.kernels import draw_kernel
from tests.fuzz.labels import draw_weights
from tests.fuzz.tables import Inputs, Random, draw_inputs
from tests.reference.criteria import held_out_loss, one_step_without
from tests.reference.model import Model
from tests.reference.newton import softmax_optimum
from tests.reference.reading import read_model
from tests.reference.softmax import softmax
from tests.reference.tree import ROOT, below, children, latent_nodes, latent_paths, leaves
from tests.reference.tying import tie_nodes

N_NEW = 8


@dataclass(frozen=True, eq=False)
class Shape:
    """Nodes with parents before children, -1 for the root."""

    labels: tuple[Any, ...]
    parents: tuple[int, ...]

    @property
    def leaves(self) -> list[int]:
        return leaves(self.labels, self.parents)

    @property
    def classes(self) -> list[Any]:
        return [self.labels[node] for node in self.leaves]


def draw_shape(random: Random, n_leaves: int) -> Shape:
    """A tree that grows by giving children to leaves; some nodes have a single child."""
    parents: list[int] = [ROOT] * int(random.integers(1, 4))
    while True:
        ends = [node for node in range(len(parents)) if node not in parents]
        if len(ends) >= max(n_leaves, 2):
            break
        chosen = int(random.choice(ends))
        parents += [chosen] * int(random.choice([1, 2, 2, 3]))
    names = random.permutation(len(parents)).tolist()
    labels = tuple(f"node {name:02d}" for name in names) if random.random() < 0.7 else tuple(names)
    return Shape(labels, tuple(parents))


def given_tree(random: Random, shape: Shape) -> Any:
    """One of the forms that a hierarchy is read from."""
    kind = random.integers(3)
    links = [(label, None if parent == ROOT else shape.labels[parent]) for label, parent in _pairs(shape)]
    if kind == 0:
        return Tree(shape.labels, shape.parents)
    return dict(links) if kind == 1 else links


def _pairs(shape: Shape) -> list[tuple[Any, int]]:
    return list(zip(shape.labels, shape.parents, strict=True))


def fit_tree(random: Random, checks: Checks) -> None:
    """Fixed hyperparameters, against the reference's sums over paths."""
    shape = draw_shape(random, int(random.integers(2, 8)))
    n_classes = len(shape.leaves)
    n = int(random.integers(4, max(6, min(60, 400 // n_classes))))
    inputs = draw_inputs(random, n, N_NEW)
    nodes = _draw_nodes(random, shape, n, coarse=random.random() < 0.35)
    inside = below(shape.labels, shape.parents)[nodes].T  # (C, n)
    weights = draw_weights(random, inside)
    drawn = draw_kernel(random, inputs)
    tying = _draw_tying(random, shape)
    _, variance_of = tie_nodes(tying, shape.labels, shape.parents)
    variances = draw_variances(random, inputs, drawn.matrix, int(variance_of.max()) + 1) / 2
    paths = latent_paths(shape.labels, shape.parents)
    bias = float(random.choice([16.0, 0.0, 1.0]))
    model = Model((drawn.matrix,), np.zeros(paths.shape[1], int), variances[variance_of], paths, bias)
    coarse = bool((inside.sum(axis=0) > 1).any())
    settings = draw_settings(random, n_classes) | drawn.arguments
    if coarse and settings.get("solver") == "smo":
        del settings["solver"]
    settings |= {"tying": tying, "variance": variances.tolist(), "bias_variance": bias}
    told = f"[{inputs.form}, {n} rows, {shape}, {'coarse, ' if coarse else ''}{settings}]"
    given = given_tree(random, shape)
    if not isinstance(given, Tree) and not isinstance(tying, str | dict):
        given = Tree(shape.labels, shape.parents)  # a list has the order of the nodes
    # Variances are numbered in the order of the nodes, which reading a tree may change.
    given = Tree(shape.labels, shape.parents) if len(variances) > 1 else given
    estimator = KernelLogisticClassifier(criterion=None, hierarchy=given, random_state=0, **settings)
    with checks.quiet("tree"):
        estimator.fit(inputs.given, _given_labels(random, shape, nodes), sample_weight=weights)
    checks.that("tree: classes are the leaves", estimator.classes_.tolist() == shape.classes, told)
    problem = _problem(model, inputs, inside, weights)
    judge_fit(checks, estimator, problem, told)
    _judge_nodes(checks, estimator, shape, inputs.given_new, told)
    if not coarse and problem.targets.size <= 80 and "precision" not in settings and not inputs.is_single:
        _judge_left_out(checks, estimator, problem, told)


def search_tree(random: Random, checks: Checks) -> None:
    """A search, and its criterion by refits."""
    shape = draw_shape(random, int(random.integers(2, 5)))
    n = int(random.integers(12, 40))
    inputs = draw_inputs(random, n, N_NEW, plain=True)
    nodes = _draw_nodes(random, shape, n, coarse=False)
    inside = below(shape.labels, shape.parents)[nodes].T
    folds = np.array_split(random.permutation(n), 3)
    splits = [(np.sort(np.concatenate(folds[:f] + folds[f + 1 :])), np.sort(folds[f])) for f in range(3)]
    tying = str(random.choice(["auto", "shared", "level", "separate"]))
    told = f"[{inputs.form}, {n} rows, {shape}, tying {tying}]"
    estimator = KernelLogisticClassifier(
        hierarchy=Tree(shape.labels, shape.parents), tying=tying, cv=splits, ard=False, random_state=0
    )
    with checks.quiet("tree"):
        estimator.fit(inputs.given, [shape.labels[node] for node in nodes])
    inputs = seen_by(estimator, inputs, None)
    problem = _problem(read_model(estimator.model_.specification), inputs, inside, None)
    judge_fit(checks, estimator, problem, told)
    if np.isfinite(estimator.criterion_value_):
        wanted = held_out_loss(problem.model, problem.points, problem.targets, problem.weights, splits)
        within = 2e-3 * (1 + wanted)  # inner fits end at a gradient of 1e-4
        checks.close("tree: cross-validated loss", estimator.criterion_value_, wanted, within, told)


def _problem(model: Model, inputs: Inputs, inside: np.ndarray, weights: np.ndarray | None) -> Problem:
    own = np.ones(inside.shape[1]) if weights is None else weights
    kept = np.flatnonzero(own > 0)
    hard = inside[:, kept] / inside[:, kept].sum(axis=0)
    coarse = bool((inside.sum(axis=0) > 1).any())
    return Problem(model, inputs, kept, hard, own[kept], inside[:, kept] if coarse else None)


def _given_labels(random: Random, shape: Shape, nodes: np.ndarray) -> Any:
    """Labels in a list or an array, or a table with a column per node."""
    kind = random.integers(4)
    if kind == 0:
        table = np.eye(len(shape.labels))[nodes]
        columns = random.permutation(len(shape.labels))
        return pd.DataFrame(table[:, columns], columns=[shape.labels[node] for node in columns])
    labels = [shape.labels[node] for node in nodes]
    return np.array(labels) if kind == 1 else labels


def _judge_left_out(checks: Checks, estimator: Any, problem: Problem, told: str) -> None:
    """For each row, one Newton step without it, from the optimum; the fit must have converged."""
    if estimator.newton_trace_[-1].gradient_norm > 1e-6:
        return
    fit = softmax_optimum(problem.model, problem.points, problem.targets, problem.weights)
    wanted = softmax(one_step_without(fit, problem.weights)).T
    checks.close("tree: one Newton step without a row", estimator.loo_proba_[problem.kept], wanted, 1e-4, told)


def _draw_nodes(random: Random, shape: Shape, n: int, coarse: bool) -> np.ndarray:
    """Labelled nodes; classes may have no rows, but at least two of them have some."""
    ends = shape.leaves
    shares = random.dirichlet(np.ones(len(ends)))
    nodes = random.choice(ends, n, p=shares)
    nodes[:2] = ends[:2]
    if coarse:
        inner = [node for node in range(len(shape.parents)) if children(shape.parents, node)]
        chosen = random.random(n) < 0.3
        chosen[:2] = False
        nodes[chosen] = random.choice(inner, chosen.sum()) if inner else nodes[chosen]
    return nodes


def _draw_tying(random: Random, shape: Shape) -> Any:
    kind = str(random.choice(["shared", "level", "subtree", "scaled", "separate", "dict"]))
    if kind != "dict":
        return kind
    named = {label: str(random.choice(["x", "y"])) for label, parent in _pairs(shape) if parent == ROOT}
    for node in latent_nodes(shape.parents):
        if random.random() < 0.3:
            named[shape.labels[node]] = str(random.choice(["x", "y", "z"]))
    return named


def _judge_nodes(checks: Checks, estimator: Any, shape: Shape, rows: Any, told: str) -> None:
    """Probabilities of nodes are sums over the leaves below; paths lead to the most probable leaf."""
    proba = estimator.predict_proba(rows)
    tree = estimator.tree_
    inside = below(tree.labels, tree.parents)
    checks.close("tree: nodes are sums of leaves", estimator.predict_node_proba(rows), proba @ inside.T, 1e-6, told)
    ends = [path[-1] for path in estimator.predict_paths(rows)]
    checks.that("tree: paths end in the most probable leaf", ends == estimator.predict(rows).tolist(), told)
