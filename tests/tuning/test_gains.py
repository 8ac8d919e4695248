"""A default fit predicts new data better than hyperparameters read off the data."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from tests.tuning.samples import tuned


def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X[:700], y[:700], train_size=220, stratify=y[:700], random_state=0)


def wine():
    X, y = load_wine(return_X_y=True)
    return train_test_split(StandardScaler().fit_transform(X), y, train_size=90, stratify=y, random_state=0)


def moons():
    # Six columns of noise: the rate read off the data is far from the best.
    X, y = make_moons(400, noise=0.2, random_state=0)
    X = np.hstack([X, 0.3 * np.random.default_rng(0).standard_normal((400, 6))])
    return train_test_split(X, y, train_size=120, stratify=y, random_state=0)


TABLES = {"digits": digits, "wine": wine, "moons": moons}


@pytest.mark.parametrize("name", TABLES)
def test_learned_hyperparameters_beat_those_read_off_the_data(name):
    X, X_new, y, y_new = TABLES[name]()
    losses = [
        log_loss(y_new, tuned(criterion=criterion).fit(X, y).predict_proba(X_new)) for criterion in ("cv", None)
    ]
    assert losses[0] < losses[1]
