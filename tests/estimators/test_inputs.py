"""The same table in every form gives the same probabilities, and its names are kept."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from tests.estimators.samples import COLUMNS, NAMES, SPECIES, X, fixed

polars = pytest.importorskip("polars")

FORMS = {
    "list": X.tolist(),
    "column order": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "read only": np.frombuffer(X.tobytes()).reshape(X.shape),
    "csr matrix": sparse.csr_matrix(X),
    "csr array": sparse.csr_array(X),
    "csc": sparse.csc_matrix(X),
    "coo": sparse.coo_array(X),
    "lil": sparse.lil_matrix(X),
    "pandas": pd.DataFrame(X, columns=COLUMNS),
    "pandas arrow": pd.DataFrame(X, columns=COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas sparse": pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), columns=COLUMNS),
    "polars": polars.DataFrame(X, schema=COLUMNS),
}
SETTINGS = {
    "gaussian": fixed(),
    "linear": fixed("linear"),
    "polynomial": fixed("polynomial", tying="separate"),
    "newton": fixed(solver="newton", tol=1e-8),
    "tiled": fixed("matern32", operator="tiled"),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("form", FORMS)
def test_form_of_the_table_does_not_matter(form, setting):
    model = clone(SETTINGS[setting])
    wanted = clone(model).fit(X, SPECIES).predict_proba(X)
    found = model.fit(FORMS[form], SPECIES).predict_proba(FORMS[form])
    # Sparse and dense products round differently.
    np.testing.assert_allclose(found, wanted, atol=1e-7)


@pytest.mark.parametrize("setting", SETTINGS)
def test_fit_on_one_form_predicts_on_another(setting):
    model = clone(SETTINGS[setting]).fit(X, SPECIES)
    sparse_model = clone(SETTINGS[setting]).fit(sparse.csr_matrix(X), SPECIES)
    wanted = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(sparse.csc_matrix(X)), wanted, atol=1e-7)
    np.testing.assert_allclose(sparse_model.predict_proba(X), wanted, atol=1e-7)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_float32_gives_the_probabilities_of_float64(form, setting):
    single = form(X.astype(np.float32))
    wanted = clone(SETTINGS[setting]).fit(X, SPECIES).predict_proba(X)
    found = clone(SETTINGS[setting]).fit(single, SPECIES).predict_proba(single)
    # float32 holds seven digits of the inputs; distances near zero keep about four.
    np.testing.assert_allclose(found, wanted, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, bool])
def test_whole_numbers_are_taken_as_floats(dtype):
    whole = (X > 3).astype(dtype) if dtype is bool else np.round(10 * X).astype(dtype)
    model = fixed().fit(whole, SPECIES)
    wanted = fixed().fit(whole.astype(float), SPECIES).predict_proba(whole.astype(float))
    np.testing.assert_allclose(model.predict_proba(whole), wanted, atol=1e-12)


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_names_of_features_are_kept_and_required(form):
    table = FORMS[form]
    model = fixed().fit(table, SPECIES)
    assert model.feature_names_in_.tolist() == COLUMNS
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[COLUMNS[::-1]])


@pytest.mark.parametrize("labels", [NAMES.tolist(), pd.Series(NAMES), pd.Categorical(NAMES), polars.Series(NAMES)])
def test_form_of_the_labels_does_not_matter(labels):
    model = fixed().fit(X, labels)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.score(X, NAMES) > 0.95


def test_frame_of_pandas_keeps_its_index():
    table = pd.DataFrame(X, columns=COLUMNS, index=[f"flower {place}" for place in range(len(X))])
    model = fixed().fit(table, NAMES)
    frame = model.predict_proba_frame(table[5:9])
    assert frame.index.tolist() == ["flower 5", "flower 6", "flower 7", "flower 8"]
    assert frame.columns.tolist() == model.classes_.tolist()
    assert np.array_equal(frame.to_numpy(), model.predict_proba(table[5:9]))


def test_frame_of_polars_stays_polars():
    table = FORMS["polars"]
    model = fixed().fit(table, SPECIES)
    frame = model.predict_proba_frame(table)
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["0", "1", "2"]
    assert np.array_equal(frame.to_numpy(), model.predict_proba(table))


def test_frame_of_an_array_has_plain_rows():
    model = fixed().fit(X, SPECIES)
    frame = model.predict_proba_frame(X)
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == list(range(len(X)))
    assert frame.columns.tolist() == [0, 1, 2]
