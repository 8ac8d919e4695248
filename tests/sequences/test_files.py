"""Model files of sequences: every bit is kept, and forged files are refused."""

import copy
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from logikern import Gaussian, KernelSequenceClassifier, Linear, load_model, save_model
from logikern.kernels import KernelRows, Precomputed
from logikern.model import persistence
from logikern.numerics.temperature import Temperature
from tests.model.forgery import archive_of, nameless, node, sequence, value
from tests.sequences.samples import draw_sequences

X, Y = draw_sequences(12)
LENGTHS = [len(one) for one in X]
GROUPS, LABELS = np.repeat(np.arange(len(X)), LENGTHS), np.concatenate(Y)
NAMES = [np.array(["noun", "verb", "other"])[one] for one in Y]
FRAME = pd.DataFrame(np.concatenate(X), columns=["left", "right"]).assign(word=np.concatenate(NAMES))
PAIRS = [zip(*pair, strict=True) for pair in zip(X, NAMES, strict=True)]
DICTS = [[{"left": row[0], "word": name} for row, name in pair] for pair in PAIRS]


def fixed(kernel="auto", **settings):
    return KernelSequenceClassifier(kernel, **{"criterion": None, "random_state": 0, **settings})


MODELS = {
    "arrays": (fixed(), X, Y, None),
    "names of labels": (fixed(), X, NAMES, None),
    "names as objects": (fixed(), X, [one.astype(object) for one in NAMES], None),
    "standardised": (fixed(inputs="standard"), X, Y, None),
    "ranks": (fixed(inputs="ranks"), X, Y, None),
    "sparse": (fixed(), [sparse.csr_matrix(one) for one in X], Y, None),
    "sparse, standardised": (fixed("gaussian", inputs="standard"), [sparse.csr_array(one) for one in X], Y, None),
    "dicts": (fixed(), DICTS, NAMES, None),
    "table": (fixed(), np.concatenate(X), LABELS, GROUPS),
    "frame": (fixed(categorical_features=["word"]), FRAME, LABELS, GROUPS),
    "list of frames": (fixed(), [FRAME[number == GROUPS] for number in range(12)], NAMES, None),
    "gaps": (fixed(), FRAME.assign(left=FRAME["left"].mask(FRAME.index % 5 == 0)), LABELS, GROUPS),
    "kernel each": (fixed(tying="separate"), X, Y, None),
    "variance each": (fixed("matern32", tying="scaled", rate=[1.0, 2.0], variance=2.0), X, Y, None),
    "sum of kernels": (fixed(Gaussian((1.0, 2.0)) + 0.5 * Linear()), X, Y, None),
    "no transitions": (fixed(transition_variance=0.0, pseudocount=np.inf, piecewise=0.0), X, Y, None),
    "positions": (fixed(decoding="positions", n_jobs=1, max_time=5.0), X, Y, None),
    "learned": (KernelSequenceClassifier(random_state=0), X, Y, None),
    "learned by splits": (
        KernelSequenceClassifier(cv=list(GroupKFold(3).split(X, groups=np.arange(12) // 2)), random_state=0),
        X,
        Y,
        None,
    ),
    "generator of splits": (KernelSequenceClassifier(cv=GroupKFold(2).split(X, groups=range(12))), X, Y, None),
    "window": (fixed(window=2, tying="separate"), X, Y, None),
    "weights of a window": (fixed(window=[0.5, 0.0]), [sparse.csr_matrix(one) for one in X], Y, None),
    "learned window": (KernelSequenceClassifier(window=1, random_state=0), FRAME, LABELS, GROUPS),
    "random state": (fixed(random_state=np.random.RandomState(3)), X, Y, None),
}


def answers(model, own, labels, groups):
    """All that a model says about some sequences, as arrays."""
    listed = [
        model.predict(own, groups=groups),
        model.predict_marginals(own, groups=groups),
        model.sample(own, 7, random_state=0, groups=groups),
    ]
    flat = [np.concatenate(list(map(np.ravel, one))) for one in listed]
    known = [model.log_likelihood(own, labels, groups=groups), np.array(model.score(own, labels, groups=groups))]
    return [*flat, *known]


@pytest.mark.parametrize("name", MODELS)
def test_round_trip_keeps_every_bit(name, tmp_path):
    model, own, labels, groups = MODELS[name]
    model.fit(own, labels, groups=groups).save_model(tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    for one, other in zip(answers(loaded, own, labels, groups), answers(model, own, labels, groups), strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    for kept in ("specification_", "first_specification_", "trace_", "newton_trace_", "outcome_", "n_iter_"):
        assert getattr(loaded, kept) == getattr(model, kept)
    assert vars(loaded).keys() == vars(model).keys()


def test_loaded_model_can_be_saved_and_fitted_again(tmp_path):
    model = KernelSequenceClassifier(random_state=0, checkpoint=tmp_path / "fit.search").fit(DICTS, NAMES)
    for _ in range(2):
        save_model(model, tmp_path / "m.skops")
        model = load_model(tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops").fit(DICTS, NAMES)
    assert model.checkpoint == str(tmp_path / "fit.search")
    assert np.array_equal(again.transition_, model.transition_)


def test_pipeline_that_ends_in_sequences_is_kept(tmp_path):
    table = np.concatenate(X)
    model = make_pipeline(StandardScaler(), fixed()).fit(table, LABELS, kernelsequenceclassifier__groups=GROUPS)
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    assert np.array_equal(loaded.predict_proba(table, groups=GROUPS), model.predict_proba(table, groups=GROUPS))


def test_unfinished_fit_keeps_its_outcome(tmp_path):
    with pytest.warns(ConvergenceWarning):
        fixed(max_iter=1).fit(X, Y).save_model(tmp_path / "m.skops")
    assert load_model(tmp_path / "m.skops").outcome_.name == "OUT_OF_STEPS"


def test_unfitted_model_is_not_saved(tmp_path):
    model = fixed()
    with pytest.raises(ValueError):
        model.fit(X, [one * 0 for one in Y])  # the encoder is learned before labels are read
    for save in (model.save_model, lambda path: save_model(model, path)):
        with pytest.raises(NotFittedError):
            save(tmp_path / "m.skops")


def test_function_as_kernel_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="a model file holds no code"):
        save_model(fixed(lambda x, z: float(x @ z)).fit(X, Y), tmp_path / "m.skops")


PLAIN, LEARNED = fixed().fit(X, Y), KernelSequenceClassifier(random_state=0).fit(X, Y)
NAMED, FEATURES = fixed().fit(FRAME, LABELS, groups=GROUPS), fixed().fit(DICTS, NAMES)
OTHER = fixed().fit(X, [one % 2 for one in Y])


def altered(record, **changes):
    """A copy with other fields, whatever its constructor would say."""
    other = copy.copy(record)
    for name, own in changes.items():
        object.__setattr__(other, name, own)
    return other


def with_model(**changes):
    return altered(PLAIN, _model=altered(PLAIN._model, **changes))


def with_positions(**changes):
    return with_model(positions=altered(PLAIN._model.positions, **changes))


def with_field(**changes):
    return altered(PLAIN, specification_=altered(PLAIN.specification_, **changes))


def with_specification(**changes):
    """Other hyperparameters of positions, in the model and where they are shown."""
    positions = altered(PLAIN.specification_.positions, **changes)
    own = with_positions(specification=positions)
    return altered(own, specification_=altered(PLAIN.specification_, positions=positions))


def without(model, name):
    other = copy.copy(model)
    delattr(other, name)
    return other


SCORES, POINTS, DUAL = PLAIN._model.transitions, PLAIN._model.positions.points, PLAIN._model.positions.dual
ROWS = np.arange(len(POINTS))
NAN = np.where(np.eye(*SCORES.shape) > 0, np.nan, SCORES)
FORGED = {
    "no model": (altered(PLAIN, _model=3), "no sequence model"),
    "another kind of model": (altered(PLAIN, _model=PLAIN._model.positions), "no sequence model"),
    "no positions": (with_model(positions=3), "no fitted model"),
    "positions of other labels": (with_model(positions=OTHER._model.positions), "classes do not match"),
    "fewer points": (with_positions(points=POINTS[1:]), "points and coefficients differ"),
    "points of other inputs": (with_positions(points=POINTS[:, :1]), "different number of features"),
    "points are no numbers": (with_positions(points=POINTS * np.nan), "points are not finite"),
    "coefficients are no numbers": (with_positions(dual=DUAL * np.nan), "coefficients are not finite"),
    "positions in a matrix": (with_positions(points=KernelRows(None, ROWS)), "match its kernels"),
    "free constants": (with_positions(free_constants=np.zeros(3)), "biases that its model does not use"),
    "transitions of other labels": (with_model(transitions=SCORES[:, :-1]), "transitions have the wrong shape"),
    "transitions are text": (with_model(transitions="x"), "transitions have the wrong shape"),
    "transitions are no numbers": (with_model(transitions=NAN), "transitions are not finite"),
    "other transitions are shown": (altered(PLAIN, transition_=SCORES[:, :-2] + 1), "`transition_` does not match"),
    "other starts are shown": (altered(PLAIN, start_=SCORES[:, -1]), "`start_` does not match"),
    "no ends are shown": (without(PLAIN, "end_"), "`end_` does not match"),
    "other hyperparameters": (altered(PLAIN, specification_=LEARNED.specification_), "hyperparameters do not match"),
    "no hyperparameters": (altered(PLAIN, specification_=3), "no sequence hyperparameters"),
    "hyperparameters of rows": (
        altered(PLAIN, specification_=PLAIN.specification_.positions),
        "no sequence hyperparameters",
    ),
    "negative transition variance": (with_field(transition_variance=-1.0), "transition variance is not a number"),
    "transition variance is text": (with_field(transition_variance="1"), "transition variance is not a number"),
    "pseudocount is no number": (with_field(pseudocount=np.nan), "pseudocount is not a number"),
    "infinite weight": (with_field(piecewise=np.inf), "position weight is not a number"),
    "unpenalised constants": (with_specification(bias_variance=np.inf), "unpenalised biases"),
    "a temperature": (with_specification(temperature=Temperature(2.0, 2.0)), "has a temperature"),
    "rates of other inputs": (with_specification(kernels=(Gaussian((1.0, 2.0, 3.0)),)), "rates for a different"),
    "a kernel of matrices": (with_specification(kernels=(Precomputed(),)), "points do not match its kernels"),
    "start of other labels": (altered(PLAIN, first_specification_=OTHER.specification_), "starting values belong"),
    "no start": (without(PLAIN, "first_specification_"), "no sequence hyperparameters"),
    "sequences beyond the points": (with_model(edges=np.array([0, len(POINTS) + 1])), "do not cover its points"),
    "empty sequences": (with_model(edges=np.array([0, 0, len(POINTS)])), "overlap or are empty"),
    "a window of its own": (with_model(window=(0.5, 0.5)), "window does not match"),
    "a label twice": (altered(PLAIN, classes_=np.array([0, 0, 1])), "not distinct labels"),
    "fewer labels": (altered(PLAIN, classes_=np.array([0, 1])), "classes do not match"),
    "features as text": (altered(PLAIN, n_features_in_="2"), "how many features"),
    "names of other columns": (altered(NAMED, feature_names_in_=np.array(["a", "b", "c"])), "different column names"),
    "no encoder": (without(PLAIN, "encoder_"), "encoder"),
    "encoder of other columns": (altered(PLAIN, encoder_=NAMED.encoder_), "number of columns"),
    "steps are text": (altered(PLAIN, newton_trace_="abc"), "steps are not a list"),
    "trace is text": (altered(LEARNED, trace_="abc"), "trace is not a list"),
    "evaluation took a word": (altered(LEARNED, trace_=(altered(LEARNED.trace_[0], seconds="x"),)), "trace is not"),
    "no reason": (altered(PLAIN, stopped_early_=3), "why its search ended"),
    "perhaps interrupted": (altered(PLAIN, interrupted_="x"), "whether it was interrupted"),
    "products are text": (altered(PLAIN, n_products_="x"), "how many products"),
    "criterion is text": (altered(PLAIN, criterion_value_="x"), "criterion has no value"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_model_is_refused_when_it_is_loaded(name, tmp_path):
    model, fragment = FORGED[name]
    (tmp_path / "m.skops").write_bytes(persistence._pack(model))
    with pytest.raises(ValueError, match=fragment):
        load_model(tmp_path / "m.skops")


def parts_of(model):
    with zipfile.ZipFile(io.BytesIO(persistence._pack(model))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_parts(model, *changes):
    """A file in which parts, named by their path from the estimator, are others or new."""
    parts = parts_of(model)
    schema = nameless(json.loads(parts["schema.json"]))
    for path, content in changes:
        holder = schema
        *way, last = path.split(".")
        for name in way:
            holder = holder["content"]["content"][name]
        own = holder["content"]
        own["content"][last] = content
        keys = own["key_types"]["content"]
        keys.extend([copy.deepcopy(keys[0])] * (len(own["content"]) - len(keys)))
    return archive_of({**parts, "schema.json": json.dumps(schema)})


def code(kind):
    return node("TypeNode", "os", kind)


def window(*weights):
    return sequence(*map(value, weights))


def with_window(*weights):
    """Weights of a window, in the model and in its hyperparameters."""
    return [(f"{path}.window", window(*weights)) for path in ("_model", "specification_", "first_specification_")]


HOSTILE = {
    "features are text": ([("vectorizer_", value("abc"))], "features are not distinct names"),
    "a feature twice": ([("vectorizer_", sequence(value("left"), value("left")))], "features are not distinct names"),
    "a feature too few": ([("vectorizer_", sequence(value("left")))], "features do not match its inputs"),
    "features are lists": ([("vectorizer_", sequence(value(["a"]), value(["b"])))], "not distinct names"),
    "code as vectorizer": ([("vectorizer_", code("system"))], "but only plain values"),
    "code as model": ([("_model", code("system"))], "but only plain values"),
    "outcome unknown": ([("outcome_", value("FINE"))], "FINE"),
    "a cached value": ([("_model._shifted_dual", value(1.0))], "unknown fields"),
    "a cached property": ([("specification_.log_parameters", value(1.0))], "unknown fields"),
    "a window without sequences": (
        [*with_window(0.5, 0.5), ("_model.edges", value(None))],
        "a window, but no sequences",
    ),
    "a window on one side": (with_window(0.5), "not a list of weights"),
    "negative weights": (with_window(-0.5, 0.5), "not a list of weights"),
    "a window of the model only": (with_window(0.5, 0.5)[:1], "does not match its hyperparameters"),
    "a window that has no start": (with_window(0.5, 0.5)[:2], "starting values belong to another model"),
    "sequences are a number": ([("_model.edges", value(5))], "do not cover its points"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_refused(name, tmp_path):
    changes, fragment = HOSTILE[name]
    (tmp_path / "m.skops").write_bytes(with_parts(FEATURES, *changes))
    with pytest.raises(ValueError, match=fragment):
        load_model(tmp_path / "m.skops")


def test_forgery_without_changes_is_read(tmp_path):
    (tmp_path / "m.skops").write_bytes(with_parts(FEATURES, ("verbose", value(0))))
    assert np.array_equal(load_model(tmp_path / "m.skops").transition_, FEATURES.transition_)
