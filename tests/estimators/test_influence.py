"""Leave-one-out of the training rows, refits as its reference, and the rows that look wrong."""

import os
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from logikern import KernelLogisticClassifier, load_model
from logikern.estimators._fitted import influence as _influence
from tests.estimators.samples import DISTRIBUTIONS, KINDS, NAMES, SPECIES, WORDS, X, fixed, shared_pairs

N = len(X)
WEIGHTS = np.linspace(0.5, 2.0, N)
WEIGHTS[[3, 40]] = 0.0
PLACES = np.arange(N)
ROOT = Path(__file__).resolve().parents[2]
DATA = (ROOT / os.environ.get("LOGIKERN_DATA", "../shared/data")).resolve()


@cache
def plain_fit():
    return fixed().fit(X, NAMES)


@cache
def weighted_fit():
    return fixed().fit(X, NAMES, WEIGHTS)


def without(row, **settings):
    """What a model that never saw the row says of it."""
    rest = row != PLACES
    return fixed(**settings).fit(X[rest], NAMES[rest]).predict_proba(X[[row]])[0]


def test_rows_are_distributions():
    proba = plain_fit().loo_proba_
    assert proba.shape == (N, 3) and proba.min() >= 0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("bias_variance", [0.0, 16.0, np.inf])
@pytest.mark.parametrize("tying", ["shared", "separate"])
def test_refits_are_fits_without_the_row(tying, bias_variance):
    settings = {"rate": 0.4, "variance": 20.0, "tying": tying, "bias_variance": bias_variance}
    found = fixed(**settings).fit(X, NAMES).exact_loo()
    for row in (0, 30, 52):
        np.testing.assert_allclose(found[row], without(row, **settings), atol=1e-5)


def test_closed_form_is_close_to_refits():
    assert np.abs(plain_fit().loo_proba_ - plain_fit().exact_loo()).max() < 0.05


def table(name, n_rows=None):
    """Standardised inputs and classes of a set, or some of its rows."""
    path = DATA / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"no {name}.npz: set LOGIKERN_DATA to the folder that has it")
    with np.load(path, allow_pickle=False) as stored:
        points, labels = stored["X"].astype(float), stored["y"]
    rows = np.random.default_rng(0).permutation(len(labels))[:n_rows]
    return StandardScaler().fit_transform(points[rows]), labels[rows]


@pytest.mark.parametrize(
    ("name", "tying", "n_rows"),
    [("iris", "separate", None), ("wine", "scaled", None), ("glass", "shared", None), ("segment", "shared", 200)],
)
def test_closed_form_correlates_with_refits_of_a_tuned_model(name, tying, n_rows):
    points, labels = table(name, n_rows)
    model = KernelLogisticClassifier(criterion="loo", tying=tying, ard=False, random_state=0).fit(points, labels)
    places = np.arange(len(labels)), np.searchsorted(model.classes_, labels)
    pair = model.loo_proba_[places], model.exact_loo()[places]
    assert np.corrcoef(*pair)[0, 1] > 0.999


@pytest.mark.parametrize("ask", [lambda model: model.loo_proba_, lambda model: model.exact_loo()], ids=["one", "all"])
def test_rows_without_weight_are_nan(ask):
    found = ask(weighted_fit())
    assert found.shape == (N, 3)
    assert np.isnan(found[WEIGHTS == 0]).all() and np.isfinite(found[WEIGHTS > 0]).all()


def test_rows_without_weight_change_nothing():
    kept = WEIGHTS > 0
    rest = clone(weighted_fit()).fit(X[kept], NAMES[kept], WEIGHTS[kept])
    np.testing.assert_allclose(rest.loo_proba_, weighted_fit().loo_proba_[kept], atol=1e-9)


def test_loss_is_the_weighted_mean():
    kept = WEIGHTS > 0
    model = weighted_fit()
    wanted = log_loss(NAMES[kept], model.loo_proba_[kept], sample_weight=WEIGHTS[kept])
    assert model.loo_log_loss_ == pytest.approx(wanted, rel=1e-9)


def test_certain_distributions_equal_labels():
    soft = fixed().fit(X, DISTRIBUTIONS)
    np.testing.assert_allclose(soft.loo_proba_, plain_fit().loo_proba_, atol=1e-12)
    assert soft.loo_log_loss_ == pytest.approx(plain_fit().loo_log_loss_, rel=1e-12)


