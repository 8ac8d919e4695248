"""What goes wrong in practice, and what each gets: a sentence that names the culprit, or the right answer."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from logikern import KernelLogisticClassifier
from logikern.kernels import FunctionKernel, Gaussian, Precomputed
from tests.estimators.samples import KINDS, WORDS, fixed, shared_pairs

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = np.arange(30) % 3
MATRIX = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
FRAME = pd.DataFrame(X, columns=list("abc"))


def changed(value, place=(3, 1)):
    """X with one entry replaced."""
    table = X.copy()
    table[place] = value
    return table


def fit(table=X, targets=Y, weights=None, **settings):
    return lambda: fixed(**settings).fit(table, targets, sample_weight=weights)


def predict(table, **settings):
    return lambda: fixed(**settings).fit(X, Y).predict_proba(table)


def grouped(groups, **settings):
    return lambda: KernelLogisticClassifier(**settings).fit(X, Y, groups=groups)


def asymmetric(x, z):
    return float(x[0] > z[0])


TABLES = {
    "one dimension": (fit(X[:, 0]), "Expected 2D array, got 1D"),
    "three dimensions": (fit(np.zeros((30, 3, 2))), "Found array with dim 3"),
    "a number": (fit(3.0), "Expected 2D array, got scalar"),
    "nothing": (fit(None), "Expected 2D array, got scalar"),
    "no rows": (fit(X[:0], Y[:0]), r"0 sample\(s\)"),
    "no columns": (fit(X[:, :0]), r"0 feature\(s\)"),
    "one row": (fit(X[:1], Y[:1]), "at least two classes, but has one class"),
    "rows of different lengths": (fit([[1.0], [1.0, 2.0]], [0, 1]), "inhomogeneous"),
    "strings": (fit(np.full((30, 3), "red")), "No column of `X` is left to learn from"),
    "strings among numbers": (fit(FRAME.assign(a=[*range(29), "x"])), "Column `a` mixes types: .* 'x' in row 29"),
    "objects": (fit(np.array([["y", None, "x"]] * 30, dtype=object)), "Column `x0` is left out: all its values are"),
    "complex": (fit(X + 1j), "Complex data not supported"),
    "NaN alone": (fit(np.full((30, 3), np.nan)), "every value is NaN"),
    "NaN, sparse": (fit(sparse.csr_matrix(changed(np.nan))), "Sparse `X` must not hold NaN"),
    "infinite in a frame": (fit(pd.DataFrame(changed(np.inf))), "Column `1` is infinite in row 3"),
    "infinite": (fit(changed(np.inf)), "Input X contains infinity"),
    "infinite, sparse": (fit(sparse.csr_matrix(changed(-np.inf))), "Input X contains infinity"),
    "huge": (fit(1e300 * X), "must not contain magnitudes above 1e\\+150, but one is"),
    "huge, sparse": (fit(sparse.csr_matrix(1e300 * X)), "must not contain magnitudes above"),
    "huge, linear": (fit(1e300 * X, kernel="linear"), "Scale the inputs"),
    "tiny": (fit(1e-160 * X), r"largest difference is \d\.\d+e-160, whose square underflows"),
    "tiny beside a constant": (fit(np.c_[1e-160 * X, np.ones(30)]), "whose square underflows"),
    "tiny, sparse": (fit(sparse.csr_matrix(1e-160 * X)), "whose square underflows"),
    "tiny, linear": (fit(1e-160 * X, kernel="linear"), "Scale the inputs"),
    "huge cubes": (fit(1e110 * X, kernel="polynomial", rate=1.0), r"k\(x, x\) is inf for row"),
}

TARGETS = {
    "none": (fit(targets=None), "requires y to be passed"),
    "too few": (fit(targets=Y[:-1]), "inconsistent numbers of samples"),
    "one class": (fit(targets=np.zeros(30)), "at least two classes"),
    "continuous": (fit(targets=X[:, 0]), "Unknown label type: continuous"),
    "NaN": (fit(targets=np.where(Y == 1, np.nan, Y)), "None, NaN or NA in rows 1, 4, 7, 10, 13 and 5 more"),
    "infinite": (fit(targets=np.where(Y == 1, np.inf, Y)), "Input y contains infinity"),
    "names with holes": (fit(targets=np.array(["a", None, "b"] * 10)), "NaN or NA in rows 1, 4"),
    "list with holes": (fit(targets=["a", None, "b"] * 10), "NaN or NA in rows 1, 4"),
    "names with NaN": (fit(targets=np.array(["a", np.nan, "b"] * 10, dtype=object)), "NaN or NA in rows 1, 4"),
    "names with NA": (fit(targets=pd.Series(["a", pd.NA, "b"] * 10, dtype="string")), "NaN or NA in rows 1, 4"),
    "objects with NA": (fit(targets=pd.Series([*"abc" * 9, "a", pd.NA, "b"], dtype=object)), "NA in row 28. Drop"),
    "categories with NA": (fit(targets=pd.Series(["a", None, "b"] * 10, dtype="category")), "NaN or NA in rows 1, 4"),
    "numbers with NA": (fit(targets=pd.Series([0, None, 1] * 10, dtype="Int64")), "NaN or NA in rows 1, 4"),
    "truth with NA": (fit(targets=pd.Series([True, None, False] * 10, dtype="boolean")), "NaN or NA in rows 1, 4"),
    "dates with holes": (fit(targets=pd.Series(pd.to_datetime(["2020", None, "2021"] * 10))), "NA in rows 1, 4"),
    "nodes with NA": (fit(targets=pd.Series(["a", pd.NA, "b"] * 10), hierarchy={"a": "p", "b": "q"}), "in rows 1, 4"),
    "names and numbers": (fit(targets=np.array(["a", 1, "b"] * 10, dtype=object)), "but mixes int, str"),
    "three dimensions": (fit(targets=np.zeros((30, 2, 2))), "Found array with dim 3"),
    "sparse": (fit(targets=sparse.csr_matrix(np.eye(3)[Y])), "Sparse data was passed for y"),
    "several labels": (fit(targets=np.ones((30, 3))), "row 0 sums to 3. Pass class labels"),
    "sums below one": (fit(targets=np.tile([0.5, 0.4], (30, 1))), "row 0 sums to 0.9"),
    "negative": (fit(targets=np.tile([1.5, -0.5], (30, 1))), "row 0 has the negative value -0.5"),
    "NaN in distributions": (fit(targets=np.tile([np.nan, 1.0], (30, 1))), "NaN or NA in rows 0, 1"),
    "NA in distributions": (fit(targets=pd.DataFrame({"a": [None, 0.5] * 15, "b": 0.5})), "NaN or NA in rows 0, 2"),
    "words in distributions": (fit(targets=np.tile(["a", "b"], (30, 1))), "holds values that are not numbers"),
    "of one class alone": (fit(targets=np.tile([1.0, 0.0], (30, 1))), "at least two classes, but belong to 1 of 2"),
    "more classes than memory": (fit(targets=np.arange(29)), "inconsistent numbers of samples"),
}

WEIGHTS = {
    "negative": (fit(weights=-np.ones(30)), "but is -1 at row 0"),
    "zero": (fit(weights=np.zeros(30)), "is zero for every point"),
    "too few": (fit(weights=np.ones(3)), r"must have shape \(30,\), but has \(3,\)"),
    "NaN": (fit(weights=np.full(30, np.nan)), "must be finite and non-negative, but is nan at row 0"),
    "infinite": (fit(weights=np.full(30, np.inf)), "must be finite and non-negative, but is inf at row 0"),
    "two dimensions": (fit(weights=np.ones((30, 1))), r"must have shape \(30,\), but has \(30, 1\)"),
    "a word": (fit(weights="balanced"), "`sample_weight` must hold numbers, but is 'balanced'"),
    "words": (fit(weights=["heavy"] * 30), "`sample_weight` must hold numbers"),
    "on one class only": (fit(weights=(Y == 0) * 1.0), "at least two classes, but belong to 1 of 3"),
    "huge": (fit(weights=np.full(30, 1e300)), "not finite"),
    "of unknown classes": (
        fit(class_weight={9: 1.0}),
        "`class_weight` has 9, which is not a class, and no weight for 0",
    ),
    "of classes, negative": (fit(class_weight={0: -1.0}), "`class_weight` must hold finite, non-negative weights"),
    "of classes, NaN": (fit(class_weight={0: np.nan}), "`class_weight` must hold finite, non-negative weights"),
    "of classes, all zero": (fit(class_weight=dict.fromkeys(range(3), 0.0)), "but belong to 0 of 3"),
    "of classes, as a list": (fit(class_weight=[1, 2, 3]), "`class_weight` must be None, 'balanced' or a dict"),
    "of classes, unknown word": (fit(class_weight="even"), "`class_weight` must be None, 'balanced' or a dict"),
}

INDEFINITE = MATRIX.copy()
INDEFINITE[0, 1] = INDEFINITE[1, 0] = 50.0

KERNELS = {
    "unknown": (fit(kernel="rbf"), r"`kernel` must be one of \['auto', 'gaussian'"),
    "none": (fit(kernel=None), "`kernel` must be one of"),
    "a number": (fit(kernel=3), "`kernel` must be one of"),
    "an array": (fit(kernel=np.eye(3)), "`kernel` must be one of"),
    "a class": (fit(kernel=Gaussian), r"Pass Gaussian\(\) instead of the class"),
    "matrix not square": (fit(MATRIX[:, :5], kernel="precomputed"), "must be square"),
    "matrix not symmetric": (fit(np.triu(MATRIX), kernel="precomputed"), "must be symmetric"),
    "matrix negative": (fit(-MATRIX, kernel="precomputed"), r"k\(x, x\) is -1 for row 0"),
    "matrix indefinite": (fit(MATRIX - 0.5 * np.eye(30), kernel="precomputed"), "has eigenvalues from -0.4"),
    "matrix indefinite, small": (fit(INDEFINITE, kernel="precomputed", solver="exact"), "positive semidefinite"),
    "matrix indefinite, pairs": (fit(INDEFINITE, kernel="precomputed", solver="smo"), "positive semidefinite"),
    "matrix with NaN": (fit(np.full((30, 30), np.nan), kernel="precomputed"), "contains NaN"),
    "matrix and inputs": (fit(MATRIX, kernel=Precomputed() + Gaussian()), "cannot hold both inputs and kernel"),
    "returns none": (fit(kernel=lambda x, z: None), "must return a number, but returned None"),
    "returns complex": (fit(kernel=lambda x, z: 1j), "must return a number, but returned 1j"),
    "returns an array": (fit(kernel=lambda x, z: x * z), "must return a number"),
    "returns NaN": (fit(kernel=lambda x, z: np.nan), r"k\(x, x\) is nan"),
    "returns NaN at times": (fit(kernel=lambda x, z: 1.0 if x is z else np.nan), "not finite"),
    "returns infinity": (fit(kernel=FunctionKernel(lambda x, z: np.inf)), r"k\(x, x\) is inf"),
    "is not symmetric": (fit(kernel=asymmetric), "must be positive semidefinite"),
    "rate negative": (fit(rate=-1.0), "`rate` must be a positive finite number, but is -1.0"),
    "rate zero": (fit(rate=0), "`rate` must be a positive finite number"),
    "rate NaN": (fit(rate=np.nan), "`rate` must be a positive finite number"),
    "rate too short": (fit(rate=[1.0, 2.0]), "has 2 values for 3 inputs"),
    "rate empty": (fit(rate=[]), "`rate` must have one value per input, but is empty"),
    "rate a word": (fit(rate="scale"), "`rate` must be a number or a sequence of numbers, but is 'scale'"),
    "rates as words": (fit(rate=["a", "b", "c"]), "`rate` must be a number or a sequence"),
    "rate of two dimensions": (fit(rate=np.ones((1, 3))), "`rate` must be a number or a sequence"),
    "rate of a linear kernel": (fit(rate=1.0, kernel="linear"), "`rate` is a parameter of named kernels"),
    "rate beside an object": (fit(rate=1.0, kernel=Gaussian()), "give the parameters to the Kernel object"),
}

SETTINGS = {
    "solver": (fit(solver="lbfgs"), r"`solver` must be one of \['auto'"),
    "operator": (fit(operator="sparce"), "`operator` must be one of"),
    "operator without features": (fit(operator="features"), "features"),
    "precision": (fit(precision="half"), "`precision` must be one of"),
    "tying": (fit(tying="tied"), r"`tying` must be one of \['auto', 'scaled', 'separate', 'shared'\]"),
    "search_size": (fit(search_size="all"), r"must be 'auto', None \(all rows\) or an integer of at least 10"),
    "checkpoint": (fit(checkpoint=3), "`checkpoint` must be None or a path, but is 3"),
    "tying too short": (fit(tying=[0, 1]), r"for each class \(3\), but has 2"),
    "tying a number": (fit(tying=3), "`tying` must be a name or a list"),
    "tying nested": (fit(tying=[[0], [1], [2]]), "`tying` must be a name or a list"),
    "variance negative": (fit(variance=-1.0), "`variance` must be a positive number"),
    "variance zero": (fit(variance=0), "`variance` must be a positive number"),
    "variance NaN": (fit(variance=np.nan), "`variance` must be a positive number"),
    "variance too long": (fit(variance=[1.0, 2.0]), "1 with tying='auto'., but has 2 values"),
    "variance a word": (fit(variance="large"), "`variance` must be a number or a sequence"),
    "bias variance negative": (fit(bias_variance=-1.0), "`bias_variance` must be a non-negative number"),
    "bias variance NaN": (fit(bias_variance=np.nan), "`bias_variance` must be a non-negative number"),
    "bias variance none": (fit(bias_variance=None), "Pass 0 to omit biases"),
    "tol zero": (fit(tol=0.0), "`tol` must be a positive number"),
    "max_iter true": (fit(max_iter=True), "`max_iter` must be an integer of at least 1, but is True"),
    "tol true": (fit(tol=True), "`tol` must be a positive number, but is True"),
    "max_iter frame": (fit(max_iter=FRAME), r"but is a value of type DataFrame and shape \(30, 3\)\."),
    "max_iter zero": (fit(max_iter=0), "`max_iter` must be an integer of at least 1"),
    "max_iter a fraction": (fit(max_iter=1.5), "`max_iter` must be an integer"),
    "memory a word": (fit(memory_limit="lots"), "`memory_limit` must be a number of bytes or text such as"),
    "memory a point": (fit(memory_limit="."), "`memory_limit` must be a number of bytes or text such as"),
    "memory negative": (fit(memory_limit=-5), "`memory_limit` must be a number of bytes or text such as"),
    "threads below all": (fit(n_jobs=-7), "`n_jobs` must be None, -1 or a positive"),
    "no threads": (fit(n_jobs=0), "`n_jobs` must be None, -1 or a positive"),
    "more threads than exist": (fit(n_jobs=10**30), "`n_jobs` must be None, -1 or a positive"),
    "criterion": (fit(criterion="evidence"), "`criterion` must be"),
    "criterion an array": (fit(criterion=np.ones(2)), "`criterion` must be"),
    "one against rest an array": (fit(one_vs_rest=np.ones(2)), "`one_vs_rest` must be True or False"),
    "learning the bias a word": (fit(learn_bias="yes"), "`learn_bias` must be True or False"),
    "random state": (fit(random_state="seed"), "cannot be used to seed"),
    "verbose": (fit(verbose="yes"), "`verbose` must be an integer"),
    "no such argument": (lambda: KernelLogisticClassifier(gamma=1.0), "unexpected keyword argument 'gamma'"),
    "folds": (fit(criterion="cv", cv=1), "`cv` must be at least 2 folds"),
    "folds as a word": (fit(criterion="cv", cv="five"), "cv"),
    "folds of nothing": (fit(criterion="cv", cv=[]), "`cv`"),
    "groups too short": (grouped([0, 1]), r"`groups` must have one group for each of the 30 rows"),
    "groups fewer than folds": (grouped(np.arange(30) % 2, cv=5), "greater than the number of|n_splits"),
    "relevance": (fit(ard="yes"), "`ard` must be 'auto', True or False"),
    "search size": (fit(search_size=3), "`search_size` must be .* an integer"),
    "search size an array": (fit(search_size=np.ones(2)), "`search_size` must be .* an integer"),
    "no time": (fit(max_time=0.0), "`max_time` must be a positive number"),
}

OBJECTS = {
    "none": (fit(None, KINDS, kernel=shared_pairs), "must be a sequence of objects"),
    "one string": (fit("banana", KINDS, kernel=shared_pairs), "must be a sequence of objects"),
    "a dict": (fit({"a": 1}, KINDS, kernel=shared_pairs), "must be a sequence of objects"),
    "no objects": (fit([], [], kernel=shared_pairs), "`X` has 0 points"),
    "targets too short": (fit(WORDS, KINDS[:3], kernel=shared_pairs), "inconsistent numbers of samples"),
    "targets missing": (fit(WORDS, None, kernel=shared_pairs), "requires y to be passed"),
    "targets NaN": (fit(WORDS, [np.nan] * 10, kernel=shared_pairs), "NaN or NA in rows 0, 1"),
    "weights negative": (fit(WORDS, KINDS, [-1.0] * 10, kernel=shared_pairs), "but is -1 at row 0"),
    "weights too short": (fit(WORDS, KINDS, [1.0], kernel=shared_pairs), r"must have shape \(10,\)"),
    "weights all zero": (fit(WORDS, KINDS, [0.0] * 10, kernel=shared_pairs), "is zero for every point"),
}

PREDICTIONS = {
    "before the fit": (lambda: fixed().predict(X), "is not fitted yet"),
    "saved before the fit": (lambda: fixed().save_model("model.skops"), "is not fitted yet"),
    "too few features": (predict(X[:, :2]), "X has 2 features, but .* is expecting 3"),
    "other names": (
        lambda: fixed().fit(FRAME, Y).predict(FRAME.rename(columns={"a": "z"})),
        "feature names should match",
    ),
    "NaN, sparse": (predict(sparse.csr_matrix(changed(np.nan))), "Sparse `X` must not hold NaN"),
    "infinite": (predict(changed(np.inf)), "Input X contains infinity"),
    "one dimension": (predict(X[0]), "Expected 2D array, got 1D"),
    "no rows": (predict(X[:0]), r"0 sample\(s\)"),
    "strings": (predict([["a", "b", "c"]]), "Column `x0` must hold numbers, but holds 'a' in row 0"),
    "overflow": (
        predict(1e200 * X, kernel="polynomial"),
        "between row 0 of `X` and the training points are not finite",
    ),
    "kernel values of other points": (
        lambda: fixed("precomputed").fit(MATRIX, Y).predict(MATRIX[:, :5]),
        "X has 5 features, but .* is expecting 30",
    ),
    "loss a number": (lambda: fixed().fit(X, Y).decide(X, 3.0), r"`loss` must have a row for each of the 3 classes"),
    "score of other labels": (lambda: fixed().fit(X, Y).score(X, np.array(list("abc"))[Y]), "Mix of label input"),
}

REFUSED = {
    f"{group}: {name}": case
    for group, cases in {
        "table": TABLES,
        "targets": TARGETS,
        "weights": WEIGHTS,
        "kernel": KERNELS,
        "setting": SETTINGS,
        "objects": OBJECTS,
        "prediction": PREDICTIONS,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("attempt", "fragment"), REFUSED.values(), ids=REFUSED.keys())
def test_mistake_is_named(attempt, fragment):
    with pytest.raises((ValueError, TypeError), match=fragment):
        attempt()


def test_error_before_the_fit_is_scikit_learns_own():
    with pytest.raises(NotFittedError):
        fixed().predict_proba(X)


def test_error_inside_a_users_kernel_is_passed_on():
    with pytest.raises(ZeroDivisionError):
        fixed(lambda x, z: 1 / 0).fit(X, Y)
