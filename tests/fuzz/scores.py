"""Decisions and scores of random probabilities."""

from typing import Any

import numpy as np

import logikern
from logikern.decisions.metrics import brier_score, calibration_error
from logikern.decisions.rules import decide
from logikern.decisions.tree_errors import confused_siblings
from logikern.decisions.tree_scores import level_scores
from tests.fuzz.checks import Checks
from tests.fuzz.labels import draw_names
from tests.fuzz.tables import Random
from tests.fuzz.trees import Shape, draw_shape
from tests.reference import decisions as reference
from tests.reference.tree import path


def draw_proba(random: Random, n: int, n_classes: int) -> np.ndarray:
    """Distributions, some of them with ties, zeros or certainty."""
    proba = random.dirichlet(np.full(n_classes, 10 ** random.uniform(-1, 1)), size=n)
    if random.random() < 0.3:
        proba = np.round(proba * 4) + 1e-9
        proba /= proba.sum(axis=1, keepdims=True)
    if random.random() < 0.3:
        proba[0] = np.eye(n_classes)[random.integers(n_classes)]
    return proba


def _draw_weights(random: Random, n: int) -> tuple[Any, np.ndarray]:
    if random.random() < 0.5:
        return None, np.ones(n)
    weights = random.gamma(1.0, size=n)
    weights[random.random(n) < 0.2] = 0.0
    weights[0] = 1.0
    return weights, weights


def flat_scores(random: Random, checks: Checks) -> None:
    """Classes without a tree."""
    n, n_classes = int(random.integers(1, 30)), int(random.integers(2, 8))
    proba, names = draw_proba(random, n, n_classes), draw_names(random, n_classes)
    true = random.integers(n_classes, size=n)
    given, weights = _draw_weights(random, n)
    told = f"[{n} cases, {n_classes} classes]"
    n_decisions = int(random.integers(1, 6))
    loss = random.gamma(1.0, size=(n_decisions, n_classes)) * 10 ** random.uniform(-2, 2)
    cost = float(random.uniform(0, 1) * loss.mean())
    decided = decide(proba, loss, cost)
    expected = reference.expected_losses(proba, loss)
    least = np.minimum(expected.min(axis=1), cost)
    checks.close("scores: expected loss", decided.expected_loss, least, 1e-12 * (1 + loss.max()), told)
    chosen = np.where(decided.rejected, 0, decided.decisions)
    own = np.where(decided.rejected, cost, expected[np.arange(n), chosen])
    checks.close("scores: decision has it", own, least, 1e-12 * (1 + loss.max()), told)
    labels, y = names.tolist(), names[true]
    wanted = reference.brier_score(true, proba, weights)
    checks.close("scores: Brier", brier_score(y, proba, labels, given), wanted, 1e-12, told)
    if (proba[np.arange(n), true][weights > 0] > 0).all():
        shares = np.bincount(true, weights, minlength=n_classes) / weights.sum()
        own_cases = weights > 0
        wanted = reference.target_information(true[own_cases], proba[own_cases], shares, weights[own_cases])
        found = logikern.target_information(y, proba, labels, sample_weight=given)
        checks.close("scores: target information", found, wanted, 1e-10 * (1 + abs(wanted)), told)
    used = weights > 0
    curve = logikern.error_reject_curve(y, proba, labels, given)
    fractions = np.append(random.uniform(0, 1, 4), [0.0, 0.999])
    wanted = [reference.error_kept(true[used], proba[used], weights[used], part) for part in fractions]
    checks.close("scores: error of what is kept", curve.error_at(fractions), wanted, 1e-9, told)
    if curve.kept[-1] < 1:
        grid = np.linspace(0, 1, 20001)
        area = np.trapezoid(curve.error_at(grid), grid)
        checks.close("scores: area below the curve", curve.area, area, 2e-3, told)
    checks.that("scores: calibration error", 0 <= calibration_error(y, proba, labels, given) <= 1 + 1e-12, told)


def decisions_of_a_fit(random: Random, checks: Checks) -> None:
    """`decide` and `score` of a classifier follow from its probabilities."""
    n, n_classes = int(random.integers(6, 30)), int(random.integers(2, 5))
    X = random.normal(size=(n, 2))
    names = draw_names(random, n_classes)
    y = names[np.arange(n) % n_classes]
    estimator = logikern.KernelLogisticClassifier(criterion=None).fit(X, y)
    proba = estimator.predict_proba(X)
    told = f"[{n} rows, {names}]"
    loss = random.gamma(1.0, size=(n_classes, n_classes))
    expected = reference.expected_losses(proba, loss)
    answers = estimator.decide(X, loss)
    places = [names.tolist().index(answer) for answer in answers.tolist()]
    checks.close("scores: decide", expected[np.arange(n), places], expected.min(axis=1), 1e-12, told)
    function = {(d, c): loss[i, j] for i, d in enumerate(names.tolist()) for j, c in enumerate(names.tolist())}
    same = estimator.decide(X, lambda d, c: function[d, c])
    checks.that("scores: decide by a function", same.tolist() == answers.tolist(), told)
    cost = float(np.median(expected.min(axis=1)))
    rejected = estimator.decide(X, loss, reject_cost=cost, reject_label="?") == "?"
    clear = np.abs(expected.min(axis=1) - cost) > 1e-12
    wanted = (expected.min(axis=1) > cost)[clear]
    checks.that("scores: decide rejects", (np.asarray(rejected)[clear] == wanted).all(), told)
    weights, own = _draw_weights(random, n)
    right = (names[proba.argmax(axis=1)] == y).astype(float)
    checks.close("scores: accuracy", estimator.score(X, y, weights), np.average(right, weights=own), 1e-12, told)
    frame = estimator.predict_proba_frame(X)
    checks.close("scores: frame", np.asarray(frame), proba, 0, told)


