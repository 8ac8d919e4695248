"""Settings of the leave-one-out criterion: likelihood, kernel, tying, weights, groups, bias, tree."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from logikern.criteria.base import Evaluation
from logikern.criteria.leave_one_out.criterion import LeaveOneOut, LeaveOneOutPolicy
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.free_bias import FreeBias
from logikern.fitting.problem import Problem, Solver
from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.bernoulli import Bernoulli
from logikern.likelihoods.softmax import Softmax
from logikern.likelihoods.squared import Squared
from logikern.operators.choose import Choice
from logikern.structure.covariance import ClassCovariance
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from tests.criteria import catalogue
from tests.likelihoods.poisson import Poisson
from tests.structure.trees import TREES

N = catalogue.N_POINTS
TOLERANCE = 1e-11
SOLVER = Exact(TOLERANCE)

LIKELIHOODS: dict[str, Likelihood] = {
    "softmax": Softmax(),
    "squared": Squared(),
    "poisson": Poisson(),
    "bernoulli": Bernoulli(),
}


def _targets(name: str, n_classes: int) -> np.ndarray:
    generator = np.random.default_rng(7)
    return {
        "labels": from_labels(catalogue.labels(n_classes=max(n_classes, 3)) % n_classes, n_classes),
        "soft": generator.dirichlet(np.full(n_classes, 0.5), N).T,
        "numbers": generator.standard_normal((n_classes, N)),
        "counts": generator.poisson(3.0, (n_classes, N)).astype(float),
        "present": generator.integers(0, 2, (n_classes, N)).astype(float),
    }[name]


@dataclass(frozen=True)
class Setting:
    """Names of what a criterion is made of."""

    kernel: str = "gaussian"
    tying: str = "shared"
    weights: str = "none"
    n_classes: int = 3
    targets: str = "labels"
    likelihood: str = "softmax"
    grouped: bool = False
    bias_variance: float = 1.7
    kept_distances: bool = False
    tree: str = ""

    def __str__(self) -> str:
        groups = "groups" if self.grouped else "points"
        parts = (self.likelihood, self.kernel, self.tying, self.weights, self.n_classes, self.targets, groups)
        tree = (f"{self.tree} tree",) if self.tree else ()
        return ", ".join(str(part) for part in (*parts, self.bias_variance, *tree))

    def specification(self) -> Specification:
        named = self.tying if self.tying != "groups" else ["a", "b", "a"][: self.n_classes]
        mixing = TREES.get(self.tree) or Flat(self.n_classes)
        return catalogue.specify(self.kernel, named, mixing, self.bias_variance)

    def bind(self, specification: Specification) -> ClassCovariance:
        choice = Choice("dense", np.dtype(float), "", 1e8)
        return specification.bind(choice.points(catalogue.points(), keep_distances=self.kept_distances))

    def groups(self) -> np.ndarray | None:
        return catalogue.groups() if self.grouped else None

    def criterion(self) -> LeaveOneOut:
        weights = catalogue.Case(weights=self.weights).point_weights()
        targets = _targets(self.targets, self.n_classes)
        return LeaveOneOut(
            LIKELIHOODS[self.likelihood],
            targets,
            weights,
            SOLVER,
            self.groups(),
            policy=LeaveOneOutPolicy(missed=0.0),
        )

    def solver(self, tolerance: float = 1e-12) -> Solver:
        """What fits the problem, by the bias that it has."""
        return FreeBias(tolerance) if np.isinf(self.bias_variance) else Exact(tolerance)

    def problem(self) -> Problem:
        criterion = self.criterion()
        covariance = self.bind(self.specification())
        return Problem(covariance, criterion.likelihood, criterion.targets, criterion.weights[None])

    def evaluate(self, specification: Specification | None = None, start: np.ndarray | None = None) -> Evaluation:
        found = self.specification() if specification is None else specification
        return self.criterion().evaluate(self.bind(found), start, TOLERANCE)

    def difference(self, direction: np.ndarray, start: np.ndarray, step: float = 1e-4) -> float:
        """The slope of the value along a direction of the log parameters, from two values."""
        own = self.specification()
        ends = [own.with_log_parameters(own.log_parameters + s * direction) for s in (step, -step)]
        high, low = (self.evaluate(end, start).value for end in ends)
        return (high - low) / (2 * step)


def _turn(names: tuple, place: int):
    return names[place % len(names)]


# Every tree with every tying, points and groups; the others in turn.
COUPLED = (
    *(
        Setting(
            _turn(tuple(catalogue.KERNELS), place),
            tying,
            _turn(catalogue.WEIGHTS, place),
            TREES[tree].n_classes,
            _turn(("labels", "labels", "soft", "labels"), place),
            grouped=grouped,
            bias_variance=_turn((1.7, 1.7, 0.0, 1.7, 1.7), place),
            tree=tree,
        )
        for place, (grouped, tree, tying) in enumerate(product((False, True), TREES, catalogue.TREE_TYINGS))
    ),
    *(
        Setting("gaussian", tying, weights, TREES[tree].n_classes, targets, likelihood, grouped, tree=tree)
        for (likelihood, targets), tree, tying, weights, grouped in product(
            (("squared", "numbers"), ("poisson", "counts")),
            ("ragged", "chain"),
            ("scaled", "separate"),
            ("random", "zeros"),
            (False, True),
        )
    ),
    Setting("gaussian", "separate", n_classes=4, kept_distances=True, tree="balanced"),
)
CLASSES = (3, 2)
ALL = (
    *(
        Setting(kernel, tying, _turn(catalogue.WEIGHTS, place), n_classes, grouped=grouped)
        for place, (n_classes, grouped, kernel, tying) in enumerate(
            product(CLASSES, (False, True), catalogue.KERNELS, catalogue.TYINGS)
        )
    ),
    *(
        Setting("matern32", tying, "zeros", n_classes, "soft", grouped=grouped)
        for tying, n_classes, grouped in product(catalogue.TYINGS, CLASSES, (False, True))
    ),
    *(
        Setting("gaussian", tying, weights, n_classes, targets, likelihood, grouped)
        for (likelihood, targets), tying, weights, n_classes, grouped in product(
            (("squared", "numbers"), ("poisson", "counts"), ("bernoulli", "present")),
            ("scaled", "separate"),
            ("random", "zeros"),
            (1, 3),
            (False, True),
        )
    ),
    *(
        Setting("rational quadratic", tying, weights, n_classes, grouped=grouped, bias_variance=bias_variance)
        for tying, weights, n_classes, grouped, bias_variance in product(
            ("shared", "separate"), ("none", "zeros"), CLASSES, (False, True), (0.0, np.inf)
        )
    ),
    *(
        Setting("gaussian", "scaled", "random", 3, targets, likelihood, grouped, np.inf)
        for likelihood, targets in (("squared", "numbers"), ("poisson", "counts"))
        for grouped in (False, True)
    ),
    *(Setting(kernel, "scaled", kept_distances=True) for kernel in ("gaussian", "rational quadratic")),
    *COUPLED,
)
