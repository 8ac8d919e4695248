"""Texts as problems of a fit point by point, and their optima by the exact solver."""

from functools import cache

import numpy as np
from scipy import sparse

from logikern.kernels import Linear
from tests.fitting import catalogue
from tests.structure.trees import TREES

N_POINTS, N_WORDS = 60, 40


def texts(n=N_POINTS, seed=0):
    """Few words in each; one has none, two are the same, and one word is in all others."""
    random = np.random.default_rng(seed)
    X = sparse.random(n, N_WORDS, 0.08, format="lil", random_state=random)
    X[:, 0] = 0.3
    X[3] = 0.0
    X[5] = X[4]
    return sparse.csr_array(X)


def texts_repeated():
    """Every tenth text is the same."""
    X = texts().tolil()
    X[::10] = X[7]
    return sparse.csr_array(X)


def make(mixing=None, n_classes=4, soft=False, X=None, **options):
    n_classes = n_classes if mixing is None else mixing.n_classes
    targets = (catalogue.distributions if soft else catalogue.labels)(N_POINTS, n_classes)
    settings = {"operator": "features", "variances": 5.0} | options
    return catalogue.make_problem(Linear(), texts() if X is None else X, targets, mixing=mixing, **settings)


def of_levels(name, **options):
    tree = TREES[name]
    return make(tree, variances=0.5 * 3.0**tree.latent_depths, **options)


# Points that all see the same features: these creep.
CREEPING = {
    "large bias": lambda: make(bias_variance=1e3),
    "large variance": lambda: make(variances=1e4),
    "both": lambda: make(TREES["chain"], variances=1e4, bias_variance=1e3, weights=SOME_WEIGHTS),
}
SOME_WEIGHTS = catalogue.weightings(N_POINTS)
PROBLEMS = {
    "flat": lambda: make(),
    "variances of classes": lambda: make(variances=np.array([0.1, 1.0, 10.0, 50.0])),
    "two classes": lambda: make(n_classes=2),
    "balanced": lambda: of_levels("balanced"),
    "ragged": lambda: of_levels("ragged"),
    "chain": lambda: of_levels("chain"),
    "without siblings": lambda: of_levels("without siblings"),
    "weightings": lambda: of_levels("chain", weights=SOME_WEIGHTS),
    "distributions": lambda: of_levels("balanced", soft=True, weights=SOME_WEIGHTS),
    "equal texts": lambda: of_levels("chain", weights=SOME_WEIGHTS, X=texts_repeated()),
    "without bias": lambda: make(bias_variance=0.0),
    "a function of no variance": lambda: make(variances=np.array([0.0, 1.0, 2.0, 3.0])),
}


@cache
def build(name):
    return (PROBLEMS | CREEPING)[name]()


@cache
def optimum(name):
    return catalogue.EXACT.fit(build(name))