def test_loss_of_distributions_is_their_cross_entropy():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), N)
    model = fixed().fit(X, shares)
    assert model.loo_log_loss_ == pytest.approx(-(shares * np.log(model.loo_proba_)).sum(axis=1).mean(), rel=1e-10)


@pytest.mark.parametrize(
    "settings",
    [{"solver": "newton", "tol": 1e-9}, {"operator": "tiled"}, {"precision": "single", "tol": 1e-7}, {"n_jobs": 1}],
    ids=str,
)
def test_way_of_computing_changes_nothing(settings):
    np.testing.assert_allclose(fixed(**settings).fit(X, NAMES).loo_proba_, plain_fit().loo_proba_, atol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "points"),
    [("linear", sparse.csr_matrix(X)), ("precomputed", X @ X.T), (lambda left, right: float(left @ right), X)],
    ids=["sparse", "given matrix", "function"],
)
@pytest.mark.parametrize("ask", [lambda model: model.loo_proba_, lambda model: model.exact_loo()], ids=["one", "all"])
def test_kind_of_input_changes_nothing(kernel, points, ask):
    wanted = ask(fixed("linear").fit(X, NAMES))
    np.testing.assert_allclose(ask(fixed(kernel).fit(points, NAMES)), wanted, atol=1e-5)


def test_objects_are_left_out_like_rows():
    suspects = fixed(shared_pairs).fit(WORDS, KINDS).suspects()
    assert sorted(suspects["row"]) == list(range(len(WORDS)))


def test_another_fit_forgets_the_first():
    model = fixed().fit(X, NAMES)
    first = model.loo_proba_
    model.fit(X[::-1], NAMES[::-1])
    np.testing.assert_allclose(model.loo_proba_, first[::-1], atol=1e-8)


def test_answer_is_computed_once(monkeypatch):
    model = fixed().fit(X, NAMES)
    first = model.loo_proba_
    monkeypatch.setattr(_influence, "ExactExpansion", None)
    assert np.array_equal(model.loo_proba_, first) and len(model.suspects()) == N


def test_pickled_model_still_has_it():
    again = pickle.loads(pickle.dumps(plain_fit()))
    assert np.array_equal(again.loo_proba_, plain_fit().loo_proba_)


def test_suspects_have_their_columns():
    assert list(plain_fit().suspects().columns) == ["row", "label", "probability", "likely", "loss"]


def test_suspects_come_worst_first_and_all_of_them():
    found = plain_fit().suspects()
    assert (np.diff(found["loss"]) <= 0).all() and sorted(found["row"]) == list(range(N))


def test_suspects_tell_what_was_given_and_what_is_likely():
    found, proba = plain_fit().suspects(), plain_fit().loo_proba_
    rows = found["row"].to_numpy()
    assert found["label"].tolist() == NAMES[rows].tolist()
    assert found["likely"].tolist() == plain_fit().classes_[proba[rows].argmax(axis=1)].tolist()
    np.testing.assert_allclose(found["probability"], proba[rows, SPECIES[rows]])
    np.testing.assert_allclose(found["loss"], -np.log(proba[rows, SPECIES[rows]]), rtol=1e-9)


def test_suspects_without_weight_are_none():
    assert not set(weighted_fit().suspects()["row"]) & set(np.flatnonzero(WEIGHTS == 0))


@pytest.mark.parametrize(("wanted", "given"), [(None, N), (1, 1), (np.int64(7), 7), (10 * N, N)])
def test_as_many_suspects_as_wanted(wanted, given):
    assert len(plain_fit().suspects(wanted)) == given


@pytest.mark.parametrize("wanted", [0, -1, 2.0, "all", True])
def test_number_of_suspects_without_sense_is_refused(wanted):
    with pytest.raises(ValueError, match="`n_suspects` must be an integer of at least 1"):
        plain_fit().suspects(wanted)


