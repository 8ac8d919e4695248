"""What the arguments of the search do."""

from functools import cache, partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold

from logikern.estimators import _search_plan
from logikern.estimators._inputs.data import check_together, training_data
from logikern.estimators._inputs.subsets import nested_order
from logikern.estimators._parameters import read_parameters
from logikern.kernels import Gaussian, Linear, Matern32
from tests.policies import change_policy
from tests.tuning.samples import MOONS, NAMES, SIDES, SPECIES, X, default_fit, same, tuned

SHARED = {"tying": "shared", "ard": False}


def stages(model):
    return list(dict.fromkeys(record.stage for record in model.trace_))


@pytest.mark.parametrize(
    "tying, n_kernels, n_variances", [("shared", 1, 1), ("scaled", 1, 3), ("separate", 3, 3), (["a", "b", "b"], 2, 2)]
)
def test_tying_by_hand_is_what_the_model_has(tying, n_kernels, n_variances):
    model = tuned(tying=tying, ard=False).fit(X, NAMES)
    assert (len(model.kernels_), len(model.model_.specification.variances)) == (n_kernels, n_variances)


def test_groups_of_classes_share_kernel_and_variance():
    model = tuned(tying=["a", "b", "b"], ard=False).fit(X, NAMES)
    assert model.model_.specification.tying.kernel_of == (0, 1, 1) and model.variances_[1] == model.variances_[2]


def test_growth_tries_every_tying_and_rates_of_inputs():
    model = tuned().fit(*load_iris(return_X_y=True))
    # A kernel per class follows only if rates of columns are not kept.
    assert stages(model) == ["shared", "scaled", "rate per column"] and model.verdicts_[-1].kept
    assert model.plan_.search.growth.stages == ("shared", "scaled", "rate per column", "separate")


def test_growth_on_few_rows_leaves_out_finer_ties():
    # Two variances more would need 60 rows.
    assert len(X) == 50 and stages(default_fit()) == ["shared", "rate per column"]


def test_growth_of_two_classes_needs_one_variance():
    # Only the sum of two variances matters, so a variance per class would be the same model.
    assert stages(tuned(ard=False).fit(MOONS, SIDES)) == ["shared"]
    assert stages(tuned().fit(MOONS, SIDES)) == ["shared", "rate per column"]


def test_growth_keeps_separate_kernels_where_they_pay():
    # One class is a fine checkerboard, the others are told apart by a smooth line.
    generator = np.random.default_rng(0)
    points = generator.uniform(-1, 1, (360, 2))
    fine = (np.floor(4 * points).sum(axis=1) % 2 == 0) & (points[:, 0] > 0)
    labels = np.where(fine, 2, (points[:, 1] > 0).astype(int))
    model = tuned(ard=False).fit(points, labels)
    assert any(verdict.kept for verdict in model.verdicts_[1:])


def test_learned_values_differ_from_the_start():
    frame = default_fit().hyperparameters_
    assert (frame["value"] != frame["start"]).to_numpy()[:2].all()


def test_criterion_of_none_learns_nothing():
    model = tuned(criterion=None).fit(X, NAMES)
    assert np.isnan(model.criterion_value_) and not model.verdicts_


@cache
def noisy():
    """Two inputs that matter among seven: inside or outside of a circle."""
    generator = np.random.default_rng(0)
    points = generator.standard_normal((90, 7))
    return points, ((points[:, :2] ** 2).sum(axis=1) + 0.3 * generator.standard_normal(90) > 1.4).astype(int)


def test_relevance_has_a_rate_for_every_input():
    model = tuned(tying="shared", ard=True).fit(*noisy())
    rates = np.array(model.kernels_[0].rate)
    assert len(rates) == 7 and 3 * rates[2:].max() < rates[:2].min()


def test_relevance_by_class_has_rates_for_every_class():
    model = tuned(tying="separate", ard=True).fit(X, NAMES)
    assert [len(kernel.rate) for kernel in model.kernels_] == [4, 4, 4]


def test_relevance_of_no_use_is_dropped_by_growth():
    generator = np.random.default_rng(0)
    points = generator.standard_normal((200, 2))  # both inputs matter alike
    labels = ((points**2).sum(axis=1) + 0.3 * generator.standard_normal(200) > 1.4).astype(int)
    model = tuned().fit(points, labels)
    assert "rate per column" in stages(model) and isinstance(model.kernels_[0].rate, float)


def test_relevance_can_be_left_out():
    assert "rate per column" not in stages(tuned(ard=False).fit(X, NAMES))


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.4) + 0.3 * Linear(), Gaussian(0.4) * Matern32(0.1)], ids=["sum", "product"]
)
def test_parts_of_a_kernel_are_learned(kernel):
    model = tuned(kernel, **SHARED).fit(X, NAMES)
    assert (np.abs(model.kernels_[0].log_parameters - kernel.log_parameters) > 1e-6).all()


def test_bias_variance_is_kept_by_default():
    assert default_fit().model_.specification.bias_variance == pytest.approx(16.0, rel=1e-14)


