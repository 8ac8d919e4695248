"""Files of multilabel classifiers: every bit is kept, and parts that do not fit are refused."""

import copy
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import logikern
from logikern import (
    KernelLogisticClassifier,
    KernelMultilabelClassifier,
    NeighbourhoodSettings,
    load_model,
    read_tree,
)
from logikern.model import persistence
from logikern.numerics.temperature import Temperature
from logikern.structure.loadings import LabelLoadings
from tests.model.forgery import archive_of, nameless, node, value, write

RANDOM = np.random.default_rng(0)
X, NEW = RANDOM.standard_normal((60, 3)), RANDOM.standard_normal((20, 3))
Y = (np.column_stack([X[:, 0], X[:, 0] + X[:, 1], X[:, 2]]) + RANDOM.logistic(size=(60, 3)) > 0).astype(int)
WIDE = np.column_stack([np.ones(60), Y, np.zeros(60)]).astype(int)
FIXED = {"kernel": "gaussian", "rate": 0.7, "variance": 5.0, "criterion": None, "random_state": 0}


def fixed(structure="joint", **settings):
    return KernelMultilabelClassifier(**FIXED | {"structure": structure} | settings)


MODELS = {
    "independent": (fixed("independent"), X, Y),
    "joint": (fixed(), X, Y),
    "coupled": (fixed("coupled"), X, Y),
    "compared": (fixed("auto"), X, Y),
    "learned": (KernelMultilabelClassifier(cv=2, random_state=0), X, Y),
    "learned, coupled": (KernelMultilabelClassifier("gaussian", structure="coupled", cv=2, random_state=0), X, Y),
    "one label": (fixed("independent"), X, Y[:, :1]),
    "one label, joint": (fixed(), X, Y[:, :1]),
    "constant labels": (fixed(), X, WIDE),
    "constant labels, independent": (fixed("independent"), X, WIDE),
    "names": (fixed(), pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=["sea", "sky", "city"])),
    "a kernel each": (fixed("independent", tying="separate"), X, Y),
    "neighbourhoods": (fixed(operator=NeighbourhoodSettings(20, partitions=1)), X, Y),
    "sparse": (fixed("independent", kernel="linear", rate=None), sparse.csr_array(X), Y),
    "given matrix": (fixed(kernel="precomputed", rate=None), X @ X.T, Y),
    "pipeline": (make_pipeline(StandardScaler(), fixed()), X, Y),
}


def fitted(name):
    model, points, labels = MODELS[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*are present in all rows")
        return clone(model).fit(points, labels), points


@pytest.mark.parametrize("name", MODELS)
def test_round_trip_keeps_every_bit(name, tmp_path):
    model, points = fitted(name)
    persistence.save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(points), model.predict_proba(points))
    ours, theirs = persistence.final_step(model), persistence.final_step(loaded)
    if ours is model:
        np.testing.assert_array_equal(loaded.predict_set_proba(points), model.predict_set_proba(points))
        for loss in ("hamming", "subset", "f1"):
            np.testing.assert_array_equal(loaded.decide(points, loss), model.decide(points, loss))
    assert theirs.classes_.tolist() == ours.classes_.tolist() and theirs.comparison_ == ours.comparison_
    assert theirs.explain() == ours.explain() and theirs.outcome_ == ours.outcome_
    assert theirs.hyperparameters_.equals(ours.hyperparameters_)
    assert vars(theirs).keys() == vars(ours).keys()


