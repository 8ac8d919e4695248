"""What a report is about: a classifier, and rows with known labels."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.estimators._fitted.pipelines import fitted_model, our_inputs
from logikern.numerics.outcome import Array, Indices
from logikern.reporting.document import Origin
from logikern.structure.taxonomy import lowest_equivalents, nodes_of
from logikern.structure.tree import Tree, as_labels


@dataclass(frozen=True, eq=False)
class Subject:
    """What a report is about: a model and rows with known labels."""

    model: Any  # as given
    classifier: Any  # the model itself, or its last step
    X: Any
    inputs: Any  # of the classifier
    labels: Array
    origin: Origin


@dataclass(frozen=True, eq=False)
class ClassSubject(Subject):
    """A classifier of single rows, and its predictions."""

    log_probabilities: Array
    seconds: float  # of the prediction

    @property
    def tree(self) -> Tree | None:
        tree: Tree | None = vars(self.classifier).get("tree_")
        return tree

    @property
    def probabilities(self) -> Array:
        return np.exp(self.log_probabilities)


def read_subject(model: Any, classifier: Any, X: Any, y: Any, origin: Origin) -> ClassSubject:
    """A classifier of single rows, with its predictions."""
    labels, began = as_labels(y if isinstance(y, list | tuple) else np.asarray(y)), time.perf_counter()
    found = fitted_model(model).predict_log_proba(X)
    seconds = time.perf_counter() - began
    if labels.shape != (len(found),):
        raise ValueError(
            f"`y` must hold one label for each of the {len(found)} rows of X, but has shape {labels.shape!r}."
        )
    return ClassSubject(model, classifier, X, our_inputs(model, X), labels, origin, found, seconds)


def rows_of_classes(subject: ClassSubject) -> tuple[Indices, Indices]:
    """The rows whose label is a class, and the column of each of them; other rows have inner nodes."""
    tree, classes = subject.tree, subject.classifier.classes_.tolist()
    labels = subject.labels
    if tree is not None:
        nodes = lowest_equivalents(nodes_of(labels, tree), tree)
        rows = np.flatnonzero(tree.n_children[nodes] == 0)
        column = np.zeros(len(tree.labels), dtype=np.intp)
        column[tree.leaves] = np.arange(tree.n_classes)
        return rows, column[nodes[rows]]
    place = {label: number for number, label in enumerate(classes)}
    unknown = [label for label in labels.tolist() if label not in place]
    if unknown:
        raise ValueError(f"`y` must hold classes of the model, but holds {unknown[0]!r}. Drop such rows.")
    return np.arange(len(labels)), np.array([place[label] for label in labels.tolist()], dtype=np.intp)
