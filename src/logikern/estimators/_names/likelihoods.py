"""The likelihood for each kind of target."""

from collections.abc import Callable

from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.bernoulli import Bernoulli
from logikern.likelihoods.coarse import CoarseSoftmax
from logikern.likelihoods.softmax import Softmax
from logikern.likelihoods.squared import Squared

LIKELIHOODS: dict[str, Callable[..., Likelihood]] = {
    "classes": Softmax,
    "nodes": CoarseSoftmax,  # nodes of a tree
    "labels": Bernoulli,  # each present or absent
    "numbers": Squared,
}
