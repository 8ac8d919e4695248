"""Models of every kind: estimator, inputs and targets."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

from logikern import KernelLogisticClassifier, NeighbourhoodSettings
from logikern.kernels import Gaussian, Laplacian, Linear, Matern32, Polynomial, RationalQuadratic
from tests.estimators.samples import fixed

X, SPECIES = load_iris(return_X_y=True)
X, SPECIES = X[::3], SPECIES[::3]
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
DISTRIBUTIONS = np.eye(3)[SPECIES] * 0.8 + 0.2 / 3

LINKS = [("setosa", "petal"), ("versicolor", "petal"), ("virginica", None)]
PATHS = np.array(["a/x", "a/y", "b"])[SPECIES]
TUPLES = [("a", "x"), ("a", "y"), ("b",)]

MODELS = {
    "defaults": (fixed(), X, SPECIES),
    "names of classes": (fixed(), X, NAMES),
    "names as objects": (fixed(), X, NAMES.astype(object)),
    "two classes, yes and no": (fixed(), X, SPECIES == 1),
    "float classes": (fixed(), X, SPECIES.astype(float)),
    "named features": (fixed("matern52"), FRAME, NAMES),
    "float32": (fixed(), X.astype(np.float32), SPECIES),
    "sparse points": (fixed("linear"), sparse.csr_matrix(X), SPECIES),
    "sparse array": (fixed(), sparse.csr_array(X), SPECIES),
    "given matrix": (fixed("precomputed"), X @ X.T, SPECIES),
    "soft targets": (fixed(), X, pd.DataFrame(DISTRIBUTIONS, columns=list("xyz"))),
    "kernel each": (fixed(tying="separate", variance=[1.0, 2.0, 3.0]), X, SPECIES),
    "groups": (fixed(tying=["one", "two", "one"]), X, SPECIES),
    "rate per input": (fixed(rate=np.array([1.0, 2.0, 0.3, 1e-9])), X, SPECIES),
    "algebra": (
        fixed(Gaussian((1.0, 2.0, 3.0, 4.0)) + 2.5 * Linear() * Matern32(0.3)),
        X,
        SPECIES,
    ),
    "laplacian": (fixed("laplacian"), X, SPECIES),
    "shared rates": (fixed(Laplacian((1.0, 0.3), columns=(0, 1, 1, 0)) + Gaussian(0.5)), X, SPECIES),
    "other kernels": (fixed(RationalQuadratic() + Polynomial(degree=2)), X, SPECIES),
    "learned": (KernelLogisticClassifier(cv=2, search_size=40, random_state=0), X, NAMES),
    "learned by a splitter": (
        KernelLogisticClassifier("linear", cv=KFold(3), checkpoint=None, random_state=0),
        X,
        SPECIES,
    ),
    "tree by paths": (fixed(hierarchy="paths"), X, PATHS),
    "tree of tuples": (fixed(hierarchy=[("a", "x"), ("a", "y"), ("b",)]), X, [TUPLES[own] for own in SPECIES]),
    "tree of rows": (fixed(hierarchy=pd.DataFrame(LINKS), tying="level"), X, NAMES),
    "tree of mixed labels": (fixed(hierarchy={0: "a", 1: "a", 2: None}), X, SPECIES),
    "coarse labels": (fixed(hierarchy="paths", tying="scaled"), X, np.where(np.arange(len(X)) % 4, PATHS, "a")),
    "kernel of labels": (fixed(label_kernel=np.eye(3) + 0.5, tying="level"), X, NAMES),
    "one against the rest": (fixed(one_vs_rest=True), X, NAMES),
    "neighbourhoods": (fixed(operator=NeighbourhoodSettings(20, partitions=2)), X, NAMES),
    "neighbourhoods by name": (fixed(operator="neighbourhoods"), sparse.csr_array(X), SPECIES),
    "neighbourhoods and landmarks": (fixed(operator=NeighbourhoodSettings(20, 5, 2), tying="separate"), X, SPECIES),
    "neighbourhoods of a tree": (fixed(operator=NeighbourhoodSettings(20), hierarchy="paths"), X, PATHS),
    "neighbourhoods against the rest": (
        fixed(operator=NeighbourhoodSettings(20, partitions=1), one_vs_rest=True),
        X,
        NAMES,
    ),
    "options": (
        fixed(
            class_weight={0: 1.0, 1: 2.0, 2: 0.5},
            memory_limit="1GB",
            n_jobs=1,
            random_state=np.random.RandomState(3),
            solver="newton",
        ),
        X,
        SPECIES,
    ),
}
