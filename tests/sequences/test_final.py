"""The fit to all sequences, and the model that follows from it."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.numerics.outcome import Outcome
from logikern.sequences import final
from logikern.sequences.inputs import SequenceRows
from logikern.sequences.likelihood import ChainLikelihood
from tests.sequences.samples import chains_of, draw_sequences, specify

SETTINGS = final.FitSettings("double", 1e-9, 60)
WEIGHTS = np.random.RandomState(0).choice([0.0, 0.5, 1.0, 2.0], 40)
SPECIFICATION = specify(window=(0.3, 0.5), pseudocount=0.7, piecewise=0.4)
STEPS_OF_PART = 2  # before the interruption of a fit to a part of the sequences


@pytest.fixture
def growing(monkeypatch):
    """Fits of few rows start from fits of fewer, and these from even fewer."""
    monkeypatch.setattr(final, "POLICY", final.GrowthPolicy(least_rows=20, least_sequences=8))


def fit(settings=SETTINGS, callback=lambda step: None):
    X, y = draw_sequences(40)
    chains, labels, rows = chains_of(X, y)
    found = final.fit_all(
        SPECIFICATION, SequenceRows(rows, chains.offsets), labels, WEIGHTS, settings, callback=callback
    )
    return found, rows, chains


def compare(found, rows, chains):
    """The model has the latents of its fit at the positions of training."""
    n = chains.n_positions
    np.testing.assert_allclose(found.model.field(rows, chains)[:, :n], found.fit.latent[:, :n], atol=1e-6)


def test_training_field_is_that_of_the_fit():
    found, rows, chains = fit()
    compare(found, rows, chains)


def test_start_from_some_sequences_does_not_change_the_fit(monkeypatch):
    """The fit that grows is compared with one from zero."""
    (direct, _, _), sizes = fit(), []
    monkeypatch.setattr(final, "POLICY", final.GrowthPolicy(least_rows=20, least_sequences=8))
    bind_all = type(SPECIFICATION).bind_all
    monkeypatch.setattr(
        type(SPECIFICATION),
        "bind_all",
        lambda self, rows, *rest: (sizes.append(len(rows)), bind_all(self, rows, *rest))[1],
    )
    grown, rows, _ = fit()
    assert len(sizes) == 3 and sizes == sorted(sizes) and sizes[-1] == len(rows)
    np.testing.assert_allclose(grown.fit.dual, direct.fit.dual, atol=1e-8)
    np.testing.assert_allclose(grown.model.transitions, direct.model.transitions, atol=1e-7)


def test_some_chains_of_a_likelihood():
    X, y = draw_sequences(40)
    chains, labels, _ = chains_of(X, y)
    chosen = np.array([3, 4, 17])
    whole = ChainLikelihood(chains, labels, WEIGHTS, np.random.RandomState(1).randn(3, 5), 0.4)
    part = whole.take(chosen)
    latent = np.random.RandomState(2).randn(*chains.shape)
    columns = np.append(
        np.flatnonzero(np.isin(chains.chain_of, chosen)), np.arange(chains.n_positions, len(latent[0]))
    )
    own = latent[:, columns]
    wanted = whole.losses(whole.infer(latent), latent)[chosen]
    np.testing.assert_allclose(part.losses(part.infer(own), own), wanted, atol=1e-12)
    assert part.weights.tolist() == WEIGHTS[chosen].tolist()


class Impatient:
    """A callback that interrupts the first fit after some steps."""

    def __init__(self):
        self.is_done = False

    def __call__(self, step):
        if step.step == STEPS_OF_PART and not self.is_done:
            self.is_done = True
            raise KeyboardInterrupt


def test_interrupted_fit_to_some_sequences_is_kept(growing):
    found, rows, chains = fit(replace(SETTINGS, keep_interrupted=True), Impatient())
    assert found.fit.outcome is Outcome.INTERRUPTED
    assert (np.abs(found.fit.dual[:, : chains.n_positions]).sum(axis=0) > 0).mean() < 0.5
    compare(found, rows, chains)


def test_interrupted_fit_to_some_sequences_raises(growing):
    with pytest.raises(KeyboardInterrupt):
        fit(callback=Impatient())
