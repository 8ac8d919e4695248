"""What others offer for classes in a tree, each tuned by a holdout: the contestants of hierarchy_peers.py.

All of them learn from (X, y), with y the numbers of the classes, and give probabilities of all classes. Penalties are
tried from the smallest on, until two in a row are worse than one before. On dense inputs the linear ones see Gaussian
features (Nystroem), of which the rate is tuned as well.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from hiclass import LocalClassifierPerParentNode
from hiclass._calibration.Calibrator import _Calibrator
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from logikern.structure.tree import ROOT, Tree
from trees import SMALLEST_PROBABILITY, draw_part

logger = logging.getLogger(__name__)

HELD_OUT = 0.2
FLAT_PENALTIES = tuple(float(lead * 10**power) for power in range(7) for lead in (1, 3)) + (1e7,)
LOCAL_PENALTIES = (1.0, 10.0, 100.0, 1000.0, 1e4, 1e5, 1e6)
# With more rows than these, the flat one begins where it has some use, and logistic regression goes by other steps.
MANY_ROWS = 20_000
LARGE_PENALTIES = tuple(penalty for penalty in FLAT_PENALTIES if penalty >= 10.0)
# Of linear and of Gaussian support vector machines.
LINEAR_PENALTIES, GAUSSIAN_PENALTIES = (0.1, 1.0, 10.0), (1.0, 10.0, 100.0)
# Of hiclass 5.0: "platt" is in its documentation and refused, "isotonic" gives many classes the probability 0.
CALIBRATIONS = (None, "sigmoid", "ivap", "beta")
N_FEATURES = 500
# In units of one over the number of inputs, which are standardised.
RATES = (1.0, 4.0)
CALIBRATION_FOLDS = 5
# Of logistic regression: on texts several times faster than lbfgs. The gradient that is bounded is one of the mean
# loss, so that with hundreds of classes and large C the default of 1e-4 would end a fit after a step or two.
STEPS = {"solver": "newton-cg", "max_iter": 1000, "tol": 1e-8}
# Of many rows and classes: a fit to wordnet takes minutes, where it takes newton-cg hours.
STEPS_OF_MANY = {"solver": "sag", "max_iter": 100, "tol": 1e-4}
SEPARATOR = "::HiClass::Separator::"
# Calibrations, each with the probabilities of the classes.
Tabled = Iterator[tuple[str | None, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Known:
    """Probabilities of the classes (m, C), and what the search chose."""

    probabilities: np.ndarray
    found: str


@dataclass(frozen=True, eq=False)
class Task:
    """What a contestant is given.

    Parameters
    ----------
    X, X_test : arrays or sparse matrices
    y : integer array of shape (n,)
        Places in `tree.classes`.
    tree : Tree
    """

    X: Any
    y: np.ndarray
    X_test: Any
    tree: Tree

    @property
    def feature_maps(self) -> list[tuple[str, Any, Any]]:
        """Inputs of linear models, with a name: as they are where sparse, else Gaussian features at some rates."""
        if sparse.issparse(self.X):
            return [("", self.X, self.X_test)]
        maps = []
        for rate in RATES:
            gamma = rate / self.X.shape[1]
            features = Nystroem(gamma=gamma, n_components=min(N_FEATURES, len(self.y)), random_state=0)
            maps.append((f", gamma={gamma:.3g}", features.fit_transform(self.X), features.transform(self.X_test)))
        return maps


def holdout_loss(probabilities: np.ndarray, labels: np.ndarray) -> float:
    bounded = np.clip(probabilities, SMALLEST_PROBABILITY, None)
    bounded /= bounded.sum(axis=1, keepdims=True)
    return -float(np.log(bounded[np.arange(len(labels)), labels]).mean())


def is_past_best(losses: list[float]) -> bool:
    """Whether the last two penalties of a ladder were both worse than one before: larger ones are not tried."""
    return len(losses) > 2 and min(losses[-2:]) > min(losses[:-2])


def steps_for(n_rows: int) -> dict[str, Any]:
    """How logistic regression is fitted."""
    return STEPS_OF_MANY if n_rows > MANY_ROWS else STEPS


def flat_logistic(task: Task) -> Known:
    """Logistic regression; coefficients of one C start the next, and those of the best one the fit to all rows.

    From zero a fit at C in the millions would end too early.
    """
    aside = draw_part(task.y, HELD_OUT, 0)
    steps = steps_for(len(task.y))
    best: tuple[float, str, Any] = (np.inf, "", None)
    for name, X, X_test in task.feature_maps:
        model = LogisticRegression(warm_start=True, **steps)
        losses: list[float] = []
        for penalty in FLAT_PENALTIES if len(task.y) <= MANY_ROWS else LARGE_PENALTIES:
            if is_past_best(losses):
                break
            model.set_params(C=penalty).fit(X[~aside], task.y[~aside])
            loss = holdout_loss(model.predict_proba(X[aside]), task.y[aside])
            losses.append(loss)
            logger.info("logistic regression, C=%g%s: log loss %.4f of a holdout", penalty, name, loss)
            if loss < best[0]:
                start = (model.coef_.copy(), model.intercept_.copy())
                best = (loss, f"C={penalty:g}{name}", (penalty, start, X, X_test))
    penalty, (coefficients, constants), X, X_test = best[2]
    model = LogisticRegression(warm_start=True, **steps, C=penalty)
    model.coef_, model.intercept_ = coefficients, constants
    return Known(model.fit(X, task.y).predict_proba(X_test), best[1])


def margin_machine(task: Task) -> Known:
    """A support vector machine, linear on sparse inputs and Gaussian on dense ones, sigmoid calibration."""
    aside = draw_part(task.y, HELD_OUT, 0)
    rates = [None] if sparse.issparse(task.X) else [rate / task.X.shape[1] for rate in RATES]
    best: tuple[float, str, Any] = (np.inf, "", None)
    for rate in rates:
        for penalty in LINEAR_PENALTIES if rate is None else GAUSSIAN_PENALTIES:
            model = _calibrated(penalty, rate, task.y[~aside]).fit(task.X[~aside], task.y[~aside])
            loss = holdout_loss(model.predict_proba(task.X[aside]), task.y[aside])
            if loss < best[0]:
                name = f"C={penalty:g}" + ("" if rate is None else f", gamma={rate:.3g}")
                best = (loss, name, (penalty, rate))
    model = _calibrated(*best[2], task.y).fit(task.X, task.y)
    return Known(model.predict_proba(task.X_test), best[1])


def _calibrated(penalty: float, rate: float | None, labels: np.ndarray) -> CalibratedClassifierCV:
    machine = LinearSVC(C=penalty) if rate is None else SVC(C=penalty, gamma=rate)
    folds = StratifiedKFold(CALIBRATION_FOLDS, shuffle=True, random_state=0)
    # A number of folds is refused where a class has fewer rows; given splits are not. A class of one row is then
    # missing from the fold that holds it out, which counts it as impossible: one of five.
    return CalibratedClassifierCV(machine, method="sigmoid", cv=list(folds.split(labels, labels)))


def local_classifiers(task: Task) -> dict[str, Known]:
    """hiclass: a logistic regression for each parent node, calibrated on rows that it has not seen.

    C and the calibration are chosen by the log loss on a holdout, on which products along paths of the local
    probabilities count; `predict_proba` of hiclass 5.0 is not used for the choice (see `own_probabilities`). The last
    fit has all rows but those of the calibration, and all rows where none is best. Of many rows it is made of the
    same local classifiers, too, and there is no `predict_proba` of hiclass itself.
    """
    found, (penalty, method, X, X_test) = _choose_local(task)
    if len(task.y) > MANY_ROWS:
        tables = _calibrations_by_node(X, task.y, X_test, task.tree, penalty, (method,))
        return {"products along paths": Known(next(iter(tables))[1], found)}
    _, model = next(iter(_fit_local(X, task.y, node_names(task.tree), penalty, (method,))))
    return {
        "products along paths": Known(path_probabilities(model, X_test, task.tree), found),
        "predict_proba": Known(own_probabilities(model, X_test, task.tree), found),
    }


def _choose_local(task: Task) -> tuple[str, tuple[float, str | None, Any, Any]]:
    """C and calibration, in words and with the inputs that they are for."""
    aside = draw_part(task.y, HELD_OUT, 0)
    probabilities_of = _calibrations_by_node if len(task.y) > MANY_ROWS else _calibrations_of_hiclass
    best: tuple[float, str, Any] = (np.inf, "", None)
    for suffix, X, X_test in task.feature_maps:
        losses: list[float] = []
        for penalty in LOCAL_PENALTIES:
            if is_past_best(losses):
                break
            losses.append(np.inf)
            for method, proba in probabilities_of(X[~aside], task.y[~aside], X[aside], task.tree, penalty):
                loss = holdout_loss(proba, task.y[aside])
                losses[-1] = min(losses[-1], loss)
                logger.info("hiclass, C=%g%s, %s: log loss %.4f of a holdout", penalty, suffix, method, loss)
                if loss < best[0]:
                    found = f"C={penalty:g}{suffix}, calibration={method}"
                    best = (loss, found, (penalty, method, X, X_test))
    return best[1], best[2]


def _calibrations_of_hiclass(X: Any, labels: np.ndarray, X_new: Any, tree: Tree, penalty: float) -> Tabled:
    """Probabilities of the classes at new rows, with one calibration after the other."""
    for method, model in _fit_local(X, labels, node_names(tree), penalty, CALIBRATIONS):
        yield method, path_probabilities(model, X_new, tree)


def _calibrations_by_node(
    X: Any, labels: np.ndarray, X_new: Any, tree: Tree, penalty: float, methods: tuple = CALIBRATIONS
) -> Tabled:
    """The same by local classifiers that are made here.

    They are those of hiclass, which takes half an hour to find the rows of its nodes, with its own calibrators.
    """
    model = LogisticRegression(C=penalty, **steps_for(len(labels)))
    rest = draw_part(labels, HELD_OUT, 1)
    calibrations = tuple(method for method in methods if method is not None)
    if None in methods:
        yield from _multiply_local(model, X, labels, np.zeros_like(rest), X_new, tree, (None,))
    if calibrations:
        yield from _multiply_local(model, X, labels, rest, X_new, tree, calibrations)


def _multiply_local(
    model: Any, X: Any, labels: np.ndarray, rest: np.ndarray, X_new: Any, tree: Tree, methods: tuple
) -> Tabled:
    """Each calibration and the probabilities that it gives, from one fit of the model for each parent node.

    Rows of the rest are those of the calibration. All classes have other rows as well.
    """
    tables = [np.ones((X_new.shape[0], tree.n_classes)) for _ in methods]
    for children in _children_on_paths(tree):
        below = np.flatnonzero(children != "")
        if len(np.unique(children[below])) == 1:
            continue
        known = children[labels]
        fitted, calibrating = ((known != "") & part for part in (~rest, rest))
        local = clone(model).fit(X[fitted], known[fitted])
        place = {child: column for column, child in enumerate(local.classes_)}
        columns = [place[child] for child in children[below]]
        for method, table in zip(methods, tables, strict=True):
            ready = _calibrate_local(local, method, X[calibrating], known[calibrating])
            table[:, below] *= ready.predict_proba(X_new)[:, columns]
    for method, table in zip(methods, tables, strict=True):
        yield method, np.nan_to_num(table)


def _children_on_paths(tree: Tree) -> Iterator[np.ndarray]:
    """For each parent node, from the root down, its child on the path to each class, (C,), "" where there is none.

    Names, since hiclass orders the children of a node by theirs.
    """
    step_of_class = [dict(zip([ROOT, *path], map(str, path), strict=False)) for path in map(tree.path, tree.leaves)]
    for parent in sorted({parent for steps in step_of_class for parent in steps}):
        yield np.array([steps.get(parent, "") for steps in step_of_class])


def _calibrate_local(model: Any, method: str | None, X: Any, known: np.ndarray) -> Any:
    """The model as it is where the rows are of fewer than two children: hiclass calibrates no such node."""
    if method is None or len(np.unique(known)) < 2:
        return model
    return _Calibrator(model, method).fit(X, known)


def _fit_local(X: Any, labels: np.ndarray, names: np.ndarray, penalty: float, methods: tuple) -> Any:
    """The same local classifiers with one calibration after the other."""
    rest = draw_part(labels, HELD_OUT, 1)
    calibrated = None
    for method in methods:
        if method is None:
            yield None, _local(penalty, None, len(labels)).fit(X, names[labels])
            continue
        if calibrated is None:
            calibrated = _local(penalty, method, len(labels)).fit(X[~rest], names[labels[~rest]])
        calibrated.calibration_method = method
        yield method, calibrated.calibrate(X[rest], names[labels[rest]])


def _local(penalty: float, method: str | None, n_rows: int) -> LocalClassifierPerParentNode:
    # `verbose` is the level of its logger: this one is above all messages.
    base = LogisticRegression(C=penalty, **steps_for(n_rows))
    return LocalClassifierPerParentNode(base, calibration_method=method, verbose=100)


def node_names(tree: Tree) -> np.ndarray:
    """Paths of all classes as hiclass reads them, (C, depth): short names, leaves repeated down to the last level.

    hiclass pads shorter paths by empty names, and then gives them no probability (its issue 162). Names are numbers
    since it joins those of a whole path in every cell.
    """
    paths = [tree.path(leaf) for leaf in tree.leaves]
    depth = max(map(len, paths))
    return np.array([[str(node) for node in path + path[-1:] * (depth - len(path))] for path in paths], dtype=object)


def path_probabilities(model: LocalClassifierPerParentNode, X: Any, tree: Tree) -> np.ndarray:
    """Products of the local probabilities along the paths to the leaves, (m, C).

    What `predict_proba` is meant to give, and does give where the tree has two levels. Values that a calibration has
    made no numbers count as 0.
    """
    graph = model.hierarchy_
    mass = {model.root_: np.ones(X.shape[0])}
    leaves: dict[int, np.ndarray] = {}
    pending = [model.root_]
    while pending:
        node = pending.pop()
        own = mass.pop(node)
        children = list(graph.successors(node))
        if not children:
            leaves[int(str(node).split(SEPARATOR)[-1])] = own
            continue
        classifier = graph.nodes[node].get("calibrator") or graph.nodes[node]["classifier"]
        table = classifier.predict_proba(X)
        for column, child in enumerate(classifier.classes_):
            mass[str(child)] = own * table[:, column]
            pending.append(str(child))
    return np.nan_to_num(np.stack([leaves[leaf] for leaf in tree.leaves], axis=1))


def own_probabilities(model: LocalClassifierPerParentNode, X: Any, tree: Tree) -> np.ndarray:
    """`predict_proba` of hiclass 5.0 as it is, columns in the order of the tree, (m, C).

    It visits the children of those nodes alone that are most probable for some row, and from the third level on by
    the classifier of whichever node it came to last, in no fixed order: all others get 0 in every row (its issue
    159).
    """
    table = model.predict_proba(X)
    place = {name: column for column, name in enumerate(model.classes_[-1])}
    return np.stack([table[:, place[str(leaf)]] for leaf in tree.leaves], axis=1)


CONTESTANTS: dict[str, Callable[[Task], dict[str, Known]]] = {
    "hiclass": local_classifiers,
    "logistic regression": lambda task: {"": flat_logistic(task)},
    "support vectors": lambda task: {"": margin_machine(task)},
}