@pytest.mark.parametrize("criterion", [None, "loo"])
def test_flipped_labels_are_suspects(criterion):
    random = np.random.default_rng(0)
    points, labels = load_digits(return_X_y=True)
    rows = random.permutation(len(labels))[:600]
    points, labels = points[rows], labels[rows]
    flipped = random.permutation(len(labels))[: len(labels) // 20]
    labels[flipped] = (labels[flipped] + random.integers(1, 10, len(flipped))) % 10
    model = KernelLogisticClassifier(criterion=criterion, tying="shared", ard=False, random_state=0, search_size=200)
    first = model.fit(points, labels).suspects(len(labels) // 10)
    assert np.isin(flipped, first["row"]).mean() >= 0.9


ASKED = {
    "loo_proba_": lambda model: model.loo_proba_,
    "loo_log_loss_": lambda model: model.loo_log_loss_,
    "suspects": lambda model: model.suspects(),
    "exact_loo": lambda model: model.exact_loo(),
}


@pytest.fixture(params=ASKED)
def ask(request):
    return ASKED[request.param]


def test_leave_one_out_needs_a_fit(ask):
    with pytest.raises(NotFittedError):
        ask(fixed())


def test_model_file_keeps_no_labels(ask, tmp_path):
    plain_fit().save_model(tmp_path / "model")
    with pytest.raises(AttributeError, match="needs the training labels, which a model file does not contain"):
        ask(load_model(tmp_path / "model"))


def test_error_about_a_model_file_names_the_command_that_finds_its_suspects(tmp_path):
    plain_fit().save_model(tmp_path / "model")
    with pytest.raises(AttributeError, match="run the command `logikern suspects MODEL`"):
        load_model(tmp_path / "model").suspects()


def test_model_file_is_not_larger_for_having_asked(tmp_path):
    model = fixed().fit(X, NAMES)
    model.save_model(tmp_path / "before")
    _ = model.loo_proba_
    model.save_model(tmp_path / "after")
    assert vars(load_model(tmp_path / "after")).keys() == vars(load_model(tmp_path / "before")).keys()


def test_models_against_the_rest_have_none_together(ask):
    with pytest.raises(AttributeError, match="Use the models in `binaries_`"):
        ask(fixed(one_vs_rest=True).fit(X, NAMES))


def test_each_model_against_the_rest_has_its_own():
    binary = fixed(one_vs_rest=True).fit(X, NAMES).binaries_[1]
    assert binary.loo_proba_.shape == (N, 2) and binary.suspects(1)["label"][0] in (True, False)


def test_too_many_rows_for_the_memory_are_refused():
    model = fixed().fit(X, NAMES).set_params(memory_limit="100kB")
    with pytest.raises(ValueError, match="75 rows and 3 classes needs about .* Pass a larger `memory_limit`"):
        _ = model.loo_proba_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fit_without_an_optimum_is_refused():
    model = fixed(variance=1e300).fit(X, NAMES)
    with pytest.raises(ValueError, match="Use a smaller variance"):
        _ = model.loo_proba_


def test_notebook_shows_the_model_without_computing_it(monkeypatch):
    model = fixed().fit(X, NAMES)
    monkeypatch.setattr(_influence, "ExactExpansion", None)
    shown = model._repr_html_()
    assert "KernelLogisticClassifier" in shown and "loo_proba_" not in shown


def test_notebook_shows_models_that_have_none(tmp_path):
    plain_fit().save_model(tmp_path / "model")
    for model in (load_model(tmp_path / "model"), fixed(one_vs_rest=True).fit(X, NAMES)):
        assert "KernelLogisticClassifier" in model._repr_html_() and not hasattr(model, "loo_proba_")


def test_suspects_carry_the_index_of_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, index=[f"row {place}" for place in range(N)])
    found = fixed().fit(frame, SPECIES, sample_weight=WEIGHTS).suspects(5)
    assert found.index.tolist() == [f"row {place}" for place in found["row"]]
    assert frame.loc[found.index].to_numpy().tolist() == X[found["row"]].tolist()


def test_suspects_among_rows_added_later_carry_their_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, index=100 + np.arange(N))
    model = fixed().partial_fit(frame[:30], SPECIES[:30], classes=np.unique(SPECIES))
    found = model.partial_fit(frame[30:], SPECIES[30:]).suspects()
    assert found.index.tolist() == [100 + place for place in found["row"]]


@pytest.mark.parametrize("kind", ["array", "polars", "mixed"])
def test_suspects_of_other_tables_have_numbers(kind):
    if kind == "mixed":
        pandas = pytest.importorskip("pandas")
        first = pandas.DataFrame(X[:30], index=100 + np.arange(30))
        model = fixed().partial_fit(first, SPECIES[:30], classes=np.unique(SPECIES))
        model.partial_fit(X[30:], SPECIES[30:])
    else:
        table = X if kind == "array" else pytest.importorskip("polars").DataFrame(X)
        model = fixed().fit(table, SPECIES)
    assert model.suspects().index.tolist() == list(range(N))