def tree_scores(random: Random, checks: Checks) -> None:
    """Classes in a tree."""
    shape = draw_shape(random, int(random.integers(2, 9)))
    n, n_classes = int(random.integers(1, 25)), len(shape.leaves)
    proba = draw_proba(random, n, n_classes)
    tree = logikern.Tree(shape.labels, shape.parents)
    told = f"[{n} cases, {shape}]"
    _judge_decisions(random, checks, shape, tree, proba, told)
    given, weights = _draw_weights(random, n)
    true, decided = random.integers(len(shape.labels), size=n), random.integers(len(shape.labels), size=n)
    y, answers = [shape.labels[node] for node in true], [shape.labels[node] for node in decided]
    parents = shape.parents
    distance = [reference.node_distance(parents, t, d) for t, d in zip(true, decided, strict=True)]
    found = logikern.taxonomic_loss(y, answers, tree, given)
    checks.close("tree scores: taxonomic loss", found, np.average(distance, weights=weights), 1e-12, told)
    wanted = reference.hierarchical_f1(parents, true, decided, weights)
    checks.close("tree scores: F1", logikern.hierarchical_f1(y, answers, tree, given), wanted, 1e-12, told)
    _judge_probabilities(random, checks, shape, tree, proba, (given, weights), told)
    used = weights > 0
    confusions = reference.sibling_confusions(parents, true[used], decided[used], weights[used])
    pairs = confused_siblings(y, answers, tree, given, n_pairs=10**6)
    found_pairs = {}
    for pair in pairs:
        first, second = shape.labels.index(pair.first), shape.labels.index(pair.second)
        found_pairs |= {(first, second): pair.first_as_second, (second, first): pair.second_as_first}
    keys = sorted(confusions | found_pairs)
    checks.close(
        "tree scores: confused siblings",
        [found_pairs.get(key, 0.0) for key in keys],
        [confusions.get(key, 0.0) for key in keys],
        1e-12 * (1 + weights.sum()),
        told,
    )


def _judge_decisions(random: Random, checks: Checks, shape: Shape, tree: Any, proba: np.ndarray, told: str) -> None:
    """Each rule decides what has the least expected loss."""
    ends, everything = shape.leaves, list(range(len(shape.labels)))
    zero_one = 1.0 - np.eye(len(ends))
    matrix = random.gamma(1.0, size=(len(ends), len(ends)))
    rules = {
        "zero_one": ("zero_one", False, zero_one, ends),
        "taxonomic": ("taxonomic", False, reference.taxonomic_losses(shape.labels, shape.parents, ends), ends),
        "inner": ("taxonomic", True, reference.taxonomic_losses(shape.labels, shape.parents, everything), everything),
        "matrix": (matrix, False, matrix, ends),
        "parent": ("parent", False, reference.parent_losses(shape.labels, shape.parents), ends),
    }
    for name, (loss, inner, losses, candidates) in rules.items():
        decided = logikern.decide_on_tree(proba, tree, loss, allow_inner=inner)
        expected = reference.expected_losses(proba, losses)
        places = [candidates.index(node) for node in decided.decisions]
        own = expected[np.arange(len(places)), places]
        checks.close(f"tree scores: {name} decides the least", own, expected.min(axis=1), 1e-9, told)
        checks.close(f"tree scores: {name} loss", decided.expected_loss, expected.min(axis=1), 1e-9, told)


def _judge_probabilities(
    random: Random,
    checks: Checks,
    shape: Shape,
    tree: Any,
    proba: np.ndarray,
    weighing: tuple[Any, np.ndarray],
    told: str,
) -> None:
    given, weights = weighing
    n, ends = len(proba), shape.leaves
    proba = 0.999 * proba + 0.001 / len(ends)
    classes = random.integers(len(ends), size=n)
    y = [shape.labels[ends[column]] for column in classes]
    wanted = reference.reciprocal_rank(classes, proba, weights)
    found = logikern.mean_reciprocal_rank(y, proba, tree, given)
    checks.close("tree scores: reciprocal rank", found, wanted, 1e-12, told)
    nodes = random.integers(len(shape.labels), size=n)
    y = [shape.labels[node] for node in nodes]
    wanted = reference.node_log_loss(shape.labels, shape.parents, nodes, proba, weights)
    checks.close("tree scores: log loss of nodes", logikern.node_log_loss(y, proba, tree, given), wanted, 1e-10, told)
    levels = level_scores(y, proba, tree, given)
    deepest = max(len(path(shape.parents, node)) for node in range(len(shape.labels)))
    checks.that("tree scores: a score per level", len(levels.depth) == deepest, told)
    # Ties between nodes of equal mass may be broken by rounding.
    if len(np.unique(np.round(proba, 9))) == proba.size:
        wanted_levels = reference.level_accuracies(shape.labels, shape.parents, nodes, proba, weights)
        checks.close("tree scores: accuracy of levels", levels.accuracy, wanted_levels, 1e-9, told)
