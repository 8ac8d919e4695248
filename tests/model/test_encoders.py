"""Encoders in model files: kept to the bit, and refused where they do not fit the table or the model."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

from logikern import KernelRegressor, TableEncoder, load_model
from logikern.encoding.complaints import Note
from logikern.encoding.scaling import Unscaled
from tests.estimators.samples import fixed
from tests.model.test_forged_models import altered, keep

RANDOM = np.random.default_rng(0)
LABELS = np.arange(40) % 3
FRAME = pd.DataFrame(
    {
        "age": np.where(np.arange(40) % 9 == 0, np.nan, RANDOM.normal(50, 9, 40)),
        "colour": RANDOM.choice(["red", "green", "blué"], 40),
        "smokes": RANDOM.random(40) < 0.5,
        "one": 1,
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(RANDOM.integers(0, 90, 40), "D"),
    }
)
NEW = FRAME.assign(colour="mauve", age=None, day=pd.NaT)
MODELS = {kind: fixed(inputs=kind).fit(FRAME, LABELS) for kind in ("raw", "standard", "ranks")}
TABLE, RANKED = MODELS["standard"], MODELS["ranks"]
GAPS = np.where(RANDOM.random((40, 3)) < 0.1, np.nan, RANDOM.normal(size=(40, 3)))
ARRAY = fixed().fit(GAPS, LABELS)


@pytest.mark.parametrize("scaling", MODELS)
def test_round_trip_keeps_the_encoder(scaling, tmp_path):
    model = MODELS[scaling]
    loaded = load_model(keep(model, tmp_path))
    for table in (FRAME, NEW):
        np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded.encoder_.input_names == model.encoder_.input_names
    assert loaded.encoder_.notes == model.encoder_.notes


@pytest.mark.parametrize("model", [ARRAY, KernelRegressor(criterion=None).fit(GAPS, LABELS)])
def test_round_trip_keeps_medians(model, tmp_path):
    loaded = load_model(keep(model, tmp_path))
    np.testing.assert_array_equal(loaded.predict(GAPS), model.predict(GAPS))


@pytest.mark.parametrize("chosen", [np.array([1]), pd.Index(["colour"]), pl.Series(["colour"]), (1,)])
def test_choice_of_columns_is_kept_as_a_list(chosen, tmp_path):
    model = fixed(categorical_features=chosen).fit(FRAME, LABELS)
    assert load_model(keep(model, tmp_path)).categorical_features in ([1], ["colour"])


def with_encoder(model=TABLE, **changes):
    return altered(model, encoder_=altered(model.encoder_, **changes))


def with_numbers(**changes):
    return with_encoder(numbers=altered(TABLE.encoder_.numbers, **changes))


def with_levels(**changes):
    return with_encoder(levels=(altered(TABLE.encoder_.levels[0], **changes),))


def with_scaling(model=TABLE, **changes):
    return with_encoder(model, scaling=altered(model.encoder_.scaling, **changes))


def moved(values, place, value):
    other = values.copy()
    other[place] = value
    return other


NUMBERS, SCALING, RANKS = TABLE.encoder_.numbers, TABLE.encoder_.scaling, RANKED.encoder_.scaling
OUTSIDE, INVALID = "refers to {} columns that the table does not have", "an invalid record of {} columns"
FORGED = {
    "no encoder": (altered(TABLE, encoder_=None), "no encoder"),
    "encoder of an array": (altered(TABLE, encoder_=ARRAY.encoder_), "a different number of columns"),
    "fewer columns": (with_encoder(n_columns=4), "a different number of columns"),
    "columns as text": (with_encoder(n_columns="5"), "a different number of columns"),
    "other names": (with_encoder(names=("a", "b", "c", "d", "e")), "different column names"),
    "fewer names": (with_encoder(names=("age",)), "different column names"),
    "names are numbers": (with_encoder(names=(1, 2, 3, 4, 5)), "different column names"),
    "number beyond the table": (with_numbers(places=moved(NUMBERS.places, -1, 5)), OUTSIDE.format("numeric")),
    "number before the table": (with_numbers(places=moved(NUMBERS.places, 0, -1)), OUTSIDE.format("numeric")),
    "number twice": (with_numbers(places=moved(NUMBERS.places, 1, 0)), INVALID.format("numeric")),
    "places in a table": (with_numbers(places=NUMBERS.places[:, None]), INVALID.format("numeric")),
    "places are fractions": (with_numbers(places=NUMBERS.places + 0.5), INVALID.format("numeric")),
    "gap beyond the numbers": (with_numbers(gaps=np.array([3])), INVALID.format("numeric")),
    "gap below zero": (with_numbers(gaps=np.array([-1])), INVALID.format("numeric")),
    "unknown kind": (with_numbers(kinds=moved(NUMBERS.kinds, 0, 3)), "numeric columns of an unknown type"),
    "kind below zero": (with_numbers(kinds=moved(NUMBERS.kinds, 0, -1)), "numeric columns of an unknown type"),
    "median is no number": (with_numbers(medians=moved(NUMBERS.medians, 0, np.nan)), "not have a median"),
    "medians of other numbers": (with_numbers(medians=NUMBERS.medians[:1]), "not have a median"),
    "levels beyond the table": (with_levels(place=5), OUTSIDE.format("categorical")),
    "levels of a negative column": (with_levels(place=-1), OUTSIDE.format("categorical")),
    "levels of a number": (with_levels(place=0), "every column once"),
    "level twice": (with_levels(names=("red", "red", "green")), "not distinct"),
    "levels are numbers": (with_levels(names=(1, 2, 3)), "not distinct"),
    "no levels": (with_levels(names=()), INVALID.format("categorical")),
    "missing level as a number": (with_levels(has_missing=7), INVALID.format("categorical")),
    "more levels than inputs": (with_levels(has_rest=True), "other inputs"),
    "levels are text": (with_encoder(levels="abc"), INVALID.format("categorical")),
    "note on another column": (with_encoder(notes=(Note(9, "constant"),)), "invalid notes on columns"),
    "note without a sentence": (with_encoder(notes=(Note(3, "{0.__class__}"),)), "invalid notes on columns"),
    "unused column": (with_encoder(notes=()), "every column once"),
    "sparse as text": (with_encoder(is_sparse="no"), "whether inputs are sparse"),
    "no scaling": (with_encoder(scaling=None), "no scaling"),
    "scales of other inputs": (with_scaling(scale=SCALING.scale[:2]), "other inputs"),
    "scale of zero": (with_scaling(scale=moved(SCALING.scale, 0, 0.0)), "not positive"),
    "shift is no number": (with_scaling(shift=moved(SCALING.shift, 0, np.nan)), "other inputs"),
    "knots beyond the end": (with_scaling(RANKED, starts=RANKS.starts + 1), "other inputs"),
    "knots of fewer inputs": (with_scaling(RANKED, starts=RANKS.starts[:-1]), "other inputs"),
    "knots backwards": (with_scaling(RANKED, knots=RANKS.knots[::-1].copy()), "do not rise"),
    "ranks beyond one": (with_scaling(RANKED, ranks=RANKS.ranks * 3), "do not rise"),
    "fewer ranks": (with_scaling(RANKED, ranks=RANKS.ranks[1:]), "other inputs"),
    "unit of zero": (with_scaling(RANKED, units=RANKS.units * 0), "not positive"),
    "points of other inputs": (
        altered(ARRAY, encoder_=altered(ARRAY.encoder_, numbers=altered(ARRAY.encoder_.numbers, gaps=np.array([0])))),
        "a different number of features",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_encoder_is_refused(name, tmp_path):
    model, fragment = FORGED[name]
    path = keep(model, tmp_path)
    with pytest.raises(ValueError, match=fragment):
        load_model(path)


TEXTS = FRAME.assign(note=RANDOM.choice(["good day", "bad day", "no day"], 40))
BESIDE_TEXT = Pipeline(
    [
        (
            "columns",
            ColumnTransformer([("table", TableEncoder(), list(FRAME.columns)), ("text", TfidfVectorizer(), "note")]),
        ),
        ("classifier", fixed("linear")),
    ]
).fit(TEXTS, LABELS)


def test_pipeline_with_an_encoder_is_kept(tmp_path):
    loaded = load_model(keep(BESIDE_TEXT, tmp_path))
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), BESIDE_TEXT.predict_proba(TEXTS))


def test_forged_encoder_in_a_pipeline_is_refused(tmp_path):
    forged = pickle.loads(pickle.dumps(BESIDE_TEXT))
    transformer = forged["columns"].named_transformers_["table"]
    transformer.encoder_ = altered(transformer.encoder_, n_columns=4)
    with pytest.raises(ValueError, match="a different number of columns"):
        load_model(keep(forged, tmp_path))


def test_scaling_may_be_replaced_by_none(tmp_path):
    """The refusals above are due to what was changed, not to any change."""
    assert isinstance(load_model(keep(with_encoder(scaling=Unscaled()), tmp_path)).encoder_.scaling, Unscaled)
