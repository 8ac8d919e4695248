"""Windows over neighbouring positions, against explicit sums over pairs, concatenated inputs and differences."""

import numpy as np
import pytest
from scipy import sparse

from logikern import KernelSequenceClassifier, Linear
from logikern.kernels import Gaussian
from logikern.numerics.parallel import own_threads
from logikern.operators.choose import choose
from logikern.sequences import storage
from logikern.sequences.criterion import HeldOutChains
from logikern.sequences.newton import ChainPolicy
from logikern.sequences.window import Window, WindowCovariance
from tests.sequences.enumeration import fit_linear_field
from tests.sequences.samples import bind, chains_of, draw_sequences, specify

X, Y = draw_sequences(12)
NEW, _ = draw_sequences(6, seed=1)
WEIGHTS = (0.2, 0.5, 0.7, 0.1)  # of the offsets -2, -1, 1, 2
FIXED = {"criterion": None, "rate": 0.5, "variance": 3.0, "precision": "double", "tol": 1e-10}


def kernel_of_windows(kernel, left, right, weights):
    """The sum over offsets, pair by pair: every position is found by its sequence and its number there."""
    reach = len(weights) // 2
    steps = [0, *range(-reach, 0), *range(1, reach + 1)]
    places = [[(s, t) for s, own in enumerate(side) for t in range(len(own))] for side in (left, right)]
    matrix = np.zeros((len(places[0]), len(places[1])))
    for row, (s, t) in enumerate(places[0]):
        for column, (u, v) in enumerate(places[1]):
            for step, weight in zip(steps, (1.0, *weights), strict=True):
                if 0 <= t + step < len(left[s]) and 0 <= v + step < len(right[u]):
                    one, other = left[s][t + step], right[u][v + step]
                    matrix[row, column] += weight * kernel(one[None], other[None])[0, 0]
    return matrix


def beside(sequences, weights):
    """Inputs of each position and of its neighbours, times roots of their weights, side by side."""
    reach, result = len(weights) // 2, []
    for own in sequences:
        padded = np.pad(own, ((reach, reach), (0, 0)))
        steps = [0, *range(-reach, 0), *range(1, reach + 1)]
        parts = [padded[reach + step : reach + step + len(own)] for step in steps]
        result.append(np.hstack([w**0.5 * part for w, part in zip((1.0, *weights), parts, strict=True)]))
    return result


@pytest.mark.parametrize("tying", ["shared", "separate"])
@pytest.mark.parametrize("form", ["stored", "shifted", "accurate"])
def test_products_are_those_of_the_explicit_sum(tying, form):
    chains, _, rows = chains_of(X, Y)
    own = specify(tying=tying, window=WEIGHTS)
    covariance = bind(own, rows, chains.offsets).positions
    assert isinstance(covariance, WindowCovariance) and covariance.stored is not None
    if form == "shifted":
        covariance = WindowCovariance(covariance.single, covariance.window)
    functions = np.random.RandomState(0).randn(2, 3, len(rows))
    found = covariance.accurate_matmul(functions) if form == "accurate" else covariance.matmul(functions)
    gram = kernel_of_windows(Gaussian(0.5), X, X, WEIGHTS)
    wanted = functions @ (3.0 * gram + own.positions.bias_variance)
    np.testing.assert_allclose(found, wanted, atol=1e-10)


@pytest.mark.parametrize("weights", [(), WEIGHTS])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_half_of_the_matrix_gives_the_whole_product(weights, precision):
    chains, _, rows = chains_of(X, Y)
    own = specify(window=weights)
    covariance = storage.bind_all(own.positions, rows, chains.offsets, weights, precision)
    functions = np.random.RandomState(0).randn(1, 3, len(rows))
    wanted = functions @ (3.0 * kernel_of_windows(Gaussian(0.5), X, X, weights) + own.positions.bias_variance)
    np.testing.assert_allclose(covariance.matmul(functions), wanted, atol=1e-4 if precision == "single" else 1e-10)
    np.testing.assert_allclose(covariance.accurate_matmul(functions), wanted, atol=1e-10)


@pytest.mark.parametrize("weights", [(), WEIGHTS])
def test_small_blocks_give_the_same_product(weights):
    chains, _, rows = chains_of(X, Y)
    single = choose((Gaussian(0.5),), rows, "tiled", "double").points(rows).bind(Gaussian(0.5))
    window = Window(chains.offsets, weights) if weights else None
    small = storage.store(single, window, storage.StoragePolicy(block_rows=7))
    functions = np.random.RandomState(1).randn(3, len(rows))
    assert len(small.blocks) > 4
    wanted = functions @ kernel_of_windows(Gaussian(0.5), X, X, weights)
    np.testing.assert_allclose(small.matmul(functions), wanted, atol=1e-12)
    with own_threads(2):
        np.testing.assert_allclose(small.matmul(functions), wanted, atol=1e-12)


def test_large_matrices_are_not_stored(monkeypatch):
    chains, _, rows = chains_of(X, Y)
    monkeypatch.setattr("logikern.operators.choose.available_memory", lambda: 1000.0)
    covariance = storage.bind_all(specify().positions, rows, chains.offsets, WEIGHTS, "double")
    assert covariance.stored is None
    functions = np.random.RandomState(0).randn(1, 3, len(rows))
    wanted = functions @ (3.0 * kernel_of_windows(Gaussian(0.5), X, X, WEIGHTS) + 1.0)
    np.testing.assert_allclose(covariance.matmul(functions), wanted, atol=1e-10)


