"""Trees that are learned from confusions: their groups, how they are judged, and what a model keeps of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from logikern import KernelLogisticClassifier, Tree, load_model, report
from logikern.estimators._trees.clusters import cluster_classes
from logikern.estimators._trees.transfer import carry_to, start_on_tree
from logikern.kernels import Gaussian
from logikern.structure.hierarchy import read_tree
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tying import tie

GROUPS, EACH = 3, 3
N_CLASSES = GROUPS * EACH


def draw(n, seed=0, shared=4.0, own=1.0, rate=4.0):
    """Inputs, labels, and the group of each class: class functions are those of the group plus their own."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 2))
    lower = np.linalg.cholesky(np.exp(-0.5 * rate * ((X[:, None] - X) ** 2).sum(axis=2)) + 1e-9 * np.eye(n))
    group = random.permutation(np.repeat(np.arange(GROUPS), EACH))
    latent = own * lower @ random.standard_normal((n, N_CLASSES))
    latent += shared * (lower @ random.standard_normal((n, GROUPS)))[:, group]
    return X, np.argmax(latent + random.gumbel(size=latent.shape), axis=1), group


X, Y, GROUP = draw(500)
FREE_X, FREE_Y, _ = draw(150, shared=0.0, own=2.0)
NEW = np.random.default_rng(9).standard_normal((50, 2))


def learner(**settings):
    usual = {"kernel": "gaussian", "inputs": "raw", "ard": False, "tying": "shared", "random_state": 0}
    return KernelLogisticClassifier(**usual | {"hierarchy": "learn"} | settings)


@pytest.fixture(scope="module")
def learned():
    return learner().fit(X, Y)


def groups_of(tree):
    """The classes below each inner node."""
    inner = np.flatnonzero(tree.n_children > 0)
    paths = {name: tree.path(tree.place[name]) for name in tree.classes.tolist()}
    return {frozenset(name for name, path in paths.items() if node in path) for node in inner.tolist()}


def confused(groups, n_each=20, strength=2.0):
    """Probabilities (C, n) that are larger within a group, and targets, for classes in groups."""
    groups = np.array(groups)
    labels = np.repeat(np.arange(len(groups)), n_each)
    random = np.random.default_rng(0)
    latent = strength * (groups[:, None] == groups[labels]) + 0.5 * random.standard_normal((len(groups), len(labels)))
    latent[labels, np.arange(len(labels))] += 1.0
    return np.exp(latent) / np.exp(latent).sum(axis=0), np.eye(len(groups))[labels].T


def test_classes_that_are_confused_are_siblings():
    groups = [0, 1, 0, 2, 1, 2, 0, 1, 2]
    tree = cluster_classes(*confused(groups), np.array([*"abcdefghi"]))
    assert groups_of(tree) == {frozenset("acg"), frozenset("beh"), frozenset("dfi")}


def test_many_classes_have_groups_of_groups():
    groups = np.repeat(np.arange(9), 3)
    upper = np.repeat(np.arange(3), 9)
    (first, targets), (second, _) = confused(groups), confused(upper)
    probabilities = first * second / (first * second).sum(axis=0)
    tree = cluster_classes(probabilities, targets, np.arange(27))
    expected = {frozenset(np.flatnonzero(own == number).tolist()) for own in (groups, upper) for number in set(own)}
    assert groups_of(tree) == expected
    assert tree.depths.max() == 3


def test_names_of_groups_are_distinct_from_classes():
    names = np.array(["group 1: a, b", "a", "b", "c", "d", "e"])
    tree = cluster_classes(*confused([0, 1, 1, 0, 2, 2]), np.sort(names))
    assert len(set(tree.labels)) == len(tree.labels)


def test_few_classes_have_no_tree():
    assert cluster_classes(*confused([0, 0, 1]), np.arange(3)) is None
    assert cluster_classes(np.full((5, 10), 0.2), np.eye(5)[np.arange(10) % 5].T, np.arange(5)) is None


def covariance(specification, points):
    """K~ of the classes written out, (C, n, C, n)."""
    mapped = specification.mixing.as_matrix()
    kernels = np.array([specification.kernels[own](points, points) for own in specification.tying.kernel_of])
    kernels *= specification.latent_variances[:, None, None]
    return np.einsum("cp,dp,pnm->cndm", mapped, mapped, kernels)


