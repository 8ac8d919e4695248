"""A name that is nearly right gets a suggestion."""

import pytest

from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.estimators._inputs.arguments import suggest
from tests.estimators.samples import SPECIES, X

NEAR = [
    ("kernel", "rbf", "gaussian"),
    ("kernel", "Gaussian", "gaussian"),
    ("kernel", "gausian", "gaussian"),
    ("kernel", "laplace", "laplacian"),
    ("kernel", "matern-52", "matern52"),
    ("kernel", "poly", "polynomial"),
    ("kernel", "Auto", "auto"),
    ("kernel", "pre-computed", "precomputed"),
    ("solver", "Newton", "newton"),
    ("solver", "cholesky", "exact"),
    ("solver", "newton-cg", "newton"),
    ("criterion", "leave-one-out", "loo"),
    ("criterion", "CV", "cv"),
    ("tying", "Separate", "separate"),
    ("tying", "share", "shared"),
    ("operator", "tile", "tiled"),
    ("precision", "float64", "double"),
    ("optimizer", "neldermead", "nelder-mead"),
    ("optimizer", "quasi newton", "quasi-newton"),
    ("on_interrupt", "Keep", "keep"),
]


@pytest.mark.parametrize("estimator", [KernelLogisticClassifier, KernelRegressor])
@pytest.mark.parametrize("argument, wrong, meant", NEAR)
def test_near_name_is_suggested(estimator, argument, wrong, meant):
    with pytest.raises(ValueError, match=f"`{argument}` must be .* but is {wrong!r}. Did you mean {meant!r}?"):
        estimator(**{argument: wrong}).fit(X, SPECIES)


@pytest.mark.parametrize("estimator", [KernelLogisticClassifier, KernelRegressor])
def test_wrong_kernel_is_reported_before_its_rate(estimator):
    with pytest.raises(ValueError, match="`kernel` must be .* but is 'rbf'. Did you mean 'gaussian'?"):
        estimator(kernel="rbf", rate=1.0).fit(X, SPECIES)


@pytest.mark.parametrize("wrong", ["xyz", 3, None])
def test_nothing_is_suggested_for_something_else(wrong):
    assert suggest(wrong, ("gaussian", "linear")) == ""


def test_synonym_is_suggested_only_if_it_is_a_choice():
    assert suggest("rbf", ("linear", "polynomial")) == ""
    assert suggest("lbfgs", ("quasi-newton", "nelder-mead")) == " Did you mean 'quasi-newton'?"


def test_american_spelling_of_neighbourhoods_is_suggested():
    with pytest.raises(ValueError, match="Did you mean 'neighbourhoods'?"):
        KernelLogisticClassifier(operator="neighborhoods").fit(X, SPECIES)