def test_bias_variance_is_learned_on_request():
    assert tuned(learn_bias=True, **SHARED).fit(X, NAMES).model_.specification.bias_variance != 16.0


def test_bias_variance_of_zero_is_not_learned():
    model = tuned(learn_bias=True, bias_variance=0.0, **SHARED).fit(X, NAMES)
    assert model.model_.specification.bias_variance == 0.0


def test_rate_and_variance_are_where_learning_starts():
    model = tuned(rate=0.1, variance=5.0, **SHARED).fit(X, NAMES)
    assert model.hyperparameters_["start"].tolist() == [pytest.approx(0.1), 5.0, 16.0]


def test_variances_of_classes_are_where_learning_starts():
    model = tuned(tying="separate", ard=False, variance=[1.0, 2.0, 3.0]).fit(X, NAMES)
    frame = model.hyperparameters_
    assert frame.loc[frame["name"] == "variance", "start"].tolist() == [1.0, 2.0, 3.0] and stages(model) == [
        "separate"
    ]


def test_further_starts_are_searched_from():
    more = tuned(n_starts=3, **SHARED).fit(X, NAMES)
    assert len(more.trace_) > len(tuned(**SHARED).fit(X, NAMES).trace_)


def test_further_starts_worsen_the_criterion_by_no_more_than_the_prior_may():
    # The best start is the one of the least criterion and prior together.
    assert tuned(n_starts=3, **SHARED).fit(X, NAMES).criterion_value_ <= (
        1.02 * tuned(**SHARED).fit(X, NAMES).criterion_value_
    )


SPLITTERS = {
    "number": 4,
    "stratified": StratifiedKFold(4, shuffle=True, random_state=0),
    "plain": KFold(4, shuffle=True, random_state=0),
    "overlapping": ShuffleSplit(4, random_state=0),
    "leave one out": LeaveOneOut(),
    "splits": list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, NAMES)),
    "masks": [(np.arange(len(X)) % 4 != part, np.arange(len(X)) % 4 == part) for part in range(4)],
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_folds_of_every_kind(name):
    model = tuned(cv=SPLITTERS[name], **SHARED).fit(X, NAMES)
    assert 0 < model.criterion_value_ < 0.3


def test_splits_equal_their_splitter():
    split, given = (tuned(cv=SPLITTERS[name], **SHARED).fit(X, NAMES) for name in ("stratified", "splits"))
    assert same(split, given)


def test_splits_may_be_read_once():
    once = (pair for pair in SPLITTERS["splits"])
    assert same(tuned(cv=once, **SHARED).fit(X, NAMES), tuned(cv=SPLITTERS["splits"], **SHARED).fit(X, NAMES))


def test_splits_read_once_serve_all_sizes_of_a_search(monkeypatch):
    change_policy(monkeypatch, _search_plan, coarse_size=20, coarse_per_class=5)
    model = tuned(cv=(pair for pair in SPLITTERS["splits"]), **SHARED).fit(X, NAMES)
    assert model.trace_[-1].n_points == len(X)


def test_criterion_is_the_held_out_loss_of_models_fitted_alone():
    splits = SPLITTERS["splits"]
    model = tuned(cv=splits, **SHARED).fit(X, SPECIES)
    fixed = tuned(model.kernels_[0], variance=model.variances_[0], criterion=None, tying="shared")
    losses = [
        log_loss(SPECIES[held_out], fixed.fit(X[kept], SPECIES[kept]).predict_proba(X[held_out]), normalize=False)
        for kept, held_out in splits
    ]
    assert model.criterion_value_ == pytest.approx(sum(losses) / len(X), rel=1e-6)


def test_rows_of_weight_zero_are_left_out_of_given_splits():
    weights = np.where(np.arange(len(X)) % 7 == 3, 0.0, 1.0)
    kept = np.flatnonzero(weights)
    place = np.cumsum(weights > 0) - 1
    splits = SPLITTERS["splits"]
    without = [tuple(place[side[weights[side] > 0]] for side in pair) for pair in splits]
    weighted = tuned(cv=splits, **SHARED).fit(X, NAMES, weights)
    dropped = tuned(cv=without, **SHARED).fit(X[kept], NAMES[kept])
    assert weighted.model_.specification == dropped.model_.specification


def test_splits_that_hold_out_nothing_are_refused():
    everything = np.arange(len(X))
    with pytest.raises(ValueError, match="`cv` must hold out some points"):
        tuned(cv=[(everything, everything[:0])]).fit(X, NAMES)


@cache
def copies():
    """Labels without any sense, every row three times: only its copies tell the label of a row."""
    generator = np.random.default_rng(0)
    points, labels = generator.standard_normal((40, 2)), generator.integers(0, 2, 40)
    return np.repeat(points, 3, axis=0), np.repeat(labels, 3), np.repeat(np.arange(40), 3)


