"""The classifier on a tree of classes, end to end."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import logikern
from logikern import KernelLogisticClassifier
from logikern.structure.hierarchy import read_tree
from logikern.structure.tree import Tree
from tests.estimators.trees import LABELS, NESTED, NEW, NUMBERS, PARENTS, ROWS, X, Y, coarse, coarse_labels, fixed


def graph():
    networkx = pytest.importorskip("networkx")
    return networkx.DiGraph([(parent, child) for child, parent in ROWS])


# --- forms of a hierarchy ---

FORMS = {
    "parents": lambda: PARENTS,
    "nested": lambda: NESTED,
    "rows": lambda: ROWS,
    "array": lambda: np.array(ROWS),
    "pandas": lambda: pd.DataFrame(ROWS, columns=["child", "parent"]),
    "pandas, parents first": lambda: pd.DataFrame(ROWS, columns=["child", "parent"])[["parent", "child"]],
    "series": lambda: pd.Series(PARENTS),
    "polars": lambda: pl.DataFrame(ROWS, schema=["child", "parent"], orient="row"),
    "graph": graph,
    "tree": lambda: read_tree(PARENTS),
}


@pytest.fixture(scope="module")
def reference():
    return fixed(hierarchy="paths").fit(X, LABELS)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_hierarchy_gives_the_same_model(form, reference):
    model = fixed(hierarchy=FORMS[form]()).fit(X, Y)
    order = [model.classes_.tolist().index(path.rpartition("/")[2]) for path in reference.classes_]
    np.testing.assert_allclose(model.predict_proba(NEW)[:, order], reference.predict_proba(NEW), atol=1e-9)


def test_tuples_are_paths_as_text_is(reference):
    labels = [tuple(path.split("/")) for path in LABELS]
    model = fixed(hierarchy="paths").fit(X, labels)
    np.testing.assert_allclose(model.predict_proba(NEW), reference.predict_proba(NEW), atol=1e-9)
    assert set(model.predict(NEW)) <= set(labels)
    assert model.score(X, labels) == reference.score(X, LABELS)


@pytest.mark.parametrize(
    "y", [list(Y), pd.Series(Y), pl.Series(Y), Y.astype(object)], ids=lambda y: type(y).__module__
)
def test_labels_may_come_in_any_sequence(y):
    expected = fixed(hierarchy=PARENTS).fit(X, Y).predict_proba(NEW)
    np.testing.assert_array_equal(fixed(hierarchy=PARENTS).fit(X, y).predict_proba(NEW), expected)


def test_frames_of_nodes_are_named_and_of_the_kind_of_the_input():
    model = fixed(hierarchy=PARENTS).fit(pd.DataFrame(X, columns=list("abc")), Y)
    frame = model.predict_node_proba_frame(pd.DataFrame(NEW, columns=list("abc"), index=range(7, 47)))
    assert list(frame.columns) == list(model.tree_.labels) and frame.index[0] == 7
    other = model.predict_node_proba_frame(pl.DataFrame(NEW, schema=list("abc")))
    assert isinstance(other, pl.DataFrame) and other.columns == list(model.tree_.labels)


def test_rows_may_be_a_list(reference):
    frame = reference.predict_node_proba_frame(NEW[:3].tolist())
    np.testing.assert_array_equal(frame.to_numpy(), reference.predict_node_proba(NEW[:3]))


def test_tuples_of_one_length_are_single_labels_of_a_frame():
    labels = [tuple(path.split("/")[:2]) for path in LABELS]
    frame = fixed(hierarchy="paths").fit(X, labels).predict_proba_frame(NEW)
    assert list(frame.columns) == sorted(set(labels)) and frame.columns.nlevels == 1


def test_every_node_is_named_where_each_has_a_variance():
    frame = fixed(hierarchy=PARENTS, tying="scaled").fit(X, Y).hyperparameters_
    named = set(frame["classes"][frame["name"] == "variance"])
    assert named == {*PARENTS, *PARENTS.values()} - {"sport"}


# --- the model ---


def test_two_leaves_at_the_top_are_the_model_without_tree():
    two = NUMBERS < 2
    with_tree = fixed(hierarchy={"film": None, "music": None}).fit(X[two], Y[two])
    np.testing.assert_allclose(
        with_tree.predict_proba(NEW), fixed().fit(X[two], Y[two]).predict_proba(NEW), atol=1e-7
    )


def test_probability_of_a_node_is_the_sum_of_its_leaves(reference):
    nodes = reference.predict_node_proba(NEW)
    leaves = reference.predict_proba(NEW)
    for place, label in enumerate(reference.tree_.labels):
        below = [path == label or path.startswith(f"{label}/") for path in reference.classes_]
        np.testing.assert_allclose(nodes[:, place], leaves[:, below].sum(axis=1), atol=1e-12)


def test_class_without_rows_has_a_probability_near_that_of_its_siblings():
    hierarchy = {**PARENTS, "chemistry": "science", "opera": "art"}
    model = fixed(hierarchy=hierarchy).fit(X, Y)
    assert {"chemistry", "opera"} < set(model.classes_)
    frame = model.predict_proba_frame(X)
    assert (frame[["chemistry", "opera"]] > 0).all().all()
    of_film = frame[Y == "film"].mean()
    assert of_film["opera"] > of_film["chemistry"]


@pytest.mark.parametrize("tying", ["shared", "scaled", "level", "subtree", "separate"])
def test_right_leaf_of_a_ragged_tree_has_a_probability(tying):
    rng = np.random.default_rng(0)
    ragged = ["a", "b", "c/d", "c/e/f", "c/e/g/h", "c/e/g/i"]
    numbers = np.arange(60) % 6
    points = np.eye(6)[numbers] * 3 + 0.3 * rng.normal(size=(60, 6))
    model = fixed(hierarchy="paths", tying=tying).fit(points, np.array(ragged)[numbers])
    column = [model.classes_.tolist().index(ragged[number]) for number in numbers]
    assert model.predict_proba(points)[np.arange(60), column].min() > 0.5


@pytest.mark.parametrize("solver", ["newton", "exact"])
def test_solvers_agree(solver, reference):
    model = fixed(hierarchy="paths", solver=solver, tol=1e-7).fit(X, LABELS)
    np.testing.assert_allclose(model.predict_proba(NEW), reference.predict_proba(NEW), atol=1e-6)


def test_variances_of_nodes_are_there_where_they_have_siblings(reference):
    variances = dict(zip(reference.tree_.labels, reference.node_variances_, strict=True))
    assert np.isnan(variances["work/sport"])
    assert all(variance > 0 for label, variance in variances.items() if label != "work/sport")


# --- decisions ---


def test_decisions_of_leaves_and_nodes(reference):
    assert (reference.decide(NEW) == reference.predict(NEW)).all()
    nodes = reference.decide(NEW, loss="taxonomic", allow_inner=True)
    assert set(nodes) <= set(reference.tree_.labels)
    paths = reference.predict_paths(NEW, loss="taxonomic", allow_inner=True)
    assert [path[-1] for path in paths] == nodes.tolist()


def test_rejected_rows_have_the_reject_label(reference):
    decided = reference.decide(NEW, loss="taxonomic", allow_inner=True, reject_cost=0.2, reject_label="?")
    assert "?" in decided and set(decided) - {"?"} <= set(reference.tree_.labels)


def test_mixed_labels_keep_their_types():
    hierarchy = {0: "low", 1: "low", 2: "high", 3: "high", 4: "high", 5: None}
    model = fixed(hierarchy=hierarchy).fit(X, NUMBERS)
    assert model.predict(NEW).dtype.kind == "i"
    assert model.decide(NEW, loss="taxonomic", allow_inner=True, reject_cost=9.0).dtype == object


def test_score_counts_classes_at_or_below_the_node_named(reference):
    tops = np.array([path.partition("/")[0] for path in LABELS])
    found = np.array([path[0] for path in reference.predict_paths(X)])
    assert reference.score(X, LABELS) == pytest.approx((reference.predict(X) == LABELS).mean())
    assert reference.score(X, tops) == pytest.approx((found == tops).mean())
    assert reference.score(X, LABELS, reference.predict(X) == LABELS) == pytest.approx(1.0)


# --- at home in scikit-learn ---


def test_clone_keeps_the_hierarchy():
    for hierarchy in (PARENTS, NESTED, ROWS, read_tree(PARENTS), "paths"):
        assert clone(fixed(hierarchy=hierarchy)).hierarchy == hierarchy or isinstance(hierarchy, Tree)


def test_grid_search_over_tyings():
    grid = {"kernellogisticclassifier__tying": ["shared", "level", "subtree", "scaled", "separate"]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), fixed(hierarchy=PARENTS)), grid, cv=2, scoring="neg_log_loss"
    )
    search.fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_fold_without_a_class_knows_it_from_the_tree():
    """Scores of folds need a column for each class: the tree has it, the rows may not."""
    search = GridSearchCV(
        fixed(hierarchy=PARENTS), {"variance": [1.0, 10.0]}, cv=[(np.arange(30), np.arange(30, 90))]
    )
    labels = np.where((np.arange(90) < 30) & (Y == "nuclear"), "optics", Y)
    assert np.isfinite(search.fit(X, labels).best_score_)


def test_round_trip_through_a_file(tmp_path):
    model = coarse(tying="level").fit(X, coarse_labels())
    model.save_model(tmp_path / "m.skops")
    loaded = logikern.load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict_node_proba(NEW), model.predict_node_proba(NEW))
    np.testing.assert_array_equal(
        loaded.decide(NEW, "taxonomic", allow_inner=True), model.decide(NEW, "taxonomic", allow_inner=True)
    )
    assert loaded.hyperparameters_.equals(model.hyperparameters_)
    again = loaded.fit(X, coarse_labels()).predict_proba(NEW)
    np.testing.assert_allclose(again, model.predict_proba(NEW), atol=1e-9)


def test_refit_without_hierarchy_forgets_the_tree():
    model = fixed(hierarchy=PARENTS).fit(X, Y)
    model.set_params(hierarchy=None).fit(X, Y)
    with pytest.raises(AttributeError, match="Fit with `hierarchy`"):
        model.predict_node_proba(NEW)


def test_tree_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    model = fixed(hierarchy=PARENTS).fit(X, Y)
    assert model.plot_tree(X, Y).texts and model.plot_tree().texts
    pyplot.close("all")


# --- learning ---


def learned(**settings) -> KernelLogisticClassifier:
    return KernelLogisticClassifier(hierarchy=PARENTS, **{"cv": 3, "ard": False, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def by_level():
    return learned(tying="level").fit(X, Y)


def test_variance_per_level_is_the_least():
    # So few points do not prove that levels differ, nor need they.
    model = learned(kernel="gaussian", inputs="raw", ard=True).fit(X[:30], Y[:30])
    assert [verdict.stage for verdict in model.verdicts_] == ["shared", "level", "rate per column"]
    model = learned(kernel="linear").fit(X[:30], Y[:30])
    assert [(verdict.stage, verdict.kept) for verdict in model.verdicts_] == [("shared", True), ("level", True)]


def test_variances_of_levels_are_learned_and_named(by_level):
    frame = by_level.hyperparameters_
    assert frame["classes"][frame["name"] == "variance"].tolist() == ["level 1", "leaves", "level 2"]
    assert len(set(by_level.variances_.tolist())) == 3


def test_search_resumes_with_the_hierarchy_in_another_form(tmp_path):
    settings = {"tying": "shared", "checkpoint": tmp_path / "search.npz"}
    first = learned(**settings).fit(X, Y)
    again = learned(**settings).set_params(hierarchy=NESTED).fit(X, Y)
    assert again.criterion_value_ == first.criterion_value_


def test_learned_is_better_than_where_it_started(by_level):
    assert by_level.criterion_value_ < by_level.trace_[0].value


def test_coarse_labels_are_learned_from():
    small = slice(0, 60)
    model = learned(tying="shared", cv=2).fit(X[small], coarse_labels()[small])
    assert model.criterion_value_ < 1.0


def test_leave_one_out_of_a_tree():
    small = slice(0, 60)
    model = learned(criterion="loo", tying="level").fit(X[small], Y[small])
    assert model.criterion_value_ < np.log(6)
    assert model.loo_log_loss_ == pytest.approx(model.criterion_value_, rel=0.02)
    exact = model.exact_loo()
    assert np.corrcoef(model.loo_proba_.ravel(), exact.ravel())[0, 1] > 0.99
    assert len(model.suspects(5)) == 5


# --- errors ---

ERRORS = {
    "one against the rest": ({"one_vs_rest": True}, Y, "classes of a hierarchy are fitted together"),
    "one against the rest, coarse": ({"one_vs_rest": True}, coarse_labels(), "classes of a hierarchy are fitted"),
    "unknown label": (
        {},
        np.where(Y == "music", "musik", Y),
        "'musik' at point 1 is not one of them. Did you mean 'music'",
    ),
    "free constants": ({"bias_variance": np.inf}, Y, "infinite, which a hierarchy does not allow"),
    "loo of coarse labels": ({"criterion": "loo"}, coarse_labels(), "labels are inner nodes"),
    "unknown tying": ({"tying": "tied"}, Y, "`tying` must be one of"),
    "unknown node in tying": ({"tying": {"arts": 1}}, Y, "'arts', which is not a node"),
    "tying too short": ({"tying": [0, 1]}, Y, "one group label for each node that has siblings"),
    "variances too many": ({"variance": [1.0, 2.0], "tying": "level"}, Y, "3 with tying='level'"),
    "too many columns": ({}, np.full((len(X), 7), 1 / 7), "over the 6 leaves or over all 10 nodes"),
    "not a distribution": ({}, np.ones((len(X), 6)), "row 0 sums to 6"),
    "circle": ({"hierarchy": {"a": "b", "b": "a"}}, Y, "cycle"),
    "no paths": ({"hierarchy": "path"}, Y, "`hierarchy` must be"),
    "too few rows": ({}, Y[:-1], "inconsistent numbers of samples"),
    "missing label": ({}, np.where(Y == "music", None, Y.astype(object)), "None, NaN or NA in rows"),
    "unknown weight": (
        {"class_weight": {"arts": 2.0}},
        Y,
        "'arts', which is not a class, and no weight for 'biology'",
    ),
    "encoded labels": ({}, NUMBERS, "holds the numbers 0 to 5. If scikit-learn made these"),
    "unknown column": ({}, pd.DataFrame({"music": 0.5, "musik": np.full(len(X), 0.5)}), "'musik' at column 1"),
    "paths of a table": ({"hierarchy": "paths"}, np.full((len(X), 7), 1 / 7), "whose columns have no names"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_says_what_is_wrong(name):
    settings, y, fragment = ERRORS[name]
    with pytest.raises((ValueError, TypeError), match=fragment):
        fixed(**{"hierarchy": PARENTS, **settings}).fit(X, y)


@pytest.mark.parametrize("given", [{"X": NEW}, {"y": Y}])
def test_tree_is_drawn_with_rows_and_labels_or_neither(given, reference):
    with pytest.raises(ValueError, match="needs both X and y"):
        reference.plot_tree(**given)


def test_probabilities_of_a_search_by_scikit_learn_want_a_table():
    table = (np.array(sorted(set(Y)))[None] == Y[:, None]).astype(float)
    proba = cross_val_predict(fixed(hierarchy=PARENTS), X, table, cv=KFold(3), method="predict_proba")
    expected = fixed(hierarchy=PARENTS).fit(X[30:], Y[30:]).predict_proba(X[:30])
    np.testing.assert_allclose(proba[:30], expected, atol=1e-8)


def test_inner_nodes_cannot_be_left_out_one_by_one():
    with pytest.raises(ValueError, match="inner nodes"):
        _ = coarse().fit(X, coarse_labels()).loo_proba_


@pytest.mark.parametrize("settings", [{"loss": "taxonomic"}, {"allow_inner": True}])
def test_decisions_on_a_tree_need_one(settings):
    with pytest.raises(ValueError, match="needs a hierarchy"):
        fixed().fit(X, Y).decide(NEW, **settings)


def test_inner_nodes_have_no_zero_one_loss(reference):
    with pytest.raises(ValueError, match="needs a loss that is defined for inner nodes"):
        reference.decide(NEW, allow_inner=True)
