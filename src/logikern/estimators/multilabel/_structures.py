"""How labels depend on each other given the inputs: independently, or through one softmax over their sets."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from logikern.decisions.label_forest import LabelForest
from logikern.decisions.label_sets import SetDistribution, independent_labels, listed_sets
from logikern.estimators._fitted.prediction import latents
from logikern.estimators._fitted.story import Words
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.weights import weight_unit
from logikern.estimators.classifier import KernelLogisticClassifier
from logikern.estimators.multilabel._labels import LabelSpace, LabelTable, independent_data
from logikern.kernels import KERNELS
from logikern.numerics.outcome import Array, Mask
from logikern.numerics.simplex import soft_maximum
from logikern.structure.loadings import LabelLoadings

_CRITERION = "the mean held-out log loss of label sets per row"


# Tyings of functions of labels and of label sets, by the tying that a user sets.
TYINGS_OF_LOADINGS = {"auto": "auto", "shared": "level", "scaled": "leaf", "separate": "separate"}


class GivenLabels(NamedTuple):
    """The arguments of a fit, with labels that are checked."""

    X: Any
    table: LabelTable
    sample_weight: Any
    groups: Any


class FittedStructure(ABC):
    """A fitted distribution over sets of the varying labels.

    Its classifier has the points, the kernels and the search.
    """

    classifier: KernelLogisticClassifier
    space: LabelSpace
    unseen_share: float  # the share of the product of the marginals
    words: ClassVar[Words]  # for `explain`

    @property
    def forest(self) -> LabelForest:
        """The parents of the varying labels."""
        return LabelForest(self.space.varying_parents)

    @abstractmethod
    def distribution(self, X: Any) -> SetDistribution:
        """Distributions over sets at new rows."""

    @abstractmethod
    def distribution_at(self, latent: Array, data: TrainingData) -> SetDistribution:
        """Distributions over sets from latents (C, m) that were learned from the rows of `data` with weight."""


@dataclass(frozen=True, eq=False)
class Independent(FittedStructure):
    """P(set) = prod_l P(label l as in the set), given the parent of label l if there is a tree."""

    classifier: KernelLogisticClassifier  # its latents belong to `Bernoulli`, one for each label
    space: LabelSpace
    unseen_share: float = 1.0
    words: ClassVar[Words] = Words("label", _CRITERION)

    def distribution(self, X: Any) -> SetDistribution:
        return independent_labels(_label_probabilities(latents(self.classifier, X).T), self.forest)

    def distribution_at(self, latent: Array, data: TrainingData) -> SetDistribution:
        return independent_labels(_label_probabilities(latent), self.forest)


@dataclass(frozen=True, eq=False)
class Joint(FittedStructure):
    """A softmax over the sets seen in training, mixed with the product of its marginals for all other sets."""

    classifier: KernelLogisticClassifier  # its classes are the numbers of the sets
    space: LabelSpace
    sets: Mask  # (S, V)
    unseen_share: float
    words: ClassVar[Words] = Words("label set", _CRITERION)

    def distribution(self, X: Any) -> SetDistribution:
        return listed_sets(self.classifier.predict_proba(X), self.sets, self.unseen_share, self.forest)

    def distribution_at(self, latent: Array, data: TrainingData) -> SetDistribution:
        seen = data.targets @ data.weights > 0
        listed = soft_maximum(latent[seen]).probabilities.T
        return listed_sets(listed, self.sets[seen], unseen_share(data), self.forest)


def _label_probabilities(latent: Array) -> Array:
    """Probabilities (n, L) from latents (L, n) of `Bernoulli`."""
    return np.asarray(expit(np.sqrt(2.0) * latent.T))


def unseen_share(data: TrainingData) -> float:
    """Probability that a new row has a set that no row of positive weight has.

    The estimate of Good (1953) is the share of the rows whose set occurs once. One row is added to these rows and one
    to the other rows, so that no set is impossible.
    """
    positive = data.weights[data.weights > 0]
    counts = data.targets @ data.weights / weight_unit(positive)
    return float((counts[counts <= 1.0].sum() + 1.0) / (counts.sum() + 2.0))


def fit_independent(settings: dict[str, Any], given: GivenLabels) -> Independent:
    """A function for each label. All labels learn their hyperparameters together."""
    table, classifier = given.table, KernelLogisticClassifier(**settings, sharpen=False)
    classifier._read_data = partial(independent_data, table)
    try:
        classifier.fit(given.X, table.learned, given.sample_weight, given.groups)
    finally:
        del classifier._read_data
    return Independent(classifier, table.space)


def fit_coupled(settings: dict[str, Any], given: GivenLabels) -> Joint:
    """A joint model whose label sets share the functions of their labels."""
    mixing = LabelLoadings(_seen_sets(given.table))
    return fit_joint(settings | {"hierarchy": mixing, "tying": TYINGS_OF_LOADINGS[settings["tying"]]}, given)


def _seen_sets(table: LabelTable) -> Mask:
    """The different sets of rows of positive weight, (S, V)."""
    return np.unique(table.learned[table.weights > 0], axis=0)


def fit_joint(settings: dict[str, Any], given: GivenLabels) -> Joint:
    """A softmax over the sets that rows of positive weight have."""
    sets = _seen_sets(given.table)
    # Rows of weight zero may have other sets, whose number does not matter.
    place = {own.tobytes(): number for number, own in enumerate(sets)}
    numbers = np.array([place.get(own.tobytes(), 0) for own in given.table.learned])
    classifier = KernelLogisticClassifier(**settings)
    classifier.fit(given.X, numbers, given.sample_weight, given.groups)
    return Joint(classifier, given.table.space, sets, unseen_share(classifier._training))


@dataclass(frozen=True)
class StructurePolicy:
    """When "auto" does not try the joint structure, or shortens its search."""

    # Label sets times rows. On one core, 240,000 take a minute (yeast), and the time grows faster than this number.
    most_entries: int = 500_000
    # Share of rows whose set no other row has. About the same share of new rows has a set that was never seen.
    most_unseen: float = 0.5
    # Label sets times rows from which the joint search uses the kernel and the scale of the inputs that independent
    # labels have chosen. Both structures chose the same on scene and yeast; on yeast, comparing them again would take
    # two thirds of the joint search.
    many_entries: int = 100_000


USUAL = StructurePolicy()


def obstacle_to_joint(table: LabelTable, policy: StructurePolicy = USUAL) -> str:
    """Why "auto" does not try the joint structure, as a sentence; empty if it does."""
    used = table.learned[table.weights > 0]
    counts = np.unique(used, axis=0, return_counts=True)[1]
    if len(counts) * len(used) > policy.most_entries:
        told = f"a fit of {len(counts)} label sets to {len(used)} rows would take too long"
        return f"The joint structure was not tried, because {told}."
    n_alone = int((counts == 1).sum())
    if n_alone > policy.most_unseen * len(used):
        return f"The joint structure was not tried, because {n_alone} of {len(used)} label sets are unique."
    return ""


def inherit_inputs(
    settings: dict[str, Any], chosen: KernelLogisticClassifier, given: GivenLabels, policy: StructurePolicy = USUAL
) -> dict[str, Any]:
    """Settings of a large joint search, with the kernel and the scale of inputs that another search has chosen."""
    n_entries = len(_seen_sets(given.table)) * len(given.table.learned)
    # Weights affect a scale that a search chooses, but not a given scale.
    is_small = n_entries < policy.many_entries or given.sample_weight is not None
    if is_small or len(chosen.plan_.alternatives) == 1:
        return settings
    kernel = next(name for name, kind in KERNELS.items() if type(chosen.kernels_[0]) is kind)
    inherited = {"kernel": kernel, "inputs": chosen.encoder_.scaling.kind}
    return settings | {name: value for name, value in inherited.items() if settings[name] == "auto"}


STRUCTURES: dict[str, Callable[[dict[str, Any], GivenLabels], FittedStructure]] = {
    "independent": fit_independent,
    "joint": fit_joint,
    "coupled": fit_coupled,
}