def test_labels_of_training_rows_stay_out_of_the_file(tmp_path):
    model, _ = fitted("joint")
    model.save_model(tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    assert "_training" in vars(model.set_classifier_) and "_training" not in vars(loaded.set_classifier_)
    stored = [value for value in vars(loaded).values() if isinstance(value, np.ndarray)]
    assert all(len(value) != len(X) for value in stored)


def test_loaded_model_can_be_saved_and_fitted_again(tmp_path):
    model, _ = fitted("coupled")
    path = tmp_path / "model.skops"
    model.save_model(path)
    loaded = load_model(path)
    loaded.save_model(path)
    before = load_model(path).predict_proba(NEW)
    np.testing.assert_array_equal(loaded.fit(X, Y).predict_proba(NEW), before)


def test_classifier_of_label_loadings_is_kept(tmp_path):
    mixing = LabelLoadings(np.array([[False, False], [False, True], [True, True]]))
    model = KernelLogisticClassifier(**FIXED, hierarchy=mixing).fit(X, Y.sum(axis=1) % 3)
    model.save_model(tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(loaded.hierarchy.sets, mixing.sets)


def test_unfitted_model_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        logikern.save_model(fixed(), tmp_path / "model.skops")


def altered(record, **changes):
    """A copy with other fields, whatever its constructor would say."""
    other = copy.copy(record)
    vars(other).update(changes)
    return other


INDEPENDENT, JOINT, COUPLED, CONSTANT = (
    fitted(name)[0] for name in ("independent", "joint", "coupled", "constant labels")
)
COMPARED = fitted("compared")[0]
SETS = JOINT._fitted.sets


def with_part(model, **changes):
    return altered(model, _fitted=altered(model._fitted, **changes))


def with_classifier(model, **changes):
    return with_part(model, classifier=altered(model._fitted.classifier, **changes))


def with_model(model, **changes):
    return with_classifier(model, model_=altered(model._fitted.classifier.model_, **changes))


def with_specification(model, **changes):
    return with_model(model, specification=replace(model._fitted.classifier.model_.specification, **changes))


def with_shares(model, shares):
    return with_part(model, space=altered(model._fitted.space, shares=np.array(shares)))


def with_parents(model, parents):
    return with_part(model, space=altered(model._fitted.space, parents=np.array(parents)))


NESTED = pd.DataFrame({"a": Y[:, 0] | Y[:, 1], "a/b": Y[:, 1], "c": Y[:, 2]})
TREE = fixed("independent", hierarchy="paths").fit(X, NESTED)
FORGED = {
    "structure unknown": (altered(JOINT, structure_="linked"), "structure of its labels is unknown"),
    "structure of numbers": (altered(JOINT, structure_=[1]), "structure of its labels is unknown"),
    "another structure": (altered(JOINT, structure_="independent"), "does not match the structure"),
    "no couplings": (altered(JOINT, structure_="coupled"), "functions do not match its structure"),
    "couplings": (altered(COUPLED, structure_="joint"), "functions do not match its structure"),
    "a label twice": (altered(JOINT, classes_=np.array(["a", "b", "a"])), "not distinct labels"),
    "labels are text": (altered(JOINT, classes_="abc"), "classes are not a list"),
    "fewer labels": (altered(JOINT, classes_=np.array(["a", "b"])), "share for each label"),
    "no labels": (altered(JOINT, classes_=np.array([])), "classes are not a list"),
    "no shares": (with_part(JOINT, space=None), "share for each label"),
    "shares of two labels": (with_shares(JOINT, [0.5, 0.5]), "share for each label"),
    "shares are text": (with_shares(JOINT, ["a", "b", "c"]), "share for each label"),
    "shares above one": (with_shares(JOINT, [0.5, 1.5, 0.5]), "not between 0 and 1"),
    "shares are no numbers": (with_shares(JOINT, [0.5, np.nan, 0.5]), "not between 0 and 1"),
    "nothing varies": (with_shares(JOINT, [0.0, 1.0, 1.0]), "all its labels are constant"),
    "fewer labels vary": (with_shares(INDEPENDENT, [0.5, 0.5, 1.0]), "contradict constant labels"),
    "other constants": (with_shares(CONSTANT, [0.0, 0.5, 0.5, 0.5, 0.0]), "contradict constant labels"),
    "constants vary": (with_shares(CONSTANT, [0.5, 0.5, 0.5, 0.5, 0.0]), "label sets do not match its classes"),
    "sets are text": (altered(JOINT, label_sets_="abc"), "not indicators of its labels"),
    "sets of two": (altered(JOINT, label_sets_=JOINT.label_sets_ * 2), "not indicators of its labels"),
    "sets of fewer labels": (altered(JOINT, label_sets_=JOINT.label_sets_[:, :2]), "not indicators of its labels"),
    "a set twice": (altered(JOINT, label_sets_=JOINT.label_sets_[[0, *range(1, 8), 0]]), "a label set occurs twice"),
    "no sets": (altered(JOINT, label_sets_=JOINT.label_sets_[:0]), "a label set occurs twice"),
    "fewer sets": (altered(JOINT, label_sets_=JOINT.label_sets_[1:]), "label sets do not match its classes"),
    "sets in another order": (with_part(JOINT, sets=SETS[::-1]), "label sets do not match its classes"),
    "sets of numbers": (with_part(JOINT, sets=SETS.astype(int)), "label sets do not match its classes"),
    "no sets of the softmax": (with_part(JOINT, sets=None), "label sets do not match its classes"),
    "other numbers": (
        with_classifier(JOINT, classes_=np.arange(1, 1 + len(SETS))),
        "label sets do not match its classes",
    ),
    "share of two": (with_part(JOINT, unseen_share=2.0), "share of unseen sets"),
    "share is no number": (with_part(JOINT, unseen_share=np.nan), "share of unseen sets"),
    "share is text": (with_part(JOINT, unseen_share="1"), "share of unseen sets"),
    "share of independent labels": (with_part(INDEPENDENT, unseen_share=0.5), "share of unseen sets"),
    "temperature": (with_specification(INDEPENDENT, temperature=Temperature(2.0, 1.0)), "but also a temperature"),
    "couplings of other sets": (
        with_specification(COUPLED, mixing=LabelLoadings(SETS[::-1])),
        "functions belong to other label sets",
    ),
    "couplings of numbers": (
        with_specification(COUPLED, mixing=LabelLoadings(SETS.astype(int))),
        "not a table of truth values",
    ),
    "couplings of equal sets": (
        with_specification(COUPLED, mixing=LabelLoadings(SETS[[0] * len(SETS)])),
        "a label set occurs twice",
    ),
    "fewer functions": (
        with_model(INDEPENDENT, dual=INDEPENDENT._fitted.classifier.model_.dual[:2]),
        "coefficients have the wrong shape",
    ),
    "functions of fewer labels": (with_shares(CONSTANT, [1.0, 0.5, 0.5, 1.0, 0.0]), "contradict constant labels"),
    "coefficients are no numbers": (
        with_model(JOINT, dual=np.full_like(JOINT._fitted.classifier.model_.dual, np.nan)),
        "coefficients are not finite",
    ),
    "no parents": (with_part(JOINT, space=altered(JOINT._fitted.space, parents=None)), "a parent for each label"),
    "parents without a tree": (with_parents(JOINT, [-1, 0, 0]), "parents of its labels do not match its hierarchy"),
    "parents in a circle": (with_parents(TREE, [1, 0, -1]), "parents of its labels do not match its hierarchy"),
    "parents far away": (with_parents(TREE, [-1, 7, -1]), "parents of its labels do not match its hierarchy"),
    "another tree": (altered(TREE, tree_=read_tree(["a/c", "b"])), "labels are not the nodes of its hierarchy"),
    "tree is text": (altered(TREE, tree_=read_tree(["a/b", "c"]).labels), "its hierarchy is not a tree"),
    "child more frequent": (with_shares(TREE, [0.4, 0.5, 0.3]), "more frequent than its parent"),
    "set without a parent": (
        altered(TREE, label_sets_=np.array([[0, 1, 0], *TREE.label_sets_[1:].tolist()])),
        "lacks the parent of a label",
    ),
    "comparison in words": (altered(COMPARED, comparison_="joint"), "comparison of structures has the wrong type"),
    "comparison of words": (
        altered(COMPARED, comparison_=altered(COMPARED.comparison_, noise="small")),
        "comparison of structures does not hold numbers",
    ),
    "reason is a number": (altered(COMPARED, _obstacle=3), "reason for its structure is not text"),
}


def keep(model, folder):
    path = folder / "model.skops"
    path.write_bytes(persistence._pack(model))
    return path


@pytest.mark.parametrize("name", FORGED)
def test_forged_model_is_refused_when_it_is_loaded(name, tmp_path):
    model, fragment = FORGED[name]
    path = keep(model, tmp_path)
    with pytest.raises(ValueError, match=fragment):
        load_model(path)


@pytest.mark.parametrize(
    "model", [INDEPENDENT, JOINT, COUPLED, CONSTANT, COMPARED, TREE], ids=lambda own: own.structure_
)
def test_model_as_it_was_is_loaded(model, tmp_path):
    np.testing.assert_array_equal(load_model(keep(model, tmp_path)).predict(NEW), model.predict(NEW))


PARTS = write(JOINT)


def replaced(path, new) -> bytes:
    """The file of the joint model with the part at a path of attributes replaced."""
    schema = nameless(json.loads(PARTS["schema.json"]))
    inside = schema
    for name in path[:-1]:
        inside = inside["content"]["content"][name]
    inside["content"]["content"][path[-1]] = new
    return archive_of({**PARTS, "schema.json": json.dumps(schema).encode()})


def part(name):
    return nameless(json.loads(PARTS["schema.json"]))["content"]["content"][name]


REFUSED = {
    "no distribution": (("_fitted",), value(1), "int"),
    "no classifier": (("_fitted", "classifier"), value(1), ""),
    "a kernel as classifier": (("_fitted", "classifier"), part("label_sets_"), ""),
    "distribution as classifier": (("_fitted", "classifier"), part("_fitted"), "outcome_"),
    "outcome unknown": (("_fitted", "classifier", "outcome_"), value("FINE"), "FINE"),
    "trace is text": (("_fitted", "classifier", "trace_"), value("long"), "its trace"),
    "plan is a number": (("_fitted", "classifier", "plan_"), value(1), "its plan is not text"),
    "distribution is code": (("_fitted",), node("FunctionNode", "os", "system"), "`os.system`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_file_with_a_foreign_part_is_refused(name, tmp_path):
    path, new, fragment = REFUSED[name]
    file = tmp_path / "model.skops"
    file.write_bytes(replaced(path, new))
    with pytest.raises(ValueError, match=f"not a model file that can be read: .*{fragment}"):
        load_model(file)


def test_untouched_forgery_is_read(tmp_path):
    file = tmp_path / "model.skops"
    file.write_bytes(replaced(("verbose",), value(0)))
    np.testing.assert_array_equal(load_model(file).predict(NEW), JOINT.predict(NEW))
