"""Ways in which classes share functions. A new mixing or tying is one more row here."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag

from logikern.kernels import Gaussian, Kernel, Matern32, RationalQuadratic
from logikern.operators.choose import Choice
from logikern.structure.coupling import Coupling, uncoupled
from logikern.structure.covariance import ClassCovariance
from logikern.structure.hierarchy import read_tree
from logikern.structure.label_kernel import split
from logikern.structure.loadings import LabelLoadings
from logikern.structure.mixing import Flat, Mixing

N_POINTS = 9
N_CLASSES = 4


@dataclass(frozen=True, eq=False)
class ByMatrix(Mixing):
    """Class functions are any combinations of latent ones: the general case, for comparison."""

    matrix: np.ndarray  # (C, P)

    @property
    def n_classes(self) -> int:
        return self.matrix.shape[0]

    @property
    def n_latent(self) -> int:
        return self.matrix.shape[1]

    def forward(self, latent):
        return np.einsum("cp,...pn->...cn", self.matrix, latent)

    def adjoint(self, per_class):
        return np.einsum("cp,...cn->...pn", self.matrix, per_class)


def combinations() -> ByMatrix:
    return ByMatrix(np.random.default_rng(5).standard_normal((N_CLASSES, 6)))


BALANCED = read_tree(["p/a", "p/b", "q/c", "q/d"])
# A leaf at the top, and a chain from r to s; functions at a, p, p/b, p/r, p/r/s/c and p/r/s/d.
RAGGED = read_tree(["a", "p/b", "p/r/s/c", "p/r/s/d"])

LOADED = LabelLoadings(np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]], dtype=bool))

COUPLED = Coupling(np.random.default_rng(6).standard_normal((N_CLASSES, 2)))

MIXINGS = {
    "flat": Flat(N_CLASSES),
    "by matrix": combinations(),
    "balanced tree": BALANCED,
    "ragged tree": RAGGED,
    "label sets": LOADED,
    "coupled": COUPLED,
    "coupled by nothing": uncoupled(N_CLASSES),
    "label kernel": split(np.array([[2, 1, 0, 0], [1, 3, 1, 0], [0, 1, 2, -1], [0, 0, -1, 2]], dtype=float)),
}


def points() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N_POINTS, 2))


@dataclass(frozen=True)
class Case:
    """Kernels, which latent function uses which, with which variance."""

    name: str
    kernels: tuple[Kernel, ...]
    assignment: tuple[int, ...]
    variances: tuple[float, ...]
    bias_variance: float
    mixing: Callable[[], Mixing] = lambda: Flat(N_CLASSES)

    def __str__(self) -> str:
        return self.name

    def covariance(self, dtype: type = np.float64) -> ClassCovariance:
        choice = Choice("dense", np.dtype(dtype), "", 1e9)
        return ClassCovariance(
            tuple(choice.points(points()).bind(kernel) for kernel in self.kernels),
            np.array(self.assignment),
            np.array(self.variances),
            self.mixing(),
            self.bias_variance,
        )

    def dense(self) -> np.ndarray:
        """K~, (C n, C n), written out."""
        X = points()
        blocks = [
            variance * self.kernels[index](X, X)
            for index, variance in zip(self.assignment, self.variances, strict=True)
        ]
        mixing = np.kron(self.mixing().forward(np.eye(len(self.assignment))), np.eye(N_POINTS))
        bias = np.kron(np.eye(N_CLASSES), np.ones((N_POINTS, N_POINTS)))
        return mixing @ block_diag(*blocks) @ mixing.T + self.bias_variance * bias

    def with_kernel(self, index: int, logs: np.ndarray) -> "Case":
        kernels = list(self.kernels)
        kernels[index] = kernels[index].with_log_parameters(logs)
        return replace(self, kernels=tuple(kernels))

    def with_variances(self, logs: np.ndarray) -> "Case":
        return replace(self, variances=tuple(np.exp(logs)))

    def with_bias_variance(self, log: float) -> "Case":
        return replace(self, bias_variance=float(np.exp(log)))


SMOOTH, ROUGH, HEAVY = Gaussian((0.5, 2.0)), Matern32(0.7), RationalQuadratic(0.4, 1.5)
ONE, EACH = (2.0, 2.0, 2.0, 2.0), (0.5, 1.0, 2.0, 8.0)
SIX = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)

ALL = (
    Case("shared", (SMOOTH,), (0, 0, 0, 0), ONE, 1.5),
    Case("shared without bias", (SMOOTH,), (0, 0, 0, 0), ONE, 0.0),
    Case("scaled", (SMOOTH,), (0, 0, 0, 0), EACH, 1.5),
    Case("separate", (SMOOTH, ROUGH, HEAVY, Gaussian(3.0)), (0, 1, 2, 3), EACH, 1.5),
    Case("separate in another order", (SMOOTH, ROUGH, HEAVY, Gaussian(3.0)), (2, 0, 3, 1), EACH, 1.5),
    Case("groups", (SMOOTH, ROUGH), (0, 0, 1, 1), EACH, 1.5),
    Case("groups that interleave", (SMOOTH, ROUGH), (1, 0, 1, 0), EACH, 0.0),
    Case("groups with one left out", (SMOOTH, ROUGH, HEAVY), (2, 0, 2, 0), EACH, 1.5),
    Case("mixed", (SMOOTH, ROUGH), (0, 1, 0, 1, 1, 0), SIX, 1.5, combinations),
    Case("coupled", (SMOOTH,), (0,) * 4, ONE, 1.5, lambda: COUPLED),
    Case("coupled, scaled", (SMOOTH,), (0,) * 4, EACH, 1.5, lambda: COUPLED),
    Case("coupled, groups", (SMOOTH, ROUGH), (1, 0, 1, 0), EACH, 0.0, lambda: COUPLED),
    Case("tree, shared", (SMOOTH,), (0,) * 6, (2.0,) * 6, 1.5, lambda: BALANCED),
    Case("tree, scaled", (SMOOTH,), (0,) * 6, SIX, 0.0, lambda: BALANCED),
    Case(
        "tree, by level", (SMOOTH, ROUGH), (0, 1, 1, 0, 1, 1), (2.0, 1.0, 1.0, 2.0, 1.0, 1.0), 1.5, lambda: BALANCED
    ),
    Case("ragged tree, scaled", (HEAVY,), (0,) * 6, SIX, 1.5, lambda: RAGGED),
    Case("ragged tree, groups", (SMOOTH, ROUGH, HEAVY), (2, 0, 1, 0, 1, 2), SIX, 1.5, lambda: RAGGED),
)
