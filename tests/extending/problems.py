"""A small problem for the interfaces below the estimators."""

import numpy as np

from logikern import Gaussian
from logikern.fitting.problem import Problem
from tests.fitting.catalogue import make_problem

N_POINTS = 25


def points() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N_POINTS, 2))


def labels(n_classes: int = 3) -> np.ndarray:
    """Classes that the first input predicts."""
    return np.argsort(np.argsort(points()[:, 0])) * n_classes // N_POINTS


def problem(n_classes: int = 3, **options) -> Problem:
    """Labels that the first input predicts, one shared Gaussian kernel."""
    return make_problem(Gaussian(0.5), points(), np.eye(n_classes)[:, labels(n_classes)], **options)
