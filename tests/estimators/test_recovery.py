"""Training labels recovered from coefficients are those of the fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import logikern
from logikern.estimators._fitted.recovery import find_rows, with_training

X, NUMBERS = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[NUMBERS]
PARENTS = {"setosa": "short", "versicolor": "long", "virginica": "long"}


def fixed(**settings):
    return logikern.KernelLogisticClassifier(criterion=None, random_state=0, **settings)


FITS = {
    "flat": lambda: fixed().fit(X, SPECIES),
    "two classes": lambda: fixed().fit(X, NUMBERS > 0),
    "tree": lambda: fixed(hierarchy=PARENTS, variance=2.0).fit(X, SPECIES),
    "sparse": lambda: fixed(kernel="linear").fit(sparse.csr_array(X), SPECIES),
    "smooth": lambda: fixed(variance=0.01).fit(X, SPECIES),
    "rough": lambda: fixed(variance=1e4).fit(X, SPECIES),
    "free constants": lambda: fixed(bias_variance=np.inf).fit(X, SPECIES),
    "rows without weight": lambda: fixed().fit(X, SPECIES, sample_weight=np.arange(150) % 4 > 0),
    "single precision": lambda: fixed(precision="single", state_precision="single").fit(X, SPECIES),
    "temperature": lambda: logikern.KernelLogisticClassifier(
        "linear", sharpen=True, tying="shared", random_state=0
    ).fit(X, SPECIES),
}


def reloaded(model, folder):
    model.save_model(folder / "model.skops")
    return logikern.load_model(folder / "model.skops")


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_leave_one_out_of_a_file_is_that_of_the_fit(name, tmp_path):
    model = FITS[name]()
    recovered = with_training(reloaded(model, tmp_path))
    np.testing.assert_array_equal(recovered._training.targets, model._training.targets)
    np.testing.assert_allclose(recovered.loo_proba_, model.loo_proba_, atol=1e-10)
    assert recovered.suspects()["row"].tolist() == model.suspects()["row"].tolist()


def test_model_in_memory_keeps_its_training_data():
    model = fixed().fit(X, SPECIES, sample_weight=np.linspace(1, 2, 150))
    assert with_training(model) is model


def test_loaded_model_is_left_as_it_was(tmp_path):
    loaded = reloaded(fixed().fit(X, SPECIES), tmp_path)
    with_training(loaded)
    assert "_training" not in vars(loaded)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: fixed().fit(X, SPECIES, sample_weight=np.linspace(0.5, 2.0, 150)),
        lambda: fixed(class_weight={"setosa": 2.0}).fit(X, SPECIES),
        lambda: fixed(hierarchy=PARENTS).fit(X, np.where(np.arange(150) % 5, SPECIES, "long")),
        lambda: fixed().fit(X, 0.7 * np.eye(3)[NUMBERS] + 0.1),
        lambda: fixed(operator="neighbourhoods").fit(X, SPECIES),
        lambda: fixed(one_vs_rest=True).fit(X, SPECIES),
    ],
    ids=["weights", "class weights", "inner nodes", "distributions", "neighbourhoods", "one against rest"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_labels_that_cannot_be_recovered_are_refused(fit, tmp_path):
    with pytest.raises(ValueError, match="Leave-one-out needs the training labels"):
        with_training(reloaded(fit(), tmp_path))


def test_rows_are_found_in_any_order(tmp_path):
    order = np.random.default_rng(0).permutation(150)
    model = with_training(reloaded(fixed().fit(X[order[:100]], SPECIES[order[:100]]), tmp_path))
    found = find_rows(model, X, SPECIES)
    assert len(set(found.tolist())) == 100
    np.testing.assert_array_equal(X[found], X[order[:100]])
    np.testing.assert_array_equal(SPECIES[found], SPECIES[order[:100]])


def test_row_with_another_label_is_missed(tmp_path):
    model = with_training(reloaded(fixed().fit(X, SPECIES), tmp_path))
    with pytest.raises(
        ValueError, match="1 of the 150 rows that the model was fitted on are not among the 150 given"
    ):
        find_rows(model, X, np.where(np.arange(150) == 60, "setosa", SPECIES))
