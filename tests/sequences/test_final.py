"""The fit to all sequences, and the model that follows from it."""

import numpy as np

from logikern.sequences import final
from logikern.sequences.inputs import SequenceRows
from tests.sequences.samples import chains_of, draw_sequences, specify

SETTINGS = final.FitSettings("double", 1e-9, 60)
WEIGHTS = np.random.RandomState(0).choice([0.0, 0.5, 1.0, 2.0], 40)


def test_training_field_is_that_of_the_fit():
    X, y = draw_sequences(40)
    chains, labels, rows = chains_of(X, y)
    found = final.fit_all(specify(window=(0.3, 0.5)), SequenceRows(rows, chains.offsets), labels, WEIGHTS, SETTINGS)
    np.testing.assert_allclose(found.model.field(rows, chains), found.fit.latent, atol=1e-6)
