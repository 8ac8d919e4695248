"""The report of a fitted classifier on rows with known classes, label sets or sequences of labels."""

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from logikern.decisions.tree_errors import node_scores
from logikern.estimators._fitted.influence import USUAL as INFLUENCE
from logikern.estimators._fitted.parts import largest_part
from logikern.estimators._fitted.pipelines import fitted_model, our_classifier
from logikern.estimators._fitted.recovery import with_training
from logikern.estimators._inputs.data import is_precomputed, takes_objects
from logikern.estimators._report import circumstances, tables
from logikern.estimators._report.label_sets import describe_label_sets
from logikern.estimators._report.sequences import describe_sequences
from logikern.estimators._report.subject import ClassSubject, read_subject, rows_of_classes
from logikern.model.integrity import labels_sequences
from logikern.model.persistence import write_atomically
from logikern.numerics.outcome import Indices
from logikern.reporting import figures
from logikern.reporting.assessment import Assessment, assess
from logikern.reporting.confusion import Matrix, TreeErrors, confuse, confuse_on_tree
from logikern.reporting.document import Document, Origin, Table
from logikern.reporting.page import render
from logikern.reporting.relevance import shuffle_columns
from logikern.structure.taxonomy import labels_of, lowest_equivalents, nodes_of


def report(model: Any, X: Any, y: Any, out: Any = None, groups: Any = None) -> str:
    """A report on a fitted classifier as one HTML page: scores, calibration, errors, and what was learned.

    The page needs no network and no scripts. Pass rows that the model has not seen: scores on training rows are
    optimistic. The report needs matplotlib and jinja2: `pip install 'logikern[report]'`.

    Parameters
    ----------
    model : one of logikern's classifiers, or a scikit-learn Pipeline or search that contains one
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        As for `model.predict`.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        True labels. With a hierarchy, they may be inner nodes. If rows may have several labels, pass indicators.
    out : path or None, default=None
        File to which the page is written.
    groups : array of shape (n_samples,) or None, default=None
        The sequence of each row, for a `KernelSequenceClassifier`.

    Returns
    -------
    str
        The page.
    """
    return write_report(model, X, y, Origin(), out, groups)


def write_report(model: Any, X: Any, y: Any, origin: Origin, out: Any = None, groups: Any = None) -> str:
    """`report`, with what the caller knows about the model and its rows."""
    page = render(describe(model, X, y, origin, groups))
    if out is not None:
        write_atomically(Path(os.path.realpath(out)), page.encode())
    return page


def describe(model: Any, X: Any, y: Any, origin: Origin, groups: Any = None) -> Document:
    """The contents of the report."""
    classifier = our_classifier(model)
    if labels_sequences(classifier):
        return describe_sequences(model, classifier, X, y, origin, groups)
    if groups is not None:
        raise ValueError(
            "`groups` are for models of sequences, but the model classifies single rows. Leave them out."
        )
    if "label_sets_" in vars(classifier):
        return describe_label_sets(model, classifier, X, y, origin)
    return _describe_classes(read_subject(model, classifier, X, y, origin))


def _describe_classes(subject: ClassSubject) -> Document:
    """The contents of the report on a classifier of single rows."""
    rows, true = rows_of_classes(subject)
    classifier, tree = subject.classifier, subject.tree
    found = assess(subject.log_probabilities[rows], true) if len(rows) else None
    relevance = _relevance(subject, rows, true)
    likely = classifier.classes_[subject.log_probabilities.argmax(axis=1)]
    own: dict[str, Any] = {"classes": len(classifier.classes_)}
    own |= {} if tree is None else {"class_tree": f"{len(tree.labels)} nodes in {tree.depths.max()} levels"}
    return Document(
        title=circumstances.title(subject.origin),
        facts=circumstances.facts(subject, len(classifier.dual_coef_), **own),
        warnings=circumstances.doubts(subject, classifier),
        assessment=found,
        figures=_figures(subject, found),
        matrix=_matrix(subject, rows, true),
        tree=_on_tree(subject),
        learned=str(classifier.explain()),
        hyperparameters=tables.hyperparameters(classifier),
        relevance=relevance,
        losses=None if found is None else tables.largest_losses(subject, rows, found.losses, likely, relevance),
        suspects=_suspects(subject),
        cost=circumstances.cost(classifier, subject.seconds, how_products_were_computed=classifier.operator_),
        reproduction=circumstances.reproduction(subject),
        versions=circumstances.versions(subject.origin),
    )


def _figures(subject: ClassSubject, found: Assessment | None) -> dict[str, str]:
    is_one = "binaries_" not in vars(subject.classifier)
    drawn = figures.draw_all(found, circumstances.records_of(subject.classifier) if is_one else [])
    if subject.tree is not None:
        decided = labels_of(subject.tree.leaves[subject.probabilities.argmax(axis=1)], subject.tree)
        scores = node_scores(subject.labels, decided, subject.tree)
        drawn["tree"] = figures.draw_tree(subject.tree, scores, subject.classifier.node_variances_)
    return drawn


def _matrix(subject: ClassSubject, rows: Indices, true: Indices) -> Matrix | None:
    if not len(rows):
        return None
    predicted = subject.log_probabilities[rows].argmax(axis=1)
    return confuse(true, predicted, subject.classifier.classes_.tolist())


def _on_tree(subject: ClassSubject) -> TreeErrors | None:
    if subject.tree is None:
        return None
    nodes = lowest_equivalents(nodes_of(subject.labels, subject.tree), subject.tree)
    return confuse_on_tree(labels_of(nodes, subject.tree), nodes, subject.probabilities, subject.tree)


def _relevance(subject: ClassSubject, rows: Indices, true: Indices) -> Table | str:
    kernel = subject.classifier.kernels_[0]
    has_columns = len(rows) == len(subject.labels) and not (takes_objects(kernel) or is_precomputed(kernel))
    found = shuffle_columns(fitted_model(subject.model).predict_log_proba, subject.X, true) if has_columns else None
    return tables.relevance(found)


def _suspects(subject: ClassSubject) -> Table | str:
    """Suspects, if the training labels are known or can be recovered, and leave-one-out takes only seconds."""
    classifier = subject.classifier
    if "binaries_" in vars(classifier):
        return "Not computed: leave-one-out for all classes together needs a joint fit, without one_vs_rest."
    if _leave_one_out_work(classifier) > INFLUENCE.largest_work:
        n_rows = len(classifier.dual_coef_)
        return f"Not computed: leave-one-out on {n_rows} rows takes too long for a report. Use `suspects` instead."
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = tables.suspects(with_training(classifier), subject.origin.first_row)
    except ValueError as error:
        return f"Not computed. {error}"
    return replace(found, note=" ".join([found.note, *(str(warning.message) for warning in caught)]))


def _leave_one_out_work(classifier: Any) -> float:
    """Operations of leave-one-out: for each part one factor per class, or one of all classes if they are coupled."""
    n_rows, n_classes = classifier.dual_coef_.shape
    largest, is_coupled = float(largest_part(classifier.model_)), classifier.model_.specification.mixing.is_coupled
    return n_rows / largest * ((n_classes * largest) ** 3 if is_coupled else n_classes * largest**3)
