"""Estimators on tables with categories and gaps: the same as on inputs that were encoded by hand."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.preprocessing import StandardScaler

from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.kernels import Gaussian
from tests.estimators.samples import fixed

RANDOM = np.random.default_rng(0)
N = 60
KIND = np.arange(N) % 3
LABELS = np.array(["apple", "pear", "plum"])[KIND]
FRAME = pd.DataFrame(
    {
        "width": KIND + 0.4 * RANDOM.standard_normal(N),
        "colour": np.array(["red", "green", "blue"])[(KIND + (RANDOM.random(N) < 0.2)) % 3],
        "ripe": RANDOM.random(N) < 0.3 + 0.3 * (KIND == 1),
        "weight": np.where(np.arange(N) % 10 == 0, np.nan, 100.0 * (KIND == 1) + 30 * RANDOM.standard_normal(N)),
    }
)


def by_hand(frame, standard=True):
    """The inputs of `FRAME`, in the order of the encoder."""
    filled = frame["weight"].fillna(FRAME["weight"].median())
    numbers = np.column_stack([frame["width"], filled])
    whole = np.column_stack([FRAME["width"], FRAME["weight"].fillna(FRAME["weight"].median())])
    numbers = StandardScaler().fit(whole).transform(numbers) if standard else numbers
    levels = [frame["colour"] == level for level in ("blue", "green", "red")]
    return np.column_stack([numbers[:, 0], frame["ripe"], numbers[:, 1], frame["weight"].isna(), *levels]).astype(
        float
    )


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_table_equals_inputs_encoded_by_hand(library):
    model = fixed().fit(library(FRAME), LABELS)
    other = fixed().fit(by_hand(FRAME), LABELS)
    new = FRAME[::-1].reset_index(drop=True)
    np.testing.assert_allclose(model.predict_proba(library(new)), other.predict_proba(by_hand(new)), atol=1e-12)


def test_search_on_a_table_equals_that_on_inputs_encoded_by_hand():
    settings = {"kernel": "gaussian", "cv": 3, "random_state": 0, "tying": "shared", "ard": False}
    model = KernelLogisticClassifier(inputs="standard", **settings).fit(FRAME, LABELS)
    other = KernelLogisticClassifier(inputs="raw", **settings).fit(by_hand(FRAME), LABELS)
    np.testing.assert_allclose(model.predict_proba(FRAME), other.predict_proba(by_hand(FRAME)), atol=1e-9)
    assert model.score(FRAME, LABELS) > 0.8


def test_raw_inputs_leave_numbers_as_they_are():
    model = fixed(inputs="raw").fit(FRAME, LABELS)
    np.testing.assert_allclose(model.model_.points, by_hand(FRAME, standard=False), atol=1e-12)


def test_ranks_have_the_spread_of_standardised_numbers():
    points = fixed(inputs="ranks").fit(FRAME, LABELS).model_.points
    assert abs(points).max() <= 3**0.5 and points[:, 0].std() == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("scaling", ["standard", "ranks"])
def test_unit_of_a_column_does_not_matter(scaling):
    wanted = fixed(inputs=scaling).fit(FRAME, LABELS).predict_proba(FRAME)
    other = FRAME.assign(width=FRAME["width"] * 25.4)
    np.testing.assert_allclose(fixed(inputs=scaling).fit(other, LABELS).predict_proba(other), wanted, atol=1e-9)


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (FRAME, "standard"),
        (FRAME[["width", "weight"]], "raw"),
        (FRAME[["width", "ripe"]], "standard"),
        (FRAME[["width", "colour"]], "standard"),
        (FRAME[["width"]].to_numpy(), "raw"),
    ],
    ids=["all", "numbers", "truths", "levels", "array"],
)
def test_auto_standardises_numbers_beside_anything_else(frame, kind):
    assert fixed().fit(frame, LABELS).encoder_.scaling.kind == kind


def test_attributes_speak_of_the_columns():
    model = fixed().fit(FRAME, LABELS)
    assert model.n_features_in_ == 4 and model.feature_names_in_.tolist() == list(FRAME.columns)
    assert model.encoder_.columns.tolist() == [0, 2, 3, 3, 1, 1, 1]


def test_array_with_gaps_equals_medians_and_indicators():
    X = FRAME[["width", "weight"]].to_numpy()
    missing = np.isnan(X)
    filled = np.where(missing, np.nanmedian(X, axis=0), X)
    other = fixed().fit(np.column_stack([filled, missing[:, 1]]), LABELS)
    model = fixed().fit(X, LABELS)
    np.testing.assert_array_equal(
        model.predict_proba(X), other.predict_proba(np.column_stack([filled, missing[:, 1]]))
    )
    assert model.n_features_in_ == 2


def test_gap_in_new_rows_alone_is_the_median():
    X = FRAME[["width"]].to_numpy()
    model = fixed().fit(X, LABELS)
    expected = model.predict_proba([[np.median(X)]])
    np.testing.assert_array_equal(model.predict_proba([[np.nan]]), expected)


@pytest.mark.parametrize(
    "method", ["predict", "predict_log_proba", "decision_function", "decide", "predict_proba_frame"]
)
def test_every_method_takes_the_table(method):
    model = fixed().fit(FRAME, LABELS)
    arguments = (FRAME, 1 - np.eye(3)) if method == "decide" else (FRAME,)
    assert len(getattr(model, method)(*arguments)) == N


def test_leave_one_out_is_that_of_the_encoded_inputs():
    model, other = fixed().fit(FRAME, LABELS), fixed().fit(by_hand(FRAME), LABELS)
    np.testing.assert_allclose(model.loo_proba_, other.loo_proba_, atol=1e-9)
    assert model.suspects(5)["row"].tolist() == other.suspects(5)["row"].tolist()


def test_one_against_the_rest_takes_the_table():
    model = fixed(one_vs_rest=True).fit(FRAME, LABELS)
    other = fixed(one_vs_rest=True).fit(by_hand(FRAME), LABELS)
    np.testing.assert_allclose(model.predict_proba(FRAME), other.predict_proba(by_hand(FRAME)), atol=1e-12)


def test_regressor_takes_the_table():
    model = KernelRegressor(criterion=None).fit(FRAME.drop(columns="width"), FRAME["width"])
    other = KernelRegressor(criterion=None).fit(by_hand(FRAME)[:, 1:], FRAME["width"])
    np.testing.assert_allclose(model.predict(FRAME.drop(columns="width")), other.predict(by_hand(FRAME)[:, 1:]))


def test_splitter_sees_the_table_as_given():
    class Watching(KFold):
        def split(self, X, y=None, groups=None):
            assert X is FRAME
            return super().split(X, y, groups)

    KernelLogisticClassifier(cv=Watching(2), tying="shared", ard=False).fit(FRAME, LABELS)


def test_checkpoint_belongs_to_the_scaling(tmp_path):
    settings = {"cv": 2, "tying": "shared", "ard": False, "random_state": 0, "checkpoint": tmp_path / "fit.search"}
    KernelLogisticClassifier(**settings).fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="checkpoint"):
        KernelLogisticClassifier(inputs="ranks", **settings).fit(FRAME, LABELS)


def test_model_selection_tries_scalings():
    search = GridSearchCV(fixed(), {"inputs": ["raw", "standard", "ranks"]}, cv=3, scoring="neg_log_loss")
    assert np.isfinite(search.fit(FRAME, LABELS).cv_results_["mean_test_score"]).all()
    assert cross_val_score(fixed(), pl.from_pandas(FRAME), LABELS, cv=3).mean() > 0.7


def test_pickle_and_clone_keep_what_belongs_to_them():
    model = fixed(categorical_features=["colour"]).fit(FRAME, LABELS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(FRAME), model.predict_proba(FRAME))
    assert clone(model).categorical_features == ["colour"]


def test_rates_of_columns_are_shared_by_their_inputs():
    model = fixed(rate=[1.0, 2.0, 3.0, 4.0]).fit(FRAME, LABELS)
    assert model.kernels_[0].rate == (1.0, 3.0, 4.0, 4.0, 2.0, 2.0, 2.0)


def test_rates_of_columns_survive_a_constant_column():
    model = fixed(rate=[1.0, 2.0, 3.0]).fit(FRAME[["width", "ripe"]].assign(one=1), LABELS)
    assert model.kernels_[0].rate == (1.0, 2.0)


def test_rates_in_kernel_objects_survive_a_constant_column():
    kernel = 2.0 * Gaussian((1.0, 2.0, 3.0)) + Gaussian(0.5)
    model = fixed(kernel).fit(FRAME[["width", "ripe"]].assign(one=1), LABELS)
    assert model.kernels_[0] == 2.0 * Gaussian((1.0, 2.0)) + Gaussian(0.5)


def test_rates_are_named_after_inputs():
    model = fixed(Gaussian((1.0,) * 7)).fit(FRAME, LABELS)
    names = model.hyperparameters_["name"].tolist()
    assert names[:7] == [f"rate[{name}]" for name in model.encoder_.input_names]
    assert "rate[colour=red]" in names and "rate[weight is missing]" in names


def test_rates_of_an_array_are_numbered():
    model = fixed(Gaussian((1.0, 2.0))).fit(FRAME[["width", "ripe"]].to_numpy(dtype=float), LABELS)
    assert model.hyperparameters_["name"].tolist()[:2] == ["rate[0]", "rate[1]"]


@pytest.mark.parametrize("frame", [FRAME[["colour"]], FRAME[["weight"]]], ids=["text", "gaps"])
def test_partial_fit_takes_numbers_only(frame):
    with pytest.raises(ValueError, match="`partial_fit` needs numbers without missing values"):
        fixed().partial_fit(frame, LABELS, classes=np.unique(LABELS))


def test_partial_fit_takes_frames_of_numbers():
    numbers = FRAME[["width", "ripe"]].astype(float).assign(one=1.0)
    model = fixed(tol=1e-8).partial_fit(numbers[:30], LABELS[:30], classes=np.unique(LABELS))
    model.partial_fit(numbers[30:], LABELS[30:])
    assert model.encoder_.keeps_columns and model.score(numbers, LABELS) > 0.8


def test_partial_fit_does_not_go_on_from_a_table():
    model = fixed().fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="needed an encoder"):
        model.partial_fit(FRAME[["width"]], LABELS)


@pytest.mark.parametrize("settings", [{"inputs": "standard"}, {"categorical_features": [0]}])
def test_partial_fit_is_not_there_with_what_changes_at_every_call(settings):
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        fixed(**settings).partial_fit(FRAME[["width"]], LABELS, classes=np.unique(LABELS))
    assert "with every call" in str(caught.value.__cause__)


@pytest.mark.parametrize("kernel", ["precomputed", lambda x, z: float(x @ z)], ids=["matrix", "function"])
def test_kernels_of_other_things_have_no_encoder(kernel):
    X = FRAME[["width"]].to_numpy()
    model = fixed(kernel).fit(X @ X.T if kernel == "precomputed" else X, LABELS)
    assert "encoder_" not in vars(model)