def test_window_takes_neighbours_of_the_same_chain_only():
    window = Window(np.array([0, 3, 4]), (0.5, 0.5))
    values = np.array([[1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(window.take(values, 1), [[2.0, 3.0, 0.0, 0.0]])
    np.testing.assert_array_equal(window.take(values, -1), [[0.0, 1.0, 2.0, 0.0]])
    np.testing.assert_array_equal(window.take(values, 0), values)


@pytest.mark.parametrize("tying", ["shared", "scaled", "separate"])
def test_gradient_of_the_criterion_matches_differences(tying):
    chains, labels, rows = chains_of(X, Y)
    held_out = np.arange(chains.n_chains) % 2 == np.arange(2)[:, None]
    judge = HeldOutChains(chains, labels, held_out, 1e-10, policy=ChainPolicy(adjoint_residual=1e-10))
    start = specify(tying=tying, pseudocount=0.7, piecewise=0.4, window=WEIGHTS)

    def evaluate(values):
        own = start.with_log_parameters(values)
        return own, judge.evaluate(bind(own, rows, chains.offsets), own.pseudocount, own.piecewise)

    origin, step = start.log_parameters, 1e-4
    own, found = evaluate(origin)
    gradient = own.collect(found)
    assert len(gradient) == len(origin) and np.abs(gradient[-4:]).min() > 1e-5
    for number in range(len(origin)):
        shift = step * np.eye(len(origin))[number]
        slope = (evaluate(origin + shift)[1].value - evaluate(origin - shift)[1].value) / (2 * step)
        assert gradient[number] == pytest.approx(slope, abs=2e-7), number


def fit_at(weights, data=X, **settings):
    return KernelSequenceClassifier(**{**FIXED, "window": weights, **settings}).fit(data, Y)


@pytest.mark.parametrize("tying", ["shared", "separate"])
def test_predictions_are_those_of_the_explicit_sum(tying):
    model = fit_at(WEIGHTS, tying=tying)
    dual = model._model.positions.dual
    gram = kernel_of_windows(Gaussian(0.5), NEW, X, WEIGHTS)
    wanted = 3.0 * dual @ gram.T + 16.0 * dual.sum(axis=1, keepdims=True)
    rows, edges = np.concatenate(NEW), np.cumsum([0, *map(len, NEW)])
    (_, field, _), *_ = model._model.fields(rows, edges)
    np.testing.assert_allclose(field[:, : len(rows)], wanted, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_linear_window_is_the_linear_field_of_neighbours_side_by_side(make):
    settings = {"kernel": Linear(), "rate": None, "transition_variance": 2.0, "pseudocount": np.inf, "piecewise": 0.0}
    model = fit_at(WEIGHTS, [make(own) for own in X], **settings)
    weights, constants, pairs, *_ = fit_linear_field(beside(X, WEIGHTS), Y, 3, 3.0, 16.0, 2.0)
    np.testing.assert_allclose(model.transition_, pairs, atol=1e-4)
    rows, edges = make(np.concatenate(NEW)), np.cumsum([0, *map(len, NEW)])
    (_, field, _), *_ = model._model.fields(rows, edges)
    wanted = np.concatenate(beside(NEW, WEIGHTS)) @ weights + constants
    np.testing.assert_allclose(field[:, : rows.shape[0]], wanted.T, atol=1e-4)


def test_window_without_weight_is_no_window():
    plain = KernelSequenceClassifier(**FIXED).fit(X, Y)
    window = fit_at((1e-14,) * 4)
    for one, other in zip(plain.predict_proba(NEW), window.predict_proba(NEW), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_prediction_in_parts_is_prediction_at_once(monkeypatch):
    model = fit_at(WEIGHTS)
    whole = np.concatenate(model.predict_proba(NEW))
    monkeypatch.setattr("logikern.sequences.model.TILE_ENTRIES", 40)
    monkeypatch.setattr("logikern.sequences.model.KERNEL_ENTRIES", 100)
    np.testing.assert_allclose(np.concatenate(model.predict_proba(NEW)), whole, atol=1e-12)


def test_search_finds_the_neighbour_that_matters():
    """Labels depend on the previous input alone: its weight grows, the weight of the next one falls."""
    random = np.random.RandomState(0)
    inputs = [random.randn(8, 1) for _ in range(40)]
    labels = [(np.concatenate([[0.0], own[:-1, 0]]) > 0).astype(int) for own in inputs]
    settings = {"random_state": 0, "transition_variance": 0.0, "pseudocount": np.inf, "piecewise": 0.0}
    model = KernelSequenceClassifier(window=1, **settings).fit(inputs, labels)
    before, after = model.specification_.window
    assert before > 10 * after
    plain = KernelSequenceClassifier(**settings).fit(inputs, labels)
    assert model.trace_[-1].best < 0.5 * plain.trace_[-1].best


def test_weight_of_zero_stays():
    model = KernelSequenceClassifier(window=(0.0, 0.2), random_state=0).fit(X, Y)
    assert model.specification_.window[0] == 0.0 and model.specification_.window[1] != 0.2


@pytest.mark.parametrize("window", [-1, 1.5, True, "auto", [0.5], [0.5, -1.0], [0.5, np.inf]])
def test_wrong_window_is_refused(window):
    with pytest.raises(ValueError, match="`window` must be"):
        KernelSequenceClassifier(window=window).fit(X, Y)