TREE = read_tree(["p/a", "p/b", "q/c", "q/d"])


@pytest.mark.parametrize("tying", ["shared", "level", "leaf", "separate", "leaves"])
def test_model_carried_to_its_own_tree_is_the_same(tying):
    tied = tie(tying, TREE)
    kernels = tuple(Gaussian(0.5 * (1 + number)) for number in range(tied.n_kernels))
    own = Specification(kernels, tuple(1.0 + n for n in range(tied.n_variances)), 1.0, tied, TREE)
    np.testing.assert_allclose(covariance(carry_to(own, TREE), NEW), covariance(own, NEW), rtol=1e-12)


def test_carried_leaves_keep_their_variance_and_groups_that_of_their_level():
    tied = tie("leaf", TREE)
    variance = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
    latent = [variance.get(str(TREE.labels[node])[2:], 9.0) for node in TREE.branches]
    places = [tied.variance_of.index(number) for number in range(tied.n_variances)]
    own = Specification((Gaussian(0.5),), tuple(latent[place] for place in places), 1.0, tied, TREE)
    found = carry_to(own, Tree(("r", "s", "p/a", "q/c", "p/b", "q/d"), (-1, -1, 0, 0, 1, 1)))
    blocks = covariance(found, NEW)[:, 0, :, 0]
    same_group = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]])  # of p/a, p/b, q/c, q/d
    expected = np.diag([1.0, 2.0, 3.0, 4.0]) + 9.0 * same_group
    np.testing.assert_allclose(blocks, expected, rtol=1e-12)


def test_start_has_the_variance_of_the_flat_model():
    flat = Specification((Gaussian(0.5), Gaussian(2.0)), (1.0, 4.0), 1.0, tie(["x", "y", "x", "y"], Flat(4)), Flat(4))
    start = start_on_tree(flat, flat, TREE)
    assert start.kernels[0].rate == pytest.approx(1.0)
    np.testing.assert_allclose(covariance(start, NEW)[:, 0, :, 0].diagonal(), 2.0, rtol=1e-12)


def test_start_has_one_rate_if_the_first_model_had_one():
    first = Specification((Gaussian(3.0),), (1.0,), 1.0, tie("shared", Flat(4)), Flat(4))
    flat = Specification((Gaussian((0.5, 2.0, 8.0)),), (1.0,), 1.0, tie("shared", Flat(4)), Flat(4))
    assert start_on_tree(flat, first, TREE).kernels[0].rate == pytest.approx(2.0)
    np.testing.assert_allclose(start_on_tree(flat, flat, TREE).kernels[0].rate, [0.5, 2.0, 8.0])


def test_known_groups_are_found(learned):
    expected = {frozenset(np.flatnonzero(number == GROUP).tolist()) for number in range(GROUPS)}
    assert groups_of(learned.tree_) == expected
    verdict = learned.verdicts_[-1]
    assert verdict.kept and verdict.stage.startswith("learned tree, ") and verdict.gain > verdict.noise
    assert verdict.n_unseen == len(X)


def test_probabilities_are_those_of_the_tree_at_these_hyperparameters(learned):
    (kernel,), variances = learned.kernels_, learned.model_.specification.variances
    tying = learned.verdicts_[-1].stage.split(", ")[1]
    settings = {"kernel": kernel, "variance": variances, "criterion": None, "tying": tying}
    given = KernelLogisticClassifier(hierarchy=learned.tree_, inputs="raw", tol=1e-8, **settings)
    expected = given.fit(X, Y).predict_proba(NEW)
    np.testing.assert_allclose(learned.predict_proba(NEW), expected, atol=1e-3)


def test_learned_tree_lowers_the_loss_of_new_rows():
    everything, labels, _ = draw(1200)
    train, test = slice(0, 400), slice(400, None)
    models = [learner(hierarchy=own).fit(everything[train], labels[train]) for own in ("learn", None)]
    losses = [log_loss(labels[test], own.predict_proba(everything[test])) for own in models]
    assert models[0].tree_ is not None and losses[0] < losses[1]


