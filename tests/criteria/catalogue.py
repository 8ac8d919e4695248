"""Settings of a criterion: kernel, tying, weights, splitter, tree. A new one of each is one more row here."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, LeavePGroupsOut, ShuffleSplit, StratifiedKFold

from logikern.criteria.base import Evaluation
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import Folds, folds_from_splits
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.problem import Problem
from logikern.kernels import Gaussian, Kernel, Laplacian, Linear, Matern32, Matern52, Polynomial, RationalQuadratic
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import Choice
from logikern.structure.mixing import Flat, Mixing
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie
from tests.structure.trees import TREES

N_POINTS = 15
N_INPUTS = 3
N_CLASSES = 3
TOLERANCE = 1e-9


def points(n: int = N_POINTS) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, N_INPUTS))


def labels(n: int = N_POINTS, n_classes: int = N_CLASSES) -> np.ndarray:
    """Classes that the first input tells apart, though not well."""
    noisy = points(n)[:, 0] + 0.7 * np.random.default_rng(1).standard_normal(n)
    found = np.empty(n, dtype=int)
    found[np.argsort(noisy)] = np.arange(n) * n_classes // n
    return found


def soft_targets(n: int = N_POINTS, n_classes: int = N_CLASSES) -> np.ndarray:
    return np.random.default_rng(2).dirichlet(np.full(n_classes, 0.5), n).T


def groups(n: int = N_POINTS) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 6, n)


KERNELS: dict[str, Kernel] = {
    "gaussian": Gaussian(0.4),
    "matern32": Matern32(0.5),
    "matern52": Matern52(0.6),
    "rational quadratic": RationalQuadratic(0.5, 1.3),
    "laplacian": Laplacian(0.4),
    "laplacian with shared rates": Laplacian((0.3, 0.6), columns=(0, 1, 1)),
    "polynomial": Polynomial(0.3, 0.8, 2),
    "linear": Linear(),
    "sum": Gaussian(0.4) + 0.3 * Linear(),
    "product": RationalQuadratic(0.3, 1.3) * Polynomial(0.2, 0.9, 2),
    "scaled": 2.5 * Matern32(0.7),
    "rates of inputs": Gaussian((0.2, 0.5, 1.1)),
}

TYINGS: dict[str, Any] = {
    "shared": "shared",
    "scaled": "scaled",
    "separate": "separate",
    "groups": ["a", "b", "a"],
}
TREE_TYINGS = ("shared", "level", "subtree", "scaled", "separate")


def specify(kernel: str, tying: Any, mixing: Mixing, bias_variance: float) -> Specification:
    """Every parameter has a value of its own, so that no two may be taken for each other."""
    tied = tie(tying, mixing)
    first = KERNELS[kernel]
    kernels = tuple(first.with_log_parameters(first.log_parameters + 0.2 * k) for k in range(tied.n_kernels))
    variances = tuple(3.0 + 1.5 * number for number in range(tied.n_variances))
    return Specification(kernels, variances, bias_variance, tied, mixing)


def _weights(name: str, n: int) -> np.ndarray:
    generator = np.random.default_rng(4)
    drawn = generator.uniform(0.2, 3.0, n)
    zeros = drawn * (generator.random(n) < 0.8)
    return {"none": np.ones(n), "random": drawn, "zeros": zeros}[name]


WEIGHTS = ("none", "random", "zeros")

SPLITTERS: dict[str, Any] = {
    "stratified": StratifiedKFold(3, shuffle=True, random_state=0),
    "overlapping": ShuffleSplit(3, test_size=0.4, random_state=0),
    "groups": GroupKFold(3),
    "leave some out": LeavePGroupsOut(2),
}


def splits(name: str, n: int = N_POINTS) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs (kept, held out), in order.

    Of "leave some out" some points are held out twice, some never, and some are used for nothing in a split.
    """
    together = groups(n) if name in ("groups", "leave some out") else None
    pairs = list(SPLITTERS[name].split(points(n), labels(n), together))
    if name == "leave some out":
        pairs = [(kept[1:], held_out) for kept, held_out in pairs[:3]]
    return [(kept, np.sort(held_out)) for kept, held_out in pairs]


