"""Learning by leave-one-out in closed form, and by whichever criterion is cheaper."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.leave_one_out.criterion import LeaveOneOut
from logikern.estimators import _search_plan
from logikern.estimators._parameters import read_parameters
from logikern.structure.mixing import Flat
from logikern.structure.tying import tie
from tests.estimators.samples import KINDS, WORDS, shared_pairs
from tests.policies import change_policy
from tests.tuning.samples import MOONS, NAMES, SIDES, X, same, tuned

N = len(X)
WEIGHTS = np.linspace(0.5, 2.0, N)
WEIGHTS[[3, 40]] = 0.0
GROUPS = np.arange(N) // 3
SHARED = {"tying": "shared", "ard": False}
# Landmarks may stand for a smooth kernel in the search, and never do after it.
ACCURACY = 1e-3


def loo(kernel="gaussian", **settings):
    return tuned(kernel, **{"criterion": "loo", **settings})


@cache
def default_fit():
    return loo().fit(X, NAMES)


def refitted(model, *data):
    """The hyperparameters of a model as given ones."""
    kernels = {kernel.rate if hasattr(kernel, "rate") else None for kernel in model.kernels_}
    assert len(kernels) == 1
    given = {"rate": kernels.pop(), "variance": model.model_.specification.variances}
    sizes = [(tie(name, Flat(3)).n_variances, name) for name in ("shared", "scaled")]
    return tuned(criterion=None, tying=dict(sizes)[len(given["variance"])], **given).fit(*data)


@pytest.mark.parametrize("settings", [{}, SHARED, {"tying": "scaled", "ard": False}, {"ard": True}], ids=str)
def test_criterion_is_the_leave_one_out_loss_of_a_refit(settings):
    model = loo(**settings).fit(X, NAMES)
    assert model.criterion_value_ == pytest.approx(refitted(model, X, NAMES).loo_log_loss_, rel=ACCURACY)


@pytest.mark.parametrize(
    "settings",
    [
        {"tying": "separate", "ard": False},
        {"tying": ["a", "b", "a"], "ard": False},
        {"tying": "separate", "ard": True},
        {"kernel": "matern32"},
        {"kernel": "rational_quadratic"},
        {"kernel": "linear"},
        {"kernel": "polynomial"},
        {"bias_variance": 0.0},
        {"learn_bias": True, **SHARED},
        {"n_starts": 3, **SHARED},
        {"optimizer": "nelder-mead", **SHARED},
        {"operator": "tiled", **SHARED},
        {"solver": "newton", "tol": 1e-8, **SHARED},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_criterion_is_the_leave_one_out_loss_of_the_model(settings):
    model = loo(**settings).fit(X, NAMES)
    assert model.criterion_value_ == pytest.approx(model.loo_log_loss_, rel=ACCURACY)


@pytest.mark.parametrize("settings", [{}, {"tying": "separate", "ard": False}, {"kernel": "linear"}], ids=str)
def test_learning_lowers_the_loss(settings):
    model = loo(**settings).fit(X, NAMES)
    assert model.criterion_value_ <= model.trace_[0].value and model.score(X, NAMES) > 0.9


def test_learning_is_about_as_good_as_by_cross_validation():
    half = np.arange(len(MOONS)) % 2 == 0
    losses = []
    for criterion in ("loo", "cv"):
        model = tuned(criterion=criterion, **SHARED).fit(MOONS[half], SIDES[half])
        proba = model.predict_proba(MOONS[~half])
        losses.append(-np.log(proba[np.arange(len(proba)), SIDES[~half]]).mean())
    assert losses[0] < 1.1 * losses[1]


def test_weights_are_heeded():
    model = loo(**SHARED).fit(X, NAMES, WEIGHTS)
    assert model.criterion_value_ == pytest.approx(model.loo_log_loss_, rel=ACCURACY)
    assert np.isnan(model.loo_proba_[WEIGHTS == 0]).all() and np.isfinite(model.loo_proba_[WEIGHTS > 0]).all()


def test_rows_without_weight_do_not_matter():
    kept = WEIGHTS > 0
    rest = loo(**SHARED).fit(X[kept], NAMES[kept], WEIGHTS[kept])
    assert loo(**SHARED).fit(X, NAMES, WEIGHTS).criterion_value_ == pytest.approx(rest.criterion_value_, rel=1e-9)


def test_soft_targets_equal_labels_where_they_are_certain():
    soft = loo().fit(X, (NAMES[:, None] == np.unique(NAMES)).astype(float))
    np.testing.assert_allclose(soft.predict_proba(X), default_fit().predict_proba(X), atol=1e-8)


def test_soft_targets_are_learned_from():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), N)
    model = loo().fit(X, shares)
    assert model.criterion_value_ == pytest.approx(model.loo_log_loss_, rel=ACCURACY)


def test_groups_are_left_out_together():
    twice = np.repeat(X, 2, axis=0), np.repeat(NAMES, 2)
    alone = loo(**SHARED, rate=1.0, variance=10.0).fit(*twice)
    together = loo(**SHARED, rate=1.0, variance=10.0).fit(*twice, groups=np.repeat(np.arange(N), 2))
    # A row whose copy stays behind is no surprise.
    assert together.trace_[0].value > 1.3 * alone.trace_[0].value


def test_groups_of_one_are_single_rows():
    assert same(loo(**SHARED).fit(X, NAMES, groups=np.arange(N)), loo(**SHARED).fit(X, NAMES))


def test_groups_may_have_names():
    names = np.array([f"group {number}" for number in GROUPS])
    values = [loo(**SHARED).fit(X, NAMES, groups=groups).criterion_value_ for groups in (names, GROUPS)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)  # in another order, hence with other sums


def test_groups_approximate_cross_validation_by_them():
    folds = np.arange(N) % 10
    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(10)]
    exact = tuned(cv=splits, max_time=1e3, **SHARED).fit(X, NAMES)
    near = loo(**SHARED).fit(X, NAMES, groups=folds)
    assert near.trace_[0].value == pytest.approx(exact.trace_[0].value, rel=0.05)


def test_one_group_only_is_refused():
    with pytest.raises(ValueError, match="`groups` has only one group, 7"):
        loo().fit(X, NAMES, groups=np.full(N, 7))


def test_given_matrix_learns_the_same_variance():
    named = loo("linear").fit(X, NAMES)
    np.testing.assert_allclose(loo("precomputed").fit(X @ X.T, NAMES).variances_, named.variances_, rtol=1e-6)


def test_function_learns_the_same_variance():
    named = loo("linear").fit(X, NAMES)
    function = loo(lambda left, right: float(left @ right)).fit(X, NAMES)
    np.testing.assert_allclose(function.variances_, named.variances_, rtol=1e-6)


def test_objects_are_learned_from():
    model = loo(shared_pairs).fit(WORDS, KINDS)
    assert model.criterion_value_ == pytest.approx(model.loo_log_loss_, rel=ACCURACY)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_sparse_and_dense_tables_learn_the_same(kernel):
    dense = loo(kernel, **SHARED).fit(X, NAMES)
    scattered = loo(kernel, **SHARED).fit(sparse.csr_matrix(X), NAMES)
    np.testing.assert_allclose(scattered.variances_, dense.variances_, rtol=1e-6)


def test_same_seed_gives_the_same_model():
    assert same(loo(search_size=30).fit(X, NAMES), loo(search_size=30).fit(X, NAMES))


def test_subset_of_the_search_is_drawn_by_the_seed():
    values = [loo(search_size=30, random_state=seed, **SHARED).fit(X, NAMES).criterion_value_ for seed in (0, 1)]
    assert values[0] != values[1]


def test_search_has_as_many_points_as_it_was_given():
    assert loo(search_size=30, **SHARED).fit(X, NAMES).trace_[-1].n_points == 30


def test_search_on_two_sizes_has_the_larger_as_its_end(monkeypatch):
    # What one evaluation may cost, so small that 40 of the points are taken.
    change_policy(monkeypatch, _search_plan, loo_work=40.5**3 * 9)
    model = loo(**SHARED).fit(X, NAMES)
    assert [record.n_points for record in (model.trace_[0], model.trace_[-1])] == [20, 40]


def test_binary_models_are_learned_each_for_itself():
    model = loo(one_vs_rest=True, **SHARED).fit(X, NAMES)
    for binary in model.binaries_:
        assert binary.criterion_value_ == pytest.approx(binary.loo_log_loss_, rel=ACCURACY)


def test_simplex_reaches_the_optimum_of_the_gradient():
    by_values = loo(optimizer="nelder-mead", **SHARED).fit(MOONS, SIDES)
    by_gradient = loo(**SHARED).fit(MOONS, SIDES)
    # Both minimise criterion and prior together. Steps by the gradient end early where these are flat.
    assert by_values.criterion_value_ == pytest.approx(by_gradient.criterion_value_, rel=0.05)
    assert len(by_values.trace_) > 2 * len(by_gradient.trace_)


def test_simplex_searches_by_cross_validation_as_well():
    by_values = tuned(optimizer="nelder-mead", **SHARED).fit(MOONS, SIDES)
    by_gradient = tuned(**SHARED).fit(MOONS, SIDES)
    assert by_values.criterion_value_ == pytest.approx(by_gradient.criterion_value_, rel=1e-2)


def test_simplex_grows_through_every_tying():
    model = loo(optimizer="nelder-mead", tying="scaled", ard=False).fit(X, NAMES)
    assert model.criterion_value_ == pytest.approx(model.loo_log_loss_, rel=ACCURACY)


@pytest.mark.parametrize(
    ("settings", "fragment"),
    [
        ({"criterion": "LOO"}, "`criterion` must be 'cv', 'loo', 'auto' or None"),
        ({"criterion": True}, "`criterion` must be 'cv', 'loo', 'auto' or None"),
        ({"optimizer": "bfgs"}, "`optimizer` must be one of"),
        ({"optimizer": None}, "`optimizer` must be one of"),
    ],
    ids=str,
)
def test_setting_without_sense_is_refused(settings, fragment):
    with pytest.raises(ValueError, match=fragment):
        loo(**settings).fit(X, NAMES)


@pytest.fixture
def forbid(monkeypatch):
    """Call to let no evaluation of a criterion be computed any more."""

    def refuse(*arguments):
        raise AssertionError("nothing should be computed")

    return lambda criterion: monkeypatch.setattr(criterion, "evaluate", refuse)


@pytest.mark.parametrize("optimizer", ["quasi-newton", "nelder-mead"])
def test_finished_search_is_reused(optimizer, tmp_path, forbid):
    settings = {"checkpoint": tmp_path / "fit.search", "optimizer": optimizer, **SHARED}
    first = loo(**settings).fit(X, NAMES)
    forbid(LeaveOneOut)
    assert same(loo(**settings).fit(X, NAMES), first)


@pytest.mark.parametrize("optimizer", ["quasi-newton", "nelder-mead"])
def test_interrupted_search_is_resumed(optimizer, tmp_path, monkeypatch):
    settings = {"optimizer": optimizer, "tying": "scaled", "ard": False}
    count, evaluate = [], LeaveOneOut.evaluate

    def interrupted(*arguments):
        count.append(1)
        if len(count) == 3:
            raise KeyboardInterrupt
        return evaluate(*arguments)

    monkeypatch.setattr(LeaveOneOut, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loo(checkpoint=tmp_path / "fit.search", **settings).fit(X, NAMES)
    assert len(count) == 3
    resumed = loo(checkpoint=tmp_path / "fit.search", **settings).fit(X, NAMES)
    assert same(resumed, loo(**settings).fit(X, NAMES))


@pytest.mark.parametrize(
    "other", [{"criterion": "cv"}, {"optimizer": "nelder-mead"}, {"bias_variance": np.inf}, {"n_starts": 2}], ids=str
)
def test_checkpoint_of_other_settings_is_refused(other, tmp_path):
    loo(checkpoint=tmp_path / "fit.search", **SHARED).fit(X, NAMES)
    with pytest.raises(ValueError, match="other data or other settings"):
        loo(**{"checkpoint": tmp_path / "fit.search", **SHARED, **other}).fit(X, NAMES)


def test_checkpoint_of_other_groups_is_refused(tmp_path):
    loo(checkpoint=tmp_path / "fit.search", **SHARED).fit(X, NAMES, groups=GROUPS)
    with pytest.raises(ValueError, match="other data or other settings"):
        loo(checkpoint=tmp_path / "fit.search", **SHARED).fit(X, NAMES, groups=GROUPS[::-1])


@pytest.mark.parametrize("optimizer", ["quasi-newton", "nelder-mead"])
def test_time_for_the_search_is_kept(optimizer):
    with pytest.warns(ConvergenceWarning, match="time limit was reached"):
        model = loo(max_time=1e-6, optimizer=optimizer).fit(X, NAMES)
    assert len(model.trace_) == 1 and model.criterion_value_ == model.trace_[0].value


def taken_by(n_points, n_classes, **settings):
    """The criterion that "auto" takes."""
    model = tuned(criterion="auto", **settings)
    return "loo" if _search_plan.leaves_one_out(read_parameters(model), n_points, n_classes) else "cv"


def test_auto_takes_leave_one_out_for_two_classes_of_few_points():
    assert [taken_by(n, 2) for n in (10, 700, 701, 20000)] == ["loo", "loo", "cv", "cv"]


def test_auto_takes_cross_validation_for_more_classes():
    assert [taken_by(n, 3) for n in (10, 1000)] == ["cv", "cv"]


def test_auto_takes_leave_one_out_where_constants_are_free():
    assert taken_by(5000, 7, bias_variance=np.inf) == "loo"


def test_auto_is_the_criterion_that_it_takes():
    assert same(tuned(criterion="auto", **SHARED).fit(MOONS, SIDES), loo(**SHARED).fit(MOONS, SIDES))
    assert same(tuned(criterion="auto", **SHARED).fit(X, NAMES), tuned(**SHARED).fit(X, NAMES))


def test_auto_computes_nothing_of_the_other(forbid):
    forbid(CrossValidation)
    model = tuned(criterion="auto", **SHARED).fit(MOONS, SIDES)
    assert model.criterion_method_.startswith("leave-one-out")


@pytest.mark.parametrize(
    ("criterion", "data", "told"),
    [
        ("loo", (X, NAMES), "50 rows by leave-one-out"),
        ("cv", (X, NAMES), "50 rows by cross-validation"),
        ("auto", (X, NAMES), "50 rows by cross-validation"),
        ("auto", (MOONS, SIDES), "80 rows by leave-one-out"),
    ],
)
def test_story_tells_which_criterion_it_was(criterion, data, told):
    assert told in tuned(criterion=criterion, **SHARED).fit(*data).explain()


def test_learning_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loo().fit(X, NAMES)


def test_class_with_one_member():
    labels = NAMES.astype(object)
    labels[0] = "rare"
    model = loo().fit(X, labels)
    assert np.isfinite(model.loo_proba_).all() and model.suspects(1)["label"][0] == "rare"


def test_two_rows_of_two_classes():
    assert np.isfinite(loo().fit(np.array([[0.0], [1.0]]), [0, 1]).loo_proba_).all()


def test_constant_inputs_learn_the_shares():
    model = loo().fit(np.ones((40, 2)), np.arange(40) % 4 // 3)
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), [[0.75, 0.25]], atol=0.02)
