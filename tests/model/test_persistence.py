"""Model files keep a model to the last bit, and appear whole or not at all."""

import json
import os
import stat
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import logikern
from logikern.kernels import FunctionKernel, Gaussian, Linear
from logikern.model import persistence
from logikern.numerics.outcome import Outcome
from tests.estimators.samples import fixed
from tests.model.catalogue import FRAME, MODELS, NAMES, SPECIES, X


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


@pytest.mark.parametrize("name", MODELS)
def test_round_trip_keeps_every_bit(name, path):
    model, points, targets = MODELS[name]
    model = clone(model).fit(points, targets)
    model.save_model(path)
    loaded = logikern.load_model(path)
    assert np.array_equal(loaded.predict_proba(points), model.predict_proba(points))
    assert np.array_equal(loaded.predict(points), model.predict(points))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert (loaded.outcome_, loaded.trace_, loaded.n_iter_) == (model.outcome_, model.trace_, model.n_iter_)
    assert vars(loaded).keys() == vars(model).keys() - set(persistence.UNKEPT)  # labels stay at home


def test_round_trip_keeps_what_was_found(path):
    model = fixed(Gaussian((1.0, 2.0, 3.0, 4.0)) + Linear(), tying="separate").fit(X, SPECIES)
    model.save_model(path)
    loaded = persistence.load_model(path)
    assert np.array_equal(loaded.dual_coef_, model.dual_coef_)
    assert loaded.kernels_ == model.kernels_
    assert loaded.hyperparameters_.equals(model.hyperparameters_)


def test_round_trip_keeps_binary_models(path):
    model = fixed(one_vs_rest=True).fit(X, SPECIES)
    model.save_model(path)
    found = [binary.outcome_ for binary in persistence.load_model(path).binaries_]
    assert found == [binary.outcome_ for binary in model.binaries_]


def test_round_trip_keeps_the_tree(path):
    model = fixed(hierarchy={"a": ["x", "y"], "b": None}).fit(X, np.array(["x", "y", "b"])[SPECIES])
    model.save_model(path)
    loaded = persistence.load_model(path)
    assert (loaded.tree_.labels, loaded.tree_.parents) == (model.tree_.labels, model.tree_.parents)
    assert loaded.predict_paths(X) == model.predict_paths(X)


def test_tree_of_a_graph_is_kept_as_a_tree(path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("a", "x"), ("a", "y"), ("top", "a"), ("top", "b")])
    labels = np.array(["x", "y", "b"])[SPECIES]
    model = fixed(hierarchy=graph, random_state=0).fit(X, labels)
    model.save_model(path)
    loaded = persistence.load_model(path)
    assert np.array_equal(loaded.fit(X, labels).predict_proba(X), model.predict_proba(X))


def test_checkpoint_is_kept_as_text(path):
    model = fixed(checkpoint=path.with_name("search.json")).fit(X, SPECIES)
    model.save_model(path)
    assert persistence.load_model(path).checkpoint == str(path.with_name("search.json"))


def test_round_trip_keeps_the_parameters(path):
    model = fixed("matern32", tying="scaled", rate=0.3, variance=(1.0, 2.0, 3.0), tol=1e-6)
    model.fit(X, SPECIES).save_model(path)
    assert persistence.load_model(path).get_params() == model.get_params()