@dataclass(frozen=True)
class Case:
    """Names of a kernel, a tying, weights, a splitter and a tree."""

    kernel: str = "gaussian"
    tying: str = "shared"
    weights: str = "none"
    splitter: str = "stratified"
    bias_variance: float = 1.7
    n: int = N_POINTS
    soft: bool = False
    tree: str = ""

    def __str__(self) -> str:
        plain = f"{self.kernel}, {self.tying}, weights {self.weights}, {self.splitter}"
        return f"{plain}, {self.tree} tree" if self.tree else plain

    @property
    def n_classes(self) -> int:
        return TREES[self.tree].n_classes if self.tree else N_CLASSES

    def specification(self) -> Specification:
        tying = TYINGS.get(self.tying, self.tying)
        mixing = TREES.get(self.tree) or Flat(N_CLASSES)
        return specify(self.kernel, tying, mixing, self.bias_variance)

    def point_weights(self) -> np.ndarray:
        return _weights(self.weights, self.n)

    def folds(self) -> Folds:
        return folds_from_splits(splits(self.splitter, self.n), self.point_weights())

    def targets(self) -> np.ndarray:
        if self.soft:
            return soft_targets(self.n, self.n_classes)
        return from_labels(labels(self.n, self.n_classes), self.n_classes)

    def criterion(self, solver: Exact | Newton | None = None) -> CrossValidation:
        return CrossValidation(Softmax(), self.targets(), self.folds(), solver or Newton(TOLERANCE))

    def bind(self, specification: Specification, dtype: type = np.float64) -> Any:
        return specification.bind(Choice("dense", np.dtype(dtype), "", 1e8).points(points(self.n)))


def evaluate(
    case: Case,
    solver: Exact | Newton | None = None,
    specification: Specification | None = None,
    start: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
    dtype: type = np.float64,
) -> Evaluation:
    """The criterion of a case at its own hyperparameters, or at others."""
    found = case.specification() if specification is None else specification
    return case.criterion(solver).evaluate(case.bind(found, dtype), start, tolerance)


def difference(case: Case, direction: np.ndarray, start: np.ndarray, step: float = 1e-3) -> float:
    """The slope of the value along a direction of the log parameters, from two values.

    They come from the exact solver, which ends far below its tolerance.
    """
    specification = case.specification()
    ends = [specification.with_log_parameters(specification.log_parameters + s * direction) for s in (step, -step)]
    high, low = (evaluate(case, Exact(TOLERANCE), end, start).value for end in ends)
    return (high - low) / (2 * step)


def held_out_losses(case: Case) -> list[np.ndarray]:
    """Log loss of the held-out points of each split, from a fit of its own on its own points alone."""
    X, targets, weights = points(case.n), case.targets(), case.point_weights()
    specification = case.specification()
    kernels = [specification.kernels[number] for number in specification.tying.kernel_of]
    parts = specification.mixing.forward(np.eye(len(kernels)))  # (C, P)
    found = []
    for kept, held_out in splits(case.splitter, case.n):
        dual = _fit_alone(specification, X[kept], targets[:, kept], weights[kept])  # (C, n_kept)
        by_function = np.stack(
            [
                variance * kernel(X[held_out], X[kept]) @ own
                for kernel, variance, own in zip(kernels, specification.latent_variances, parts.T @ dual, strict=True)
            ]
        )
        latent = parts @ by_function + specification.bias_variance * dual.sum(axis=1, keepdims=True)
        log_total = np.log(np.exp(latent).sum(axis=0))
        found.append(log_total - (targets[:, held_out] * latent).sum(axis=0))
    return found


def _fit_alone(specification: Specification, X: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    covariance = specification.bind(Choice("dense", np.dtype(float), "", 1e8).points(X))
    result = Exact(1e-11).fit(Problem(covariance, Softmax(), targets, weights[None]))
    assert result.outcome.converged
    return result.dual[0]


def _rotate(names: Any, place: int) -> str:
    return tuple(names)[place % len(names)]


# Every tree with every tying; the others in turn.
COUPLED = tuple(
    Case(
        _rotate(KERNELS, place),
        tying,
        _rotate(WEIGHTS, place),
        _rotate(SPLITTERS, place // len(WEIGHTS)),
        soft=place % 4 == 3,
        tree=tree,
    )
    for place, (tree, tying) in enumerate(product(TREES, TREE_TYINGS))
)
ALL = (
    *(
        Case(kernel, tying, weights, splitter)
        for kernel, tying, weights, splitter in product(KERNELS, TYINGS, WEIGHTS, SPLITTERS)
    ),
    *COUPLED,
)

# Every kernel with every tying; weights and splitters in turn, such that each meets each.
SOME = (
    *(
        Case(kernel, tying, _rotate(WEIGHTS, place), _rotate(SPLITTERS, place // len(WEIGHTS)))
        for place, (kernel, tying) in enumerate(product(KERNELS, TYINGS))
    ),
    *COUPLED,
)
