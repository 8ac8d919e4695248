"""Every likelihood, with targets to try it on. A new likelihood is one more row here."""

from dataclasses import dataclass

import numpy as np

from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.bernoulli import Bernoulli
from logikern.likelihoods.softmax import Softmax
from logikern.likelihoods.squared import Squared
from tests.likelihoods.poisson import Poisson

N_BATCH, N_CLASSES, N_POINTS = 3, 4, 6


def labels() -> np.ndarray:
    return np.eye(N_CLASSES)[:, [0, 1, 2, 3, 1, 1]]


def distributions() -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.ones(N_CLASSES), N_POINTS).T


def present() -> np.ndarray:
    return np.random.default_rng(5).integers(0, 2, (N_CLASSES, N_POINTS)).astype(float)


def shares() -> np.ndarray:
    return np.random.default_rng(6).random((N_CLASSES, N_POINTS))


PARENTS = (-1, 0, 0, 2)


def nested(targets: np.ndarray) -> np.ndarray:
    """Targets that do not exceed those of their parents."""
    nested = targets.copy()
    for label, parent in enumerate(PARENTS[1:], 1):
        nested[label] *= nested[parent]
    return nested


def numbers() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((N_CLASSES, N_POINTS))


def counts() -> np.ndarray:
    return np.random.default_rng(4).poisson(3.0, (N_CLASSES, N_POINTS)).astype(float)


def weights() -> np.ndarray:
    """Ones; ones and zeros as for a fold; anything."""
    some = np.random.default_rng(2).uniform(0.0, 5.0, N_POINTS)
    return np.stack([np.ones(N_POINTS), np.arange(N_POINTS) % 2.0, some])


@dataclass(frozen=True, eq=False)
class Case:
    name: str
    likelihood: Likelihood
    targets: np.ndarray

    def __str__(self) -> str:
        return self.name


ALL = (
    Case("softmax of labels", Softmax(), labels()),
    Case("softmax of distributions", Softmax(), distributions()),
    Case("bernoulli of labels", Bernoulli(), present()),
    Case("bernoulli of shares", Bernoulli(), shares()),
    Case("bernoulli of a tree", Bernoulli(PARENTS), nested(present())),
    Case("bernoulli of shares in a tree", Bernoulli(PARENTS), nested(shares())),
    Case("squared", Squared(), numbers()),
    Case("poisson", Poisson(), counts()),
)
