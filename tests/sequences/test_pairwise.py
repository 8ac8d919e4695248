"""Newton's method against pairwise ascent over label sequences, which shares no code with it."""

import itertools

import numpy as np
import pytest

from logikern.sequences.likelihood import ChainLikelihood, count_transitions
from logikern.sequences.newton import fit_chains
from tests.reference.label_sequences import Alternatives, ascend
from tests.sequences.enumeration import counts_of
from tests.sequences.samples import bind, chains_of, draw_sequences, specify


def alternatives(y, weights, n_labels, piecewise):
    """All label sequences of each chain; with a weight of positions, each position also as a chain of its own."""
    n, begin, result = sum(map(len, y)), 0, []
    for labels, weight in zip(y, weights, strict=True):
        every = list(itertools.product(range(n_labels), repeat=len(labels)))
        counts = np.array([counts_of(one, begin, n, n_labels).ravel() for one in every])
        result.append(Alternatives(counts, every.index(tuple(labels)), weight))
        for position, label in enumerate(labels if piecewise else ()):
            single = np.zeros((n_labels, n_labels, n + n_labels + 2))
            single[np.arange(n_labels), np.arange(n_labels), begin + position] = 1
            result.append(Alternatives(single.reshape(n_labels, -1), int(label), piecewise * weight))
        begin += len(labels)
    return result


@pytest.mark.parametrize("piecewise", [0.0, 0.5])
@pytest.mark.parametrize("window", [(), (0.4, 0.6)])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_newton_finds_the_optimum_of_pairwise_ascent(n_labels, window, piecewise):
    X, y = draw_sequences(5, n_labels, seed=2, longest=3)
    chains, labels, rows = chains_of(X, y, n_labels)
    covariance = bind(specify(n_labels, window=window), rows, chains.offsets)
    weights = np.array([1.0, 1.0, 0.5, 1.0, 2.0])
    mean = count_transitions(chains, labels, weights, 0.5).value
    fit = fit_chains(ChainLikelihood(chains, labels, weights, mean, piecewise), covariance, 1e-10, 60)
    unit = np.eye(fit.dual.size).reshape(-1, *chains.shape)
    gram = np.array([covariance.matmul(one).ravel() for one in unit])
    shift = np.zeros(chains.shape)
    shift[:, chains.n_positions :] = mean
    dual = ascend(alternatives(y, weights, n_labels, piecewise), gram, shift.ravel(), 1e-7, 20_000)
    np.testing.assert_allclose(fit.dual.ravel(), dual, atol=1e-5)
    np.testing.assert_allclose(fit.latent.ravel(), gram @ dual, atol=1e-4)
