"""The labels of a fit: an indicator matrix, checked once here and trusted inside."""

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.decisions.indicators import as_indicator
from logikern.decisions.label_forest import LabelForest
from logikern.decisions.label_sets import SetDistribution
from logikern.estimators._inputs.data import CheckTogether, TrainingData, is_precomputed, names_of_rows
from logikern.estimators._inputs.labels import N_NAMED, refuse_missing
from logikern.estimators._inputs.weights import sample_weights
from logikern.estimators._names.likelihoods import LIKELIHOODS
from logikern.estimators._parameters import Parameters
from logikern.estimators.multilabel._trees import read_label_tree
from logikern.kernels import training_points
from logikern.numerics.outcome import Array, Indices, Mask
from logikern.structure.forest import ROOT
from logikern.structure.mixing import Flat
from logikern.structure.taxonomy import column_parents
from logikern.structure.tree import Tree, as_labels


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """Which labels vary in the training rows, the constant values of the others, and the parent of each label."""

    shares: Array  # (L,): the share of the training weight that has each label; exactly 0 or 1 for constant labels
    parents: Indices  # (L,): the position of the parent of each label, -1 for labels without a parent

    @property
    def varying(self) -> Mask:
        """Labels that some rows have and others lack, (L,)."""
        return (self.shares > 0) & (self.shares < 1)

    @property
    def varying_parents(self) -> Indices:
        """The parent of each varying label, as a position among the varying labels, (V,).

        The parent of a varying label varies, or all rows have it. In the second case, the label is treated as one
        without a parent.
        """
        places = np.append(np.where(self.varying, np.cumsum(self.varying) - 1, ROOT), ROOT)
        return places[self.parents[self.varying]]

    def complete(self, distribution: SetDistribution) -> SetDistribution:
        """The distribution over sets of all labels, from a distribution over sets of the varying ones."""
        if self.varying.all():
            return distribution
        parts = (distribution.marginals, distribution.conditionals, distribution.sets)
        marginals, conditionals, sets = map(self._complete, parts)
        forest = LabelForest(self.parents)
        return SetDistribution(marginals, conditionals, distribution.listed, sets == 1, distribution.rest, forest)

    def _complete(self, varying: Array) -> Array:
        """Values of all labels, (n, L), from the values of the varying labels, (n, V)."""
        values = np.tile(self.shares, (len(varying), 1))
        values[:, self.varying] = varying
        return values


@dataclass(frozen=True, eq=False)
class LabelTable:
    """The labels of all given rows."""

    indicator: Mask  # (n, L), closed upwards
    names: Array  # (L,)
    weights: Array  # (n,): sample weights, some of which may be zero
    space: LabelSpace
    tree: Tree | None  # whose nodes are the labels

    @property
    def varying_names(self) -> Array:
        """Names of the varying labels, (V,)."""
        return self.names[self.space.varying]

    @property
    def learned(self) -> Mask:
        """Indicators of the varying labels, (n, V)."""
        return self.indicator[:, self.space.varying]


def read_table(owner: str, y: Any, sample_weight: Any, hierarchy: Any = None) -> LabelTable:
    """Check labels and weights; warns of constant labels.

    Rows of weight zero do not count: a label that varies among them only is constant.
    """
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None. Pass an indicator matrix of labels."
        )
    refuse_missing(y)
    indicator, names = as_indicator(y, "y"), column_names(y)
    weights = sample_weights(len(indicator), sample_weight)
    n_labels = indicator.shape[1]
    tree = None if hierarchy is None else read_label_tree(hierarchy, names, n_labels)
    if names is None:
        names = np.arange(n_labels) if tree is None else as_labels(tree.labels)
    parents = np.full(n_labels, ROOT) if tree is None else column_parents(tree, names)
    indicator = LabelForest(parents).close(indicator)
    table = LabelTable(indicator, names, weights, LabelSpace(_shares(indicator, weights), parents), tree)
    _check_varying(table)
    return table


