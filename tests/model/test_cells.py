"""Forged files of models in neighbourhoods: indices out of range, partitions that are no trees, other shapes."""

import copy

import numpy as np
import pytest

from logikern import NeighbourhoodSettings, load_model
from logikern.model import persistence
from logikern.model.neighbourhoods import Approximation
from tests.estimators.samples import fixed
from tests.model.forgery import SPECIES, X

SETTINGS = NeighbourhoodSettings(size=8, landmarks=3, partitions=2)
FITTED = fixed(operator=SETTINGS, random_state=0).fit(X, SPECIES)
REST = fixed(operator=SETTINGS, one_vs_rest=True, random_state=0).fit(X, SPECIES)
MEMBER = FITTED.model_.members[0]
TREE, LANDMARKS = MEMBER.partition, MEMBER.landmarks


def altered(record, **changes):
    """A copy with other fields, whatever its constructor would say."""
    other = copy.copy(record)
    for name, value in changes.items():
        object.__setattr__(other, name, value)
    return other


def with_members(*members):
    return altered(FITTED, model_=altered(FITTED.model_, members=members))


def with_member(**changes):
    """The second partition is forged: the first one is not the only one to be checked."""
    return with_members(MEMBER, altered(MEMBER, **changes))


def with_partition(**changes):
    return with_member(partition=altered(TREE, **changes))


def with_landmarks(**changes):
    return with_member(landmarks=altered(LANDMARKS, **changes))


def at(values, place, value):
    other = values.copy()
    other[place] = value
    return other


N = len(X)
FORGED = {
    "no partitions": (with_members(), "no neighbourhoods"),
    "partitions are text": (altered(FITTED, model_=altered(FITTED.model_, members="ab")), "no neighbourhoods"),
    "member is a number": (with_members(1), "not models"),
    "point twice": (with_member(order=at(MEMBER.order, 0, MEMBER.order[1])), "do not cover"),
    "point beyond": (with_member(order=at(MEMBER.order, 0, N)), "do not cover"),
    "point below zero": (with_member(order=MEMBER.order - 1), "do not cover"),
    "points are fractions": (with_member(order=MEMBER.order + 0.5), "not match its points"),
    "fewer points": (with_member(order=MEMBER.order[1:]), "not match its points"),
    "edges from one": (with_member(edges=at(MEMBER.edges, 0, 1)), "overlap or are empty"),
    "edges beyond": (with_member(edges=at(MEMBER.edges, -1, N + 1)), "overlap or are empty"),
    "empty cell": (with_member(edges=at(MEMBER.edges, 1, MEMBER.edges[2])), "overlap or are empty"),
    "edges fall": (with_member(edges=at(MEMBER.edges, 1, N)), "overlap or are empty"),
    "fewer cells": (with_member(edges=MEMBER.edges[[0, -1]]), "not match its partition"),
    "coefficients of fewer points": (with_member(dual=MEMBER.dual[:, 1:]), "coefficients have the wrong shape"),
    "coefficients of fewer classes": (with_member(dual=MEMBER.dual[1:]), "coefficients have the wrong shape"),
    "coefficients are no numbers": (with_member(dual=MEMBER.dual * np.nan), "coefficients are not finite"),
    "constants of fewer cells": (with_member(constants=MEMBER.constants[1:]), "biases have the wrong shape"),
    "constants are infinite": (with_member(constants=MEMBER.constants + np.inf), "biases are not finite"),
    "no partition": (with_member(partition=None), "no partition"),
    "thresholds are no numbers": (with_partition(thresholds=at(TREE.thresholds, 0, np.nan)), "not finite"),
    "thresholds in a table": (with_partition(thresholds=TREE.thresholds[:, None]), "no thresholds"),
    "directions of other inputs": (with_partition(directions=TREE.directions[:, 1:]), "wrong shape"),
    "directions are infinite": (with_partition(directions=TREE.directions * np.inf), "not finite"),
    "circle": (with_partition(children=at(TREE.children, (0, 0), 0)), "not a tree"),
    "circle below": (with_partition(children=at(TREE.children, (1, 0), 1)), "not a tree"),
    "cell beyond": (with_partition(children=at(TREE.children, (0, 0), -9)), "not a tree"),
    "node beyond": (with_partition(children=at(TREE.children, (0, 0), 9)), "not a tree"),
    "cell twice": (with_partition(children=at(TREE.children, (1, 0), TREE.children[1, 1])), "not a tree"),
    "children before parents": (with_partition(children=TREE.children[::-1].copy()), "not a tree"),
    "children are fractions": (with_partition(children=TREE.children + 0.0), "not a tree"),
    "three children": (with_partition(children=TREE.children[:, [0, 1, 1]]), "not a tree"),
    "landmarks are text": (with_member(landmarks="abc"), "landmarks have the wrong type"),
    "landmark beyond": (with_landmarks(points=at(LANDMARKS.points, 0, N)), "not among its points"),
    "landmark twice": (with_landmarks(points=at(LANDMARKS.points, 0, LANDMARKS.points[1])), "not among its points"),
    "no landmarks": (with_landmarks(points=LANDMARKS.points[:0]), "not points"),
    "coefficients of fewer landmarks": (with_landmarks(coefficients=LANDMARKS.coefficients[..., 1:]), "wrong shape"),
    "coefficients of landmarks are infinite": (
        with_landmarks(coefficients=LANDMARKS.coefficients + np.inf),
        "not finite",
    ),
    "approximation in words": (altered(FITTED, approximation_="good"), "approximation has the wrong type"),
    "loss in words": (
        altered(FITTED, approximation_=Approximation(9, "low", 0.1, 0.1, 9)),
        "approximation has the wrong type",
    ),
    "settings in words": (altered(FITTED, operator=altered(SETTINGS, size="many")), "are not numbers"),
    "against the rest in another order": (altered(REST, binaries_=REST.binaries_[::-1]), "not match its classes"),
}


def keep(estimator, folder):
    path = folder / "model.skops"
    path.write_bytes(persistence._pack(estimator))
    return path


@pytest.mark.parametrize("name", FORGED)
def test_forged_neighbourhoods_are_refused_when_they_are_loaded(name, tmp_path):
    estimator, fragment = FORGED[name]
    path = keep(estimator, tmp_path)
    with pytest.raises(ValueError, match=fragment):
        load_model(path)


@pytest.mark.parametrize("estimator", [FITTED, REST], ids=["all classes", "against the rest"])
def test_model_as_it_was_is_loaded_with_its_settings(estimator, tmp_path):
    found = load_model(keep(estimator, tmp_path))
    assert found.operator == SETTINGS
    np.testing.assert_array_equal(found.predict_proba(X), estimator.predict_proba(X))


def test_measured_approximation_is_kept(tmp_path):
    measured = Approximation(size=20, loss=0.3, larger_loss=0.25, noise=0.02, n_rows=40)
    found = load_model(keep(altered(FITTED, approximation_=measured), tmp_path))
    assert found.approximation_ == measured and str(measured) in " ".join(found.explain().split())


def test_partition_of_many_levels_is_loaded(tmp_path):
    deep = fixed(operator=NeighbourhoodSettings(size=2, partitions=1)).fit(X, SPECIES)
    np.testing.assert_array_equal(load_model(keep(deep, tmp_path)).predict_proba(X), deep.predict_proba(X))