def test_round_trip_keeps_names_of_features(path):
    fixed().fit(FRAME, NAMES).save_model(path)
    loaded = persistence.load_model(path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(FRAME.rename(columns={"a": "z"}))


def test_round_trip_keeps_an_outcome_that_is_not_convergence(path):
    with pytest.warns(ConvergenceWarning):
        model = fixed(max_iter=1).fit(X, SPECIES)
    model.save_model(path)
    assert persistence.load_model(path).outcome_ is Outcome.OUT_OF_STEPS


def test_loaded_model_can_be_saved_and_fitted_again(path):
    fixed().fit(X, SPECIES).save_model(path)
    loaded = persistence.load_model(path)
    loaded.save_model(path)
    before = persistence.load_model(path).predict_proba(X)
    assert np.array_equal(loaded.fit(X, SPECIES).predict_proba(X), before)


def test_pipeline_of_mixed_columns_is_kept(path):
    table = pd.DataFrame(
        {
            "size": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0],
            "colour": ["red", "blue", "red", "green", "blue", "red"],
            "text": ["good day", "bad day", "good night", "bad night", "good day", "bad luck"],
        }
    )
    columns = ColumnTransformer(
        [
            ("number", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["size"]),
            ("category", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
            ("words", TfidfVectorizer(), "text"),
            ("logarithm", make_pipeline(SimpleImputer(), FunctionTransformer(np.log1p)), ["size"]),
        ]
    )
    model = Pipeline([("columns", columns), ("classifier", fixed("linear"))])
    model.fit(table, list("xyxyxy"))
    persistence.save_model(model, path)
    loaded = persistence.load_model(path)
    assert np.array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded.classes_.tolist() == ["x", "y"]


def test_callbacks_stay_out_of_the_file(path):
    callback = pytest.importorskip("sklearn.callback")
    model = fixed().set_callbacks(callback.ProgressBar())
    pipeline = make_pipeline(StandardScaler(), fixed()).set_callbacks(callback.ProgressBar())
    for fitted in (model.fit(X, SPECIES), pipeline.fit(X, SPECIES)):
        persistence.save_model(fitted, path)
        assert np.array_equal(persistence.load_model(path).predict_proba(X), fitted.predict_proba(X))
    assert len(model._skl_callbacks) == 1


def test_saving_leaves_the_model_as_it_was(path):
    model = fixed().fit(X, SPECIES)
    before = dict(vars(model))
    model.save_model(path)
    assert vars(model) == before


def test_file_says_its_format_and_who_wrote_it(path):
    fixed().fit(X, SPECIES).save_model(path)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("logikern.json"))
    assert header["format"] == persistence.FORMAT
    assert header["logikern"] == logikern.__version__
    assert {"scikit-learn", "skops", "numpy", "scipy"} <= header.keys()


def test_notes_are_read_back(path):
    persistence.write_model(fixed().fit(X, SPECIES), path, {"target": "species"})
    assert persistence.read_notes(path) == {"target": "species"}
    assert logikern.load_model(path).classes_.tolist() == sorted(set(SPECIES))


@pytest.mark.parametrize(
    ("notes", "read"), [(None, {}), ([1], {}), ({"target": 5, "command": "<b>"}, {"command": "<b>"})]
)
def test_notes_that_are_not_text_are_ignored(notes, read, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("logikern.json", json.dumps({"format": persistence.FORMAT, "notes": notes}))
    assert persistence.read_notes(path) == read


def dot(x, z):
    return float(x @ z)


class Doubler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


@pytest.mark.parametrize(
    ("model", "fragment"),
    [
        (fixed(dot), "as kernel cannot be saved: a model file holds no code"),
        (fixed(FunctionKernel(dot)), "as kernel cannot be saved"),
        (fixed(2.0 * FunctionKernel(dot)), "`model` cannot be saved: it contains"),
        (make_pipeline(Doubler(), fixed()), "Doubler"),
        (make_pipeline(FunctionTransformer(np.nan_to_num), fixed()), "nan_to_num"),
        (LogisticRegression(), "must be a KernelLogisticClassifier"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "must be a KernelLogisticClassifier"),
    ],
    ids=["function", "function object", "function in a product", "own step", "numpy function", "other", "pipeline"],
)
def test_model_that_a_file_cannot_keep_is_refused(model, fragment, path):
    with pytest.raises(ValueError, match=fragment):
        persistence.save_model(model.fit(X, SPECIES), path)
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("model", [fixed(), make_pipeline(fixed())])
def test_unfitted_model_is_refused(model, path):
    with pytest.raises(NotFittedError):
        persistence.save_model(model, path)


def test_error_while_writing_keeps_the_old_file(path, monkeypatch):
    model = fixed().fit(X, SPECIES)
    model.save_model(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        clone(model).set_params(variance=1.0).fit(X, SPECIES).save_model(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.skops"]


def test_saving_over_a_file_keeps_its_mode_and_its_link(path):
    model = fixed().fit(X, SPECIES)
    model.save_model(path)
    path.chmod(0o640)
    link = path.with_name("link")
    link.symlink_to(path)
    model.save_model(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_new_file_has_the_usual_mode(path):
    fixed().fit(X, SPECIES).save_model(path)
    plain = path.with_name("plain")
    plain.write_bytes(b"")
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("place", [".", "/dev/null"])
def test_folder_or_device_is_not_overwritten(place, tmp_path):
    with pytest.raises(ValueError, match="is a folder or a device"):
        fixed().fit(X, SPECIES).save_model(tmp_path / place)


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fixed().fit(X, SPECIES).save_model(tmp_path / "nowhere" / "model.skops")