def test_tree_of_unrelated_classes_is_declined():
    model = learner().fit(FREE_X, FREE_Y)
    assert model.tree_ is None and not model.verdicts_[-1].kept
    flat = learner(hierarchy=None).fit(FREE_X, FREE_Y)
    np.testing.assert_allclose(model.predict_proba(NEW), flat.predict_proba(NEW), atol=1e-8)
    assert model.score(FREE_X, FREE_Y) == flat.score(FREE_X, FREE_Y)
    assert "learned tree" in model.explain()


def test_model_says_what_it_learned(learned):
    told = learned.explain()
    assert "Final model: learned tree, " in told and "a tree that groups frequently confused classes" in told
    assert [record.evaluation for record in learned.trace_] == list(range(1, 1 + len(learned.trace_)))
    assert learned.predict_node_proba(NEW).shape == (50, N_CLASSES + GROUPS)


def test_report_draws_the_tree(learned):
    assert "group 1" in report(learned, X[:100], Y[:100])


def test_model_file_keeps_the_tree(learned, tmp_path):
    learned.save_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), learned.predict_proba(NEW))
    assert isinstance(loaded.tree_, Tree) and loaded.tree_.labels == learned.tree_.labels
    assert loaded.hierarchy == "learn" and clone(loaded).hierarchy == "learn"
    assert loaded.explain() == learned.explain()


def test_file_of_a_declined_tree_is_read(tmp_path):
    model = learner().fit(FREE_X, FREE_Y)
    model.save_model(tmp_path / "model")
    assert load_model(tmp_path / "model").tree_ is None


def test_distributions_have_their_classes_in_the_order_of_the_leaves():
    names = [*"ihgfedcba"]
    targets = pd.DataFrame(np.eye(N_CLASSES)[Y], columns=names)
    model, labels = learner().fit(X, targets), np.array(names)[Y]
    assert model.classes_.tolist() == model.tree_.classes.tolist() == sorted(names)
    expected = learner().fit(X, labels)
    # Folds differ with the order of the classes.
    assert np.mean(model.predict(X) == expected.predict(X)) > 0.95


@pytest.mark.filterwarnings("ignore:Closed-form leave-one-out")
def test_leave_one_out_learns_a_tree():
    rows = slice(0, 100)
    model = learner(criterion="loo").fit(X[rows], Y[rows])
    assert model.verdicts_[-1].stage.startswith("learned tree") and model.outcome_.converged


def test_tyings_are_learned_with_the_tree():
    model = learner(tying="auto").fit(X[:300], Y[:300])
    assert model.tree_ is not None and len(set(model.variances_)) >= 2


def test_time_limit_keeps_the_flat_model():
    with pytest.warns(UserWarning, match="time limit was reached"):
        model = learner(max_time=1e-6).fit(FREE_X, FREE_Y)
    assert model.tree_ is None


def test_checkpoints_of_both_searches_are_resumed(tmp_path):
    rows = slice(0, 150)
    settings = {"checkpoint": tmp_path / "fit.search", "random_state": None}
    first = learner(**settings).fit(X[rows], Y[rows])
    assert (tmp_path / "fit.search").exists() and (tmp_path / "fit.search.1").exists()
    again = learner(**settings).fit(X[rows], Y[rows])
    assert [own.value for own in again.trace_] == [own.value for own in first.trace_]


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"coupling": "auto"}, "`hierarchy` and `coupling` both say"),
        ({"label_kernel": np.eye(N_CLASSES)}, "`hierarchy` and `label_kernel` both say"),
        ({"criterion": None}, "compares a tree with independent classes by a criterion"),
        ({"one_vs_rest": True}, "`hierarchy` couples classes"),
        ({"tying": "level"}, "With hierarchy='learn', `tying` must be one of"),
        ({"tying": [0] * N_CLASSES}, "With hierarchy='learn', `tying` must be one of"),
        ({"bias_variance": np.inf, "criterion": "loo"}, "which a hierarchy does not allow"),
    ],
)
def test_combinations_without_a_meaning_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        learner(**settings).fit(X, Y)


def test_few_classes_are_refused():
    with pytest.raises(ValueError, match="needs at least 4 classes, but `y` has 3"):
        learner().fit(X, Y % 3)


def test_streams_are_refused():
    assert not hasattr(learner(), "partial_fit")
