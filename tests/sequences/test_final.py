"""The fit to all sequences: its start from a fit to some of them does not change the optimum."""

import numpy as np
import pytest

from logikern.sequences import final
from logikern.sequences.inputs import SequenceRows
from tests.sequences.samples import chains_of, draw_sequences, specify

SETTINGS = final.FitSettings("double", 1e-9, 60)
WEIGHTS = np.random.RandomState(0).choice([0.0, 0.5, 1.0, 2.0], 40)


@pytest.mark.parametrize("weights", [np.ones(40), WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("window", [(), (0.3, 0.5)])
@pytest.mark.parametrize("transition_variance", [0.0, 2.0])
def test_start_from_some_sequences_has_the_same_optimum(window, transition_variance, weights):
    X, y = draw_sequences(40)
    chains, labels, rows = chains_of(X, y)
    own = specify(window=window, transition_variance=transition_variance, pseudocount=0.7, piecewise=0.4)
    sequences, steps = SequenceRows(rows, chains.offsets), []
    cold = final.fit_all(own, sequences, labels, weights, SETTINGS)
    warm = final.fit_all(own, sequences, labels, weights, SETTINGS, steps.append, final.StartPolicy(rows=30))
    np.testing.assert_allclose(warm.fit.latent, cold.fit.latent, atol=1e-6)
    np.testing.assert_allclose(warm.model.transitions, cold.model.transitions, atol=1e-6)
    # The first step from zero has the loss of equal probabilities.
    assert steps[0].loss < 0.7 * cold.fit.trace[0].loss


def test_training_field_is_that_of_the_fit():
    X, y = draw_sequences(40)
    chains, labels, rows = chains_of(X, y)
    found = final.fit_all(specify(window=(0.3, 0.5)), SequenceRows(rows, chains.offsets), labels, WEIGHTS, SETTINGS)
    np.testing.assert_allclose(found.model.field(rows, chains), found.fit.latent, atol=1e-6)
