"""A rate per column tells the inputs that matter."""

from functools import cache

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import folds_from_splits
from logikern.fitting.newton.dense import Exact
from logikern.kernels import Gaussian, Laplacian
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import Choice
from logikern.selection.growth import learn
from logikern.selection.search import Effort, SearchData
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie
from tests.selection.samples import first_model, log, plan

N_NOISE = 5


@cache
def learn_rates(kind=Gaussian, columns=None):
    """Two inputs that matter, five that do not. Of an input with a straight effect a small rate would do."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((200, 2 + N_NOISE))
    labels = ((X[:, :2] ** 2).sum(axis=1) + 0.3 * generator.standard_normal(200) > 1.4).astype(int)
    folds = folds_from_splits(StratifiedKFold(3, shuffle=True, random_state=0).split(X, labels), np.ones(200))
    criterion = CrossValidation(Softmax(), from_labels(labels, 2), folds, Exact(1e-8))
    place = SearchData(criterion, Choice("dense", np.dtype(float), "", 1e8).points(X), 200)
    tying = tie("shared", Flat(2))
    origin = Specification((kind(0.3),), (10.0,), 4.0, tying, Flat(2))
    own = plan(tyings=(("shared", tying),), compare=False, relevance=True, n_inputs=2 + N_NOISE, columns=columns)
    return learn([first_model([place], origin)], own, 1, Effort(), log(), np.random.default_rng(0))


def test_rates_of_noise_fall_far_below_the_others():
    logs = np.log(learn_rates().specification.kernels[0].rate)
    # Means of logs: a rate of noise is pulled to the mean of all, not to zero.
    assert logs[:2].mean() - logs[2:].mean() > np.log(5.0)


@pytest.mark.parametrize("kind", [Gaussian, Laplacian])
def test_rates_of_noise_fall_below_the_others_for_columns_of_several_inputs(kind):
    columns = (0, 0, 1, 1, 2, 2, 2)
    kernel = learn_rates(kind, columns).specification.kernels[0]
    assert kernel.columns == columns and len(kernel.rate) == 3
    assert 2 * max(kernel.rate[1:]) < kernel.rate[0]


def test_rates_of_inputs_improve_the_criterion():
    shared, per_input = learn_rates().verdicts
    assert per_input.value < shared.value


def test_rates_of_inputs_are_a_stage_of_their_own():
    assert [verdict.stage for verdict in learn_rates().verdicts] == ["shared", "rate per column"]
