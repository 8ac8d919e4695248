"""Fits that are divided into neighbourhoods: against fits of each neighbourhood alone, and against one exact fit."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from logikern import KernelLogisticClassifier, KernelRegressor, NeighbourhoodSettings
from logikern.kernels import Gaussian, GaussianLaplacian
from logikern.model.neighbourhoods import NeighbourhoodModel
from logikern.numerics.temperature import Temperature
from tests.reference.kernels import gaussian
from tests.reference.model import Model, flat_paths
from tests.reference.newton import softmax_optimum
from tests.reference.softmax import softmax

N_CLASSES = 3
CENTRES = 2.0 * np.random.default_rng(1).standard_normal((6, 3))


def sample(n, seed=0):
    """Points of three classes in six clusters."""
    random = np.random.default_rng(seed)
    cluster = random.integers(0, 6, n)
    return CENTRES[cluster] + random.standard_normal((n, 3)), cluster % N_CLASSES


X, Y = sample(90)
NEW, _ = sample(40, seed=1)
SOFT = 0.9 * np.eye(N_CLASSES)[Y] + 0.1 / N_CLASSES
WEIGHTS = np.random.default_rng(2).uniform(0.2, 3.0, len(X))
PATHS = np.array(["a/x", "a/y", "b"])
SMALL = NeighbourhoodSettings(size=25, partitions=2)
WHOLE = NeighbourhoodSettings(size=200, partitions=1)


def fixed(operator=SMALL, **settings):
    """So fine that equal models have equal digits."""
    usual = {"kernel": "gaussian", "rate": 0.5, "variance": 6.0, "tol": 1e-9, "random_state": 0, "criterion": None}
    return KernelLogisticClassifier(operator=operator, **{**usual, **settings})


@cache
def plain():
    return fixed().fit(X, Y)


def cells_of(model, member):
    return [member.order[own] for own in member.cells]


def mean_of_cells(model, fit, new=NEW):
    """Mean over partitions of what a model of each neighbourhood alone says of the points in it."""
    total = np.zeros((new.shape[0], len(model.classes_)))
    for member in model.model_.members:
        own = member.partition.assign(new)
        for number, rows in enumerate(cells_of(model, member)):
            if (own == number).any():
                total[own == number] += fit(rows).predict_proba(new[own == number])
    return total / len(model.model_.members)


@pytest.mark.parametrize("partitions", [1, 3])
def test_one_block_is_the_exact_model(partitions):
    divided = fixed(NeighbourhoodSettings(size=200, partitions=partitions)).fit(X, Y)
    exact = fixed("dense", solver="exact").fit(X, Y)
    np.testing.assert_allclose(divided.predict_proba(NEW), exact.predict_proba(NEW), rtol=0, atol=1e-8)
    np.testing.assert_allclose(divided.dual_coef_, exact.dual_coef_, rtol=0, atol=1e-7)


def test_probabilities_are_those_of_a_second_implementation():
    targets, zeros = np.eye(N_CLASSES)[:, Y], np.zeros(N_CLASSES, int)
    prior = Model((gaussian(0.5),), zeros, np.full(N_CLASSES, 6.0), flat_paths(N_CLASSES), 16.0)
    model, total = plain(), np.zeros((len(NEW), N_CLASSES))
    for member in model.model_.members:
        own = member.partition.assign(NEW)
        for number, rows in enumerate(cells_of(model, member)):
            optimum = softmax_optimum(prior, X[rows], targets[:, rows], np.ones(len(rows)))
            total[own == number] += softmax(optimum.latents_at(NEW[own == number])).T
    np.testing.assert_allclose(model.predict_proba(NEW), total / len(model.model_.members), rtol=0, atol=1e-7)


# Labels as a table of distributions keep all classes where a neighbourhood has only some.
CASES = {
    "soft labels": ({}, SOFT, None),
    "weights": ({}, SOFT, WEIGHTS),
    "kernel of each class": ({"tying": "separate", "variance": [1.0, 4.0, 9.0]}, SOFT, None),
    "rate of each input": ({"rate": [0.2, 0.5, 1.0]}, SOFT, None),
    "laplacian": ({"kernel": "laplacian"}, SOFT, None),
    "both metrics": ({"kernel": GaussianLaplacian(0.5, roughness=0.6), "rate": None}, SOFT, None),
    "no constants": ({"bias_variance": 0.0}, SOFT, None),
    "tree": ({"hierarchy": PATHS.tolist()}, PATHS[Y], None),
    "tree with a variance per level": ({"hierarchy": PATHS.tolist(), "tying": "level"}, PATHS[Y], WEIGHTS),
    "coarse labels": ({"hierarchy": PATHS.tolist()}, np.where(np.arange(90) % 4, PATHS[Y], "a"), None),
}


@pytest.mark.parametrize("settings, labels, weights", CASES.values(), ids=CASES)
def test_probabilities_are_means_of_models_of_each_neighbourhood(settings, labels, weights):
    model = fixed(**settings).fit(X, labels, weights)

    def fit(rows):
        own = None if weights is None else weights[rows]
        return fixed("dense", **settings).fit(X[rows], labels[rows], own)

    np.testing.assert_allclose(model.predict_proba(NEW), mean_of_cells(model, fit), rtol=0, atol=1e-6)


def test_sparse_points_have_the_same_model():
    model = fixed().fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(model.predict_proba(sparse.csr_array(NEW)), plain().predict_proba(NEW), atol=1e-6)


def test_balanced_classes_are_weights_of_all_rows():
    labels = np.where(np.arange(90) < 70, 0, Y)
    weights = (len(Y) / (N_CLASSES * np.bincount(labels)))[labels]
    balanced = fixed(class_weight="balanced").fit(X, labels)
    weighted = fixed().fit(X, labels, weights)
    np.testing.assert_allclose(balanced.predict_proba(NEW), weighted.predict_proba(NEW), rtol=0, atol=1e-10)


def test_rows_without_weight_are_not_there():
    weights = (np.arange(90) % 3 > 0).astype(float)
    kept = weights > 0
    found = fixed().fit(X, Y, weights)
    np.testing.assert_allclose(found.predict_proba(NEW), fixed().fit(X[kept], Y[kept]).predict_proba(NEW), atol=1e-10)
    assert not found.dual_coef_[~kept].any() and found.dual_coef_.shape == (90, N_CLASSES)


def test_each_class_against_the_rest_is_a_model_of_its_own():
    model = fixed(one_vs_rest=True).fit(X, Y)
    alone = [fixed().fit(X, own == Y).predict_log_proba(NEW)[:, 1] for own in range(N_CLASSES)]
    np.testing.assert_allclose(model.predict_proba(NEW), softmax(np.array(alone)).T, rtol=0, atol=1e-8)


def approximate(member, landmarks):
    """The covariance of blocks coupled by landmarks, by dense algebra, at the points in their order."""
    points = X[member.order]
    some = X[landmarks]
    kernel = Gaussian(0.5)
    matrix, rows = kernel(points, points), kernel(some, points)
    found = rows.T @ np.linalg.solve(kernel(some, some) + 1e-9 * np.eye(len(some)), rows)
    for own in member.cells:
        found[own, own] = matrix[own, own]
    return found


def test_landmarks_couple_neighbourhoods_as_dense_algebra_does():
    model = fixed(NeighbourhoodSettings(size=25, landmarks=12, partitions=1)).fit(X, Y)
    member = model.model_.members[0]
    covariance = 6.0 * approximate(member, member.landmarks.points) + 16.0
    latent = member.dual @ covariance
    targets = np.eye(N_CLASSES)[:, Y[member.order]]
    np.testing.assert_allclose(member.dual, targets - softmax(latent), rtol=0, atol=1e-7)  # the optimum
    # A training point is a new point of its own block.
    inside = member.partition.assign(X[member.order])
    expected = np.concatenate([np.full(own.stop - own.start, cell) for cell, own in enumerate(member.cells)])
    np.testing.assert_array_equal(inside, expected)
    np.testing.assert_allclose(model.predict_proba(X[member.order]), softmax(latent).T, rtol=0, atol=1e-7)


def test_as_many_landmarks_as_rows_are_the_exact_model():
    coupled = fixed(NeighbourhoodSettings(size=25, landmarks=90, partitions=1)).fit(X, Y)
    exact = fixed("dense").fit(X, Y)
    # Jitter of 1e-9 on the matrix of the landmarks.
    np.testing.assert_allclose(coupled.predict_proba(NEW), exact.predict_proba(NEW), rtol=0, atol=1e-5)


@pytest.mark.parametrize("landmarks", [0, 12])
def test_temperature_is_applied_to_the_whole_function(landmarks):
    settings = NeighbourhoodSettings(size=25, landmarks=landmarks, partitions=1)
    model, warmer = fixed(settings).fit(X, Y), Temperature(0.7, 1.4)
    latent = model.decision_function(NEW)
    specification = model.model_.specification
    object.__setattr__(specification, "temperature", warmer)
    np.testing.assert_allclose(model.decision_function(NEW), warmer.apply(latent.T).T, rtol=1e-12)


@pytest.mark.parametrize("landmarks", [0, 12])
def test_same_seed_gives_the_same_model_on_any_number_of_threads(landmarks):
    settings = NeighbourhoodSettings(size=25, landmarks=landmarks, partitions=2)
    first, again = (fixed(settings, n_jobs=1).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(NEW), again.predict_proba(NEW))
    assert first.newton_trace_ == again.newton_trace_
    threaded = fixed(settings, n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(threaded.predict_proba(NEW), first.predict_proba(NEW), rtol=0, atol=1e-9)


def test_partitions_and_seeds_differ():
    first, second = plain().model_.members
    assert not np.array_equal(first.order, second.order)
    assert not np.array_equal(fixed(random_state=1).fit(X, Y).model_.members[0].order, first.order)


def test_prediction_is_the_same_row_by_row_and_in_small_tiles():
    model, together = plain(), plain().predict_proba(NEW)
    apart = np.concatenate([model.predict_proba(row[None]) for row in NEW])
    np.testing.assert_allclose(apart, together, rtol=0, atol=1e-12)
    tiny = model.model_.latents(NEW, tile_entries=1)
    np.testing.assert_allclose(np.exp(tiny), together, rtol=0, atol=1e-12)


def test_large_prediction_takes_threads_and_has_the_same_values():
    many = np.tile(NEW, (1000, 1))
    found = fixed(n_jobs=2).fit(X, Y).predict_proba(many)
    np.testing.assert_allclose(found, np.tile(plain().predict_proba(NEW), (1000, 1)), rtol=0, atol=1e-9)


HOSTILE = {
    "all rows equal": (np.ones((60, 2)), np.arange(60) % 3),
    "a class per cell": (np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]], 20, axis=0), np.repeat([0, 1, 2], 20)),
    "one row of a class": (X[:60], np.where(np.arange(60) == 7, 1, 0)),
    "one more row than a cell": (X[:26], Y[:26]),
    "two rows": (X[:2], [0, 1]),
    "copies": (np.tile(X[:10], (6, 1)), np.tile(Y[:10], 6)),
    "constant column": (np.column_stack([X[:60], np.ones(60)]), Y[:60]),
    "far row": (np.vstack([X[:59], [[1e150, 0.0, 0.0]]]), Y[:60]),
    "one input": (X[:60, :1], Y[:60]),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("landmarks", [0, 5])
@pytest.mark.parametrize("points, labels", HOSTILE.values(), ids=HOSTILE)
def test_hostile_rows_are_fitted(points, labels, landmarks):
    model = fixed(NeighbourhoodSettings(25, landmarks, 2), tol=1e-4).fit(points, labels)
    proba = model.predict_proba(points)
    assert model.outcome_.converged and np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_closed_form_leave_one_out_is_close_to_refits():
    model = plain()
    refits = model.exact_loo()
    told = "exact; each row is left out of its own neighbourhood, and results are averaged over 2 partitions"
    assert model.loo_method_ == told
    np.testing.assert_allclose(model.loo_proba_, refits, atol=0.05)
    assert np.abs(model.loo_proba_ - refits).mean() < 5e-3 < np.abs(model.predict_proba(X) - refits).mean()


@pytest.mark.parametrize("row", [3, 40])
def test_refits_are_means_of_fits_without_the_row(row):
    total = np.zeros(N_CLASSES)
    for member in plain().model_.members:
        own = next(rows for rows in cells_of(plain(), member) if row in rows)
        rest = own[own != row]
        total += fixed("dense").fit(X[rest], np.eye(N_CLASSES)[Y[rest]]).predict_proba(X[[row]])[0]
    np.testing.assert_allclose(plain().exact_loo()[row], total / 2, rtol=0, atol=1e-5)


def test_leave_one_out_with_landmarks_holds_other_neighbourhoods_fixed():
    model = fixed(NeighbourhoodSettings(size=25, landmarks=12, partitions=1)).fit(X, Y)
    member = model.model_.members[0]
    covariance = 6.0 * approximate(member, member.landmarks.points) + 16.0
    own = member.cells[1]
    block, dual = covariance[own, own], member.dual[:, own]
    offset = (member.dual @ covariance)[:, own] - dual @ block
    targets, row = np.eye(N_CLASSES)[:, Y[member.order[own]]], 4
    kept = np.arange(block.shape[0]) != row
    refit = dual[:, kept]
    for _ in range(3000):  # a damped fixed point of dual = targets - softmax(latent), slow and simple
        latent = refit @ block[np.ix_(kept, kept)] + offset[:, kept]
        refit = refit + 0.005 * (targets[:, kept] - softmax(latent) - refit)
    expected = softmax((refit @ block[kept][:, [row]]) + offset[:, [row]])[:, 0]
    found = model.loo_proba_[member.order[own][row]]
    np.testing.assert_allclose(found, expected, atol=0.03)
    with pytest.raises(ValueError, match="landmarks=0"):
        model.exact_loo()


def test_suspects_of_neighbourhoods_are_flipped_labels():
    flipped = Y.copy()
    flipped[5] = (flipped[5] + 1) % N_CLASSES
    frame = pd.DataFrame(X, index=[f"row {number}" for number in range(90)])
    found = fixed().fit(frame, flipped).suspects(20)
    assert "row 5" in found.index and np.isfinite(found["loss"]).all()


def test_leave_one_out_with_too_little_memory_is_refused():
    model = fixed().fit(X, Y).set_params(memory_limit="1MB")
    with pytest.raises(ValueError, match="Leave-one-out for 23 rows and 3 classes needs about"):
        _ = model.loo_proba_
    with pytest.raises(ValueError, match="from 23 training rows, needs about"):
        model.predict(NEW)


REFUSED = {
    "linear kernel": ({"kernel": "linear", "rate": None}, "neighbourhoods need a distance-based kernel"),
    "free constants": ({"bias_variance": np.inf}, "operator=NeighbourhoodSettings"),
    "another solver": ({"solver": "exact"}, "`solver` is 'exact'"),
    "tiny size": ({"operator": NeighbourhoodSettings(size=1)}, "`size` must be an integer of at least 2"),
    "size in words": ({"operator": NeighbourhoodSettings(size="many")}, "`size` must be an integer"),
    "no partitions": ({"operator": NeighbourhoodSettings(partitions=0)}, "`partitions` must be an integer"),
    "landmarks below zero": ({"operator": NeighbourhoodSettings(landmarks=-1)}, "`landmarks` must be an integer"),
    "little memory": ({"memory_limit": "5MB"}, "A fit to 90 rows in neighbourhoods of 25 needs about"),
}


@pytest.mark.parametrize("settings, fragment", REFUSED.values(), ids=REFUSED)
def test_settings_that_cannot_be_are_refused(settings, fragment):
    with pytest.raises(ValueError, match=fragment):
        fixed(**settings).fit(X, Y)


@pytest.mark.parametrize("operator", ["neighbourhoods", SMALL], ids=["name", "settings"])
def test_regression_refuses_neighbourhoods(operator):
    with pytest.raises(ValueError, match="only classifiers can be fitted in neighbourhoods"):
        KernelRegressor(operator=operator).fit(X, X[:, 0])


def test_rows_cannot_be_added():
    with pytest.raises(AttributeError) as refusal:
        _ = plain().partial_fit
    assert "`operator` divides the fit into neighbourhoods" in str(refusal.value.__cause__)
    model = clone(plain()).fit(X, Y).set_params(operator="auto")
    with pytest.raises(ValueError, match="divided into neighbourhoods, to which no points can be added"):
        model.partial_fit(X, Y)


def test_settings_pass_through_scikit_learn():
    model = clone(fixed())
    assert model.get_params()["operator"] == SMALL
    assert "NeighbourhoodSettings(size=25,landmarks=0,partitions=2)" in "".join(repr(model).split())


def test_default_neighbourhoods_have_a_name():
    model = fixed("neighbourhoods").fit(X, Y)
    assert isinstance(model.model_, NeighbourhoodModel) and len(model.model_.members) == 3
    assert "rows, in 3 partitions, without landmarks" in model.operator_


def test_answers_beside_probabilities_are_there():
    model = fixed(hierarchy=PATHS.tolist()).fit(X, PATHS[Y])
    assert model.hyperparameters_.shape[0] >= 2 and len(model.node_variances_) == 4
    np.testing.assert_allclose(np.exp(model.predict_log_proba(NEW)), model.predict_proba(NEW))
    assert "neighbourhoods" in model.explain() and len(model.predict_paths(NEW)) == len(NEW)
    assert model.score(X, PATHS[Y]) > 0.7
