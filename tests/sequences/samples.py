"""Small sequences whose labels depend on inputs and on neighbours."""

import numpy as np

from logikern.kernels import Gaussian
from logikern.operators.choose import choose
from logikern.sequences.chains import Chains
from logikern.sequences.hyperparameters import FieldSpecification
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tying import tie


def draw_sequences(n_sequences=30, n_labels=3, seed=0, longest=6):
    """Labels follow a cycle most of the time; inputs are noisy positions of the labels on a circle."""
    random = np.random.RandomState(seed)
    X, y = [], []
    for _ in range(n_sequences):
        labels = [random.randint(n_labels)]
        for _ in range(random.randint(longest)):
            labels.append((labels[-1] + 1) % n_labels if random.uniform() < 0.8 else random.randint(n_labels))
        angle = 2 * np.pi * np.array(labels) / n_labels
        y.append(np.array(labels))
        X.append(np.c_[np.cos(angle), np.sin(angle)] + 0.8 * random.randn(len(labels), 2))
    return X, y


def chains_of(X, y, n_labels=3):
    """Chains, labels and rows of some sequences."""
    offsets = np.concatenate([[0], np.cumsum([len(labels) for labels in y])]).astype(np.intp)
    return Chains(offsets, n_labels), np.concatenate(y), np.concatenate(X)


def specify(n_labels=3, rate=0.5, variance=3.0, transition_variance=2.0, tying="shared", **others):
    mixing = Flat(n_labels)
    tied = tie(tying, mixing)
    positions = Specification((Gaussian(rate),) * tied.n_kernels, (variance,) * tied.n_variances, 1.0, tied, mixing)
    return FieldSpecification(positions, transition_variance, **others)


def bind(specification, rows, edges=None):
    points = choose(specification.positions.kernels, rows, precision="double").points(rows)
    return specification.bind(points, edges)
