"""Data that are large for neighbourhoods of 300 rows."""

import functools
import logging
from collections.abc import Callable
from contextlib import contextmanager

import numpy as np

from logikern import KernelLogisticClassifier, NeighbourhoodSettings

SETTINGS = {
    "operator": NeighbourhoodSettings(size=300, partitions=2),
    "criterion": None,
    "kernel": "gaussian",
    "random_state": 0,
}
# 3000 rows are enough for a search on neighbourhoods.
SHORT_SEARCH = SETTINGS | {"criterion": "cv", "cv": 2, "tying": "shared", "ard": False, "inputs": "standard"}
UNEVEN = (1400, 50, 300, 0, 1250)  # one chunk without rows


@functools.cache
def rows(n=3000, d=5):
    random = np.random.default_rng(0)
    X = random.standard_normal((n, d))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    X.flags.writeable = False  # all tests share it
    return X, np.array(["low", "middle", "high"])[y]


@functools.cache
def local_probabilities():
    X, y = rows()
    return KernelLogisticClassifier(**SETTINGS).fit(X, y).predict_proba(X)


@contextmanager
def at_first_neighbourhood(act: Callable[[], None]):
    """Do something as soon as the first neighbourhood of a fit is known, in the thread that waits for it."""
    logger, done = logging.getLogger("logikern"), []

    class Listener(logging.Handler):
        def emit(self, record):
            if hasattr(record, "newton_step") and not done:
                done.append(True)
                act()

    listener, level = Listener(logging.DEBUG), logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    try:
        yield done
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