def column_names(y: Any) -> Array | None:
    """The names of the columns of a frame; None for arrays."""
    # The `columns` of a pyarrow table are its values.
    names = getattr(y, "column_names", getattr(y, "columns", None))
    if names is None:
        return None
    labels = as_labels(names)
    twice = next((name for name, count in Counter(labels.tolist()).items() if count > 1), None)
    if twice is not None:
        raise ValueError(
            f"`y` must have one column for each label, but {str(twice)!r} has several. Rename or drop them."
        )
    return labels


def match_columns(names: list[Any], known: list[Any], argument: str) -> list[int]:
    """The column of each known label, by name."""
    place = {name: number for number, name in enumerate(names)}
    missing = [name for name in known if name not in place]
    if missing:
        strange = next(name for name in names if name not in known)
        raise ValueError(
            f"The columns of `{argument}` must be the labels seen during fit, but no column is named "
            f"{str(missing[0])!r}, and {str(strange)!r} is not a label. Rename the columns, or pass an array."
        )
    return [place[name] for name in known]


def _shares(indicator: Mask, weights: Array) -> Array:
    """The share of the weight that has each label, exactly zero or one for constant labels, (L,)."""
    used = weights > 0
    if not used.any():
        return np.zeros(indicator.shape[1])
    shares = np.average(indicator[used], axis=0, weights=weights[used])
    return np.where(indicator[used].all(axis=0), 1.0, np.where(indicator[used].any(axis=0), shares, 0.0))


def _check_varying(table: LabelTable) -> None:
    """Warn of constant labels; raise an error if all labels are constant."""
    constant = table.names[~table.space.varying]
    if len(constant) == len(table.names):
        raise ValueError(
            "`y` must have a label that some rows have and others lack, but each label has one class only: it is "
            "present in all rows or absent from all rows. Add rows, or drop these labels."
        )
    if len(constant):
        named = ", ".join(repr(str(name)) for name in constant[:N_NAMED])
        more = f" and {len(constant) - N_NAMED} more" if len(constant) > N_NAMED else ""
        warnings.warn(
            f"Labels {named}{more} are present in all rows, or absent from all. "
            "Their probability in new rows is 1 or 0.",
            stacklevel=3,
        )


def rarest_labels(indicator: Mask) -> Indices:
    """1 + the index of the rarest label of each row, or 0 for rows without labels: strata for subsets and folds.

    Rare labels are then spread over folds, as in the iterative stratification of Sechidis, Tsoumakas & Vlahavas
    (2011).
    """
    order = np.argsort(indicator.sum(axis=0), kind="stable")
    first = order[indicator[:, order].argmax(axis=1)]
    return np.where(indicator.any(axis=1), first + 1, 0)


def _likelihood_parents(table: LabelTable) -> tuple[int, ...] | None:
    """Parents of the varying labels; None if labels have no tree."""
    return None if table.tree is None else tuple(table.space.varying_parents.tolist())


def independent_data(
    table: LabelTable, parameters: Parameters, check: CheckTogether, X: Any, y: Mask, sample_weight: Any
) -> TrainingData:
    """Training data whose targets are the varying labels (V, n), each with a function of its own."""
    row_names, strata = names_of_rows(X), rarest_labels(y)
    X, _, encoder = check(X, strata)
    weights = sample_weights(X.shape[0], sample_weight)
    kept = np.flatnonzero(weights > 0)
    points = training_points(X) if is_precomputed(parameters.kernel) else X
    return TrainingData(
        points=points[kept],
        targets=np.ascontiguousarray(y[kept].T, dtype=np.float64),
        weights=weights[kept],
        classes=table.varying_names,
        mixing=Flat(y.shape[1]),
        likelihood=LIKELIHOODS["labels"](_likelihood_parents(table)),
        labels=strata[kept],
        kept=kept,
        n_rows=len(y),
        row_labels=strata,
        row_names=row_names,
        encoder=encoder,
    )
