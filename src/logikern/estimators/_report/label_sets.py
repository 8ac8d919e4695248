"""The report of a classifier whose rows have any number of labels."""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from logikern.estimators._fitted.pipelines import our_inputs
from logikern.estimators._report import circumstances, tables
from logikern.estimators._report.set_losses import (
    SET_SCORES,
    SetLosses,
    losses_of_sets,
    losses_of_shares,
    score_labels,
    written,
)
from logikern.estimators._report.subject import Subject
from logikern.numerics.outcome import Array, Mask
from logikern.reporting import figures
from logikern.reporting.assessment import Assessment, assess, compare
from logikern.reporting.document import Document, Origin, Table, Words
from logikern.reporting.relevance import USUAL as RELEVANCE
from logikern.reporting.relevance import shuffle_columns, take_rows

# Bounds of probabilities whose logarithms are taken.
TINY, EPSILON = np.finfo(float).tiny, np.finfo(float).eps
EMPTY = "(no label)"  # a set without labels


def describe_label_sets(model: Any, classifier: Any, X: Any, y: Any, origin: Origin) -> Document:
    """The contents of the report."""
    inputs, truth = our_inputs(model, X), classifier._label_sets_of(y)
    names, began = [str(name) for name in classifier.classes_.tolist()], time.perf_counter()
    found = losses_of_sets(classifier, inputs, truth)
    seconds = time.perf_counter() - began
    subject = Subject(model, classifier, X, inputs, written(truth, names, EMPTY), origin)
    assessed = _assess(found, truth)
    relevance = _relevance(subject, truth)
    n, n_labels = truth.shape
    words = Words(
        sample=f"{n} rows with {n_labels} labels",
        baseline="each label independently, with its frequency in these rows as the probability",
        cases="cases",
        about_cases="Here each pair of a row and a label is a case: the label is either present or absent.",
        prediction="prediction",
        truth="true label set",
    )
    every, likely = np.arange(n), written(found.decided["subset"], names, EMPTY)
    return Document(
        title=circumstances.title(origin),
        facts=circumstances.facts(
            subject, len(classifier.dual_coef_), labels=n_labels, structure=classifier.structure_
        ),
        warnings=circumstances.doubts(subject, classifier._fitted.classifier),
        assessment=assessed,
        figures=figures.draw_all(assessed, circumstances.records_of(classifier), words),
        matrix=None,
        tree=None,
        learned=str(classifier.explain()),
        hyperparameters=tables.hyperparameters(classifier),
        relevance=relevance,
        losses=tables.largest_losses(subject, every, found.each[:, 0], likely, relevance),
        suspects=None,
        cost=circumstances.cost(classifier, seconds, how_products_were_computed=classifier.operator_),
        reproduction=circumstances.reproduction(subject),
        versions=circumstances.versions(origin),
        labels=_labels(found, truth, names),
        words=words,
    )


def _assess(found: SetLosses, truth: Mask) -> Assessment:
    """Scores of label sets; reliability and rejection of all labels of all rows together."""
    present = np.clip(found.marginals, TINY, 1.0 - EPSILON).ravel()
    pairs = np.log(np.stack([1.0 - present, present], axis=1))
    rows = np.repeat(np.arange(len(truth)), truth.shape[1])
    pooled = assess(pairs, truth.ravel().astype(np.intp), groups=rows)
    return replace(pooled, scores=compare(SET_SCORES, found.each, losses_of_shares(truth).each))


def _relevance(subject: Subject, truth: Mask) -> Table | str:
    rows = np.sort(np.random.default_rng(0).permutation(len(truth))[: RELEVANCE.rows])
    sets = truth[rows].astype(int)

    def of_true_sets(X: Any) -> Array:
        return np.asarray(subject.classifier.set_log_proba(our_inputs(subject.model, X), sets))[:, None]

    return tables.relevance(shuffle_columns(of_true_sets, take_rows(subject.X, rows), np.zeros(len(rows), np.intp)))


def _labels(found: SetLosses, truth: Mask, names: list[str]) -> Table:
    """Frequency and scores of each label, the most frequent ones first."""
    scores = sorted(score_labels(found, truth, names), key=lambda one: -one.rows)[: tables.USUAL.columns]
    rows = tuple(
        (one.label, one.rows, one.mean_probability, _or_dash(one.recall), _or_dash(one.precision), one.log_loss)
        for one in scores
    )
    hidden = len(names) - len(rows)
    note = "For recall and precision, a label counts as predicted if its probability is above one half."
    more = f" {hidden} labels with fewer rows are not shown." if hidden else ""
    return Table(("label", "rows", "mean probability", "recall", "precision", "log loss"), rows, note + more)


def _or_dash(value: float | None) -> float | str:
    return "-" if value is None else value