@pytest.mark.parametrize("cv", [5, GroupKFold(5)], ids=["number", "splitter"])
def test_groups_are_kept_together(cv):
    points, labels, groups = copies()
    leaking = tuned(**SHARED).fit(points, labels)
    honest = tuned(cv=cv, **SHARED).fit(points, labels, groups=groups)
    assert leaking.criterion_value_ < 0.3 and honest.criterion_value_ > 0.6


def test_groups_of_rows_of_weight_zero_are_dropped_with_them():
    points, labels, groups = copies()
    weights = np.where(np.arange(len(labels)) % 7 == 0, 0.0, 1.0)
    kept = np.flatnonzero(weights)
    weighted = tuned(**SHARED).fit(points, labels, weights, groups)
    dropped = tuned(**SHARED).fit(points[kept], labels[kept], groups=groups[kept])
    assert weighted.model_.specification == dropped.model_.specification


def test_groups_are_kept_together_in_a_part_of_the_points():
    points, labels, groups = copies()
    assert tuned(search_size=100, **SHARED).fit(points, labels, groups=groups).criterion_value_ > 0.6


def test_groups_may_be_names():
    points, labels, groups = copies()
    named = np.array([f"patient {group:03d}" for group in groups])
    models = [tuned(**SHARED).fit(points, labels, groups=own) for own in (groups, named)]
    assert same(*models)


@pytest.mark.parametrize("n_groups", [119, 121])
def test_groups_of_another_length_are_refused(n_groups):
    points, labels, _ = copies()
    with pytest.raises(ValueError, match="`groups`"):
        tuned().fit(points, labels, groups=np.arange(n_groups))


def test_search_on_a_part_of_the_points():
    assert {record.n_points for record in tuned(search_size=30, **SHARED).fit(X, NAMES).trace_} == {30}


def test_final_fit_has_all_points_whatever_the_search_had():
    model = tuned(search_size=30, **SHARED).fit(X, NAMES)
    assert (np.abs(model.dual_coef_).max(axis=1) > 0).all()


def test_search_grows_on_a_part_and_finishes_on_more(monkeypatch):
    change_policy(monkeypatch, _search_plan, coarse_size=20, coarse_per_class=5)
    model = tuned(search_size=40, **SHARED).fit(X, NAMES)
    assert list(dict.fromkeys(record.n_points for record in model.trace_)) == [20, 40]


def test_search_on_texts_of_many_classes_goes_on_on_ever_more(monkeypatch):
    small = {"coarse_size": 20, "fine_size": 20, "coarse_per_class": 5, "entries": 30, "enlargement": 1.5}
    change_policy(monkeypatch, _search_plan, **small)

    def sizes(inputs, **settings):
        model = tuned("linear", **SHARED, **settings).fit(inputs, NAMES)
        return list(dict.fromkeys(record.n_points for record in model.trace_))

    texts = sparse.csr_array(X)
    assert sizes(texts) == [30, 45]  # 50 are hardly more
    assert sizes(X) == [20]
    assert sizes(texts, search_size=30) == [20, 30]
    assert sizes(texts, cv=StratifiedKFold(3)) == [20]
    change_policy(monkeypatch, _search_plan, most_entries=35 * 3)  # 35 rows of three classes
    assert sizes(texts) == [30]


def test_part_for_the_search_has_every_class():
    generator = np.random.default_rng(0)
    labels = np.r_[np.zeros(190), np.ones(6), np.full(4, 2)].astype(int)
    points = generator.standard_normal((200, 2)) + 4 * labels[:, None]
    drawn = nested_order(_training(points, labels), 4, seed=0)[:30]
    assert np.bincount(labels[drawn])[1:].tolist() == [4, 4]


def _training(points, labels):
    model = tuned()
    return training_data(read_parameters(model), partial(check_together, model), points, labels, None)


@cache
def against_the_rest():
    return tuned(one_vs_rest=True, **SHARED).fit(X, NAMES)


def test_probabilities_against_the_rest_sum_to_one():
    np.testing.assert_allclose(against_the_rest().predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


def test_probabilities_against_the_rest_are_those_of_binary_models():
    names = ["setosa", "versicolor", "virginica"]
    binary = [tuned(**SHARED).fit(X, name == NAMES).predict_proba(X)[:, 1] for name in names]
    expected = np.transpose(binary) / np.sum(binary, axis=0)[:, None]
    np.testing.assert_allclose(against_the_rest().predict_proba(X), expected, rtol=1e-9)


def test_models_against_the_rest_predict_the_classes():
    assert against_the_rest().score(X, NAMES) > 0.9


def test_models_against_the_rest_learn_for_themselves():
    rates = [binary.kernels_[0].rate for binary in against_the_rest().binaries_]
    assert len(set(rates)) == 3


def test_models_against_the_rest_use_weights():
    weights = np.linspace(0, 2, len(X))
    weighted = tuned(one_vs_rest=True, **SHARED).fit(X, NAMES, weights)
    binary = tuned(**SHARED).fit(X, NAMES == "setosa", weights)
    assert weighted.binaries_[0].model_.specification == binary.model_.specification
