"""Problems and solvers. A new solver is one more row here, and is tried on every problem."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from logikern.fitting.functional_cg import KernelGradient
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.pairwise.solver import Smo
from logikern.fitting.preconditioning.adaptive import DiagonalConditioning, LowRankConditioning
from logikern.fitting.problem import Problem, Solver
from logikern.kernels import Gaussian, Kernel, Linear, Matern12, Matern32
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import Choice
from logikern.structure.covariance import ClassCovariance
from logikern.structure.mixing import Flat, Mixing
from logikern.structure.tying import tie
from tests.kernels import catalogue as kernels
from tests.structure.catalogue import ByMatrix
from tests.structure.trees import TREES

# Fine enough for duals to agree to 1e-6, coarse enough for the rounding of latents of size 1e4.
TOLERANCE = 1e-9

EXACT = Exact(tolerance=TOLERANCE)
SOLVERS: dict[str, Solver] = {
    "low rank": Newton(tolerance=TOLERANCE),
    "low rank of 3": Newton(tolerance=TOLERANCE, conditioning=LowRankConditioning(rank=3)),
    "diagonal": Newton(tolerance=TOLERANCE, conditioning=DiagonalConditioning()),
    # Steps of first order end just below their tolerance, where those of Newton's method end far below it.
    "kernel gradient": KernelGradient(tolerance=0.1 * TOLERANCE, budget=Budget(newton=5000)),
    "smo": Smo(tolerance=0.3 * TOLERANCE, budget=Budget(newton=3000)),
    "exact": EXACT,
}


def count(points: Any) -> int:
    return points.shape[0] if hasattr(points, "shape") else len(points)


def make_problem(
    kernel: Kernel | tuple[Kernel, ...],
    points: Any,
    targets: np.ndarray,
    weights: np.ndarray | None = None,
    variances: float | np.ndarray = 2.0,
    bias_variance: float = 1.0,
    assignment: tuple[int, ...] | None = None,
    operator: str = "dense",
    dtype: type = np.float64,
    mixing: Mixing | None = None,
) -> Problem:
    """A problem from its parts; every latent function uses the first kernel unless told."""
    own = kernel if isinstance(kernel, tuple) else (kernel,)
    mixing = mixing or Flat(len(targets))
    n_latent = mixing.n_latent
    choice = Choice(operator, np.dtype(dtype), "", 1e8)
    covariance = ClassCovariance(
        tuple(choice.points(points).bind(part) for part in own),
        np.array(assignment or (0,) * n_latent),
        np.broadcast_to(np.asarray(variances, dtype=float), n_latent).copy(),
        mixing,
        bias_variance,
    )
    weights = np.ones((1, count(points))) if weights is None else weights
    return Problem(covariance, Softmax(), targets, weights)


def labels(n: int = kernels.N_POINTS, n_classes: int = 3, seed: int = 0) -> np.ndarray:
    """Random labels of which every class has one if n allows, (C, n)."""
    generator = np.random.default_rng(seed)
    drawn = np.concatenate([np.arange(n_classes), generator.integers(0, n_classes, n)])[:n]
    return np.eye(n_classes)[:, generator.permutation(drawn)]


def distributions(n: int = kernels.N_POINTS, n_classes: int = 3) -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.full(n_classes, 0.5), n).T


def weightings(n: int = kernels.N_POINTS) -> np.ndarray:
    """All points, two folds, and anything from 0 to 5 with zeros."""
    generator = np.random.default_rng(2)
    some = generator.uniform(0.0, 5.0, n) * (generator.random(n) < 0.7)
    places = np.arange(n)
    return np.stack([np.ones(n), (places % 3 != 0) * 1.0, (places % 3 != 1) * 1.0, some])


@dataclass(frozen=True)
class Case:
    """Arguments of `make_problem`."""

    name: str
    kernel: Any
    points: Any = field(default_factory=kernels.table, repr=False)
    targets: Any = field(default_factory=labels, repr=False)
    options: dict[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.name

    def build(self) -> Problem:
        return make_problem(self.kernel, self.points, self.targets, **self.options)


def tiny(n: int, n_classes: int) -> Case:
    return Case(
        f"{n} points of {n_classes} classes",
        Gaussian(0.5),
        kernels.table()[:n],
        labels(n, n_classes),
        {"variances": 5.0},
    )


def combinations(n_classes: int, n_latent: int) -> ByMatrix:
    return ByMatrix(np.random.default_rng(3).standard_normal((n_classes, n_latent)))


def of_tree(shape: str, tying: str, **options: Any) -> dict[str, Any]:
    """Arguments of `Case`: a kernel and a variance of its own for everything that the tying tells apart."""
    own = TREES[shape]
    tied = tie(tying, own)
    kernel = tuple(Gaussian(0.3 * (1 + number)) for number in range(tied.n_kernels))
    variances = 0.7 * 2.0 ** np.array(tied.variance_of)
    return {
        "kernel": kernel,
        "targets": labels(n_classes=own.n_classes),
        "options": {"variances": variances, "assignment": tied.kernel_of, "mixing": own, **options},
    }


SEPARATE = (Gaussian(0.7), Matern12(0.5), Linear())
EACH = np.array([0.5, 3.0, 20.0])
REPEATED = np.repeat(kernels.table()[:8], 3, axis=0)

FLAT = (
    *(Case(case.name, case.kernel, case.points()) for case in kernels.ALL),
    Case("shared", Gaussian(0.7)),
    Case("shared without bias", Gaussian(0.7), options={"bias_variance": 0.0}),
    Case("scaled", Gaussian(0.7), options={"variances": EACH}),
    Case("separate", SEPARATE, options={"variances": EACH, "assignment": (0, 1, 2)}),
    Case("separate in another order", SEPARATE, options={"variances": EACH, "assignment": (2, 0, 1)}),
    Case(
        "groups",
        (Gaussian(0.7), Matern32(2.0)),
        targets=labels(n_classes=5),
        options={"assignment": (0, 1, 1, 0, 1)},
    ),
    Case("several weightings", Gaussian(0.7), options={"weights": weightings()}),
    Case(
        "several weightings of separate kernels",
        SEPARATE,
        options={"weights": weightings(), "variances": EACH, "assignment": (0, 1, 2)},
    ),
    Case("distributions", Matern32(0.7), targets=distributions()),
    Case(
        "weighted distributions",
        Matern32(0.7),
        targets=distributions(),
        options={"weights": weightings(), "variances": EACH},
    ),
    Case("no weight at all", Gaussian(0.7), options={"weights": np.zeros((1, kernels.N_POINTS))}),
    Case("heavy weights", Gaussian(0.7), options={"weights": 1e3 * weightings()}),
    Case("two classes", Gaussian(0.7), targets=labels(n_classes=2)),
    Case("many classes", Gaussian(0.7), targets=labels(n_classes=15)),
    Case("a class without points", Gaussian(0.7), targets=np.insert(labels(), 1, 0.0, axis=0)),
    Case("repeated rows", Gaussian(0.7), REPEATED),
    Case("repeated rows of one label", Gaussian(0.7), REPEATED, np.repeat(labels(8), 3, axis=1)),
    Case("small variance", Gaussian(0.7), options={"variances": 1e-2, "bias_variance": 1e-4}),
    Case("large variance", Gaussian(0.7), options={"variances": 1e4, "bias_variance": 1e2}),
    Case("large variance of a smooth kernel", Gaussian(0.01), options={"variances": 1e4}),
    Case("nearly diagonal kernel", Gaussian(1e3), options={"variances": 1e2}),
    Case("tiled", Gaussian(0.7), options={"operator": "tiled"}),
    Case("features", Linear(), options={"operator": "features"}),
    *(tiny(n, n_classes) for n in (1, 2, 3) for n_classes in (2, 3)),
)

COUPLED = (
    *(
        Case(f"{shape} tree, {tying}", **of_tree(shape, tying))
        for shape, tying in product(TREES, ("shared", "level", "subtree", "scaled", "separate"))
    ),
    Case("weightings of a tree", **of_tree("balanced", "separate", weights=weightings())),
    Case("heavy weights of a tree", **of_tree("chain", "level", weights=1e3 * weightings())),
    Case(
        "weighted distributions of a tree",
        **of_tree("ragged", "scaled", weights=weightings()) | {"targets": distributions()},
    ),
    Case("large variance of a tree", **of_tree("without siblings", "level", variances=1e4, bias_variance=1e2)),
    Case("tree without bias", **of_tree("chain", "shared", bias_variance=0.0)),
    Case(
        "tree with a class without points",
        **of_tree("balanced", "level") | {"targets": np.insert(labels(), 1, 0.0, axis=0)},
    ),
    Case("two coupled classes", Gaussian(0.7), targets=labels(n_classes=2), options={"mixing": combinations(2, 3)}),
    Case("combinations", SEPARATE, options={"assignment": (0, 1, 2, 1), "mixing": combinations(3, 4)}),
)
ALL = (*FLAT, *COUPLED)

BY_NAME = {case.name: case for case in ALL}
# Variants of the preconditioner change the steps of Newton's method, not its optimum: a third of the problems each.
VARIANTS = ("diagonal", "low rank of 3")
FITS = tuple((case, name) for name in SOLVERS for case in (ALL[::3] if name in VARIANTS else ALL))


def dense_covariance(problem: Problem) -> np.ndarray:
    """K~, (C n, C n), written out."""
    covariance = problem.covariance
    n, n_classes = covariance.n_points, covariance.n_classes
    dense = np.kron(np.eye(n_classes), np.full((n, n), covariance.bias_variance))
    parts = covariance.mixing.forward(np.eye(covariance.mixing.n_latent)).T  # (P, C)
    for own, variance, part in zip(covariance.assignment, covariance.variances, parts, strict=True):
        operator = covariance.operators[own]
        matrix = np.asarray(operator.kernel(operator.X, operator.X), dtype=float)
        dense += np.kron(np.outer(part, part), variance * matrix)
    return dense


def dense_root(curvature: Any, member: int) -> np.ndarray:
    """V with W = V V', (C n, C n), written out from scale and null directions."""
    scale, null = curvature.scale[member], curvature.null[member]
    n_classes, n = scale.shape
    projector = np.einsum("ce,nm->cnem", np.eye(n_classes), np.eye(n))
    projector = projector - np.einsum("cn,em,nm->cnem", null, null, np.eye(n))
    return scale.reshape(-1, 1) * projector.reshape(n_classes * n, n_classes * n)


def penalised_loss(problem: Problem, dense: np.ndarray, dual: np.ndarray, member: int) -> float:
    """loss(K~ dual) + 1/2 dual' K~ dual of one weighting, from dense algebra; dual (C n,)."""
    latent = dense @ dual
    per_class = latent.reshape(problem.targets.shape)
    highest = per_class.max(axis=0)
    log_total = highest + np.log(np.exp(per_class - highest).sum(axis=0))
    losses = log_total - (problem.targets * per_class).sum(axis=0)
    return float(problem.weights[member] @ losses + 0.5 * dual @ latent)
