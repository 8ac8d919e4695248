"""The report of a classifier of sequences."""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from logikern.estimators._fitted.pipelines import our_inputs
from logikern.estimators._report import circumstances, tables
from logikern.estimators._report.sequence_losses import (
    SEQUENCE_SCORES,
    losses_of_label_shares,
    losses_of_sequences,
)
from logikern.estimators._report.subject import Subject
from logikern.numerics.outcome import Array, Indices
from logikern.reporting import figures
from logikern.reporting.assessment import assess, compare
from logikern.reporting.confusion import confuse
from logikern.reporting.document import Document, Origin, Table, Words
from logikern.reporting.relevance import USUAL as RELEVANCE
from logikern.reporting.relevance import shuffle_columns, take_rows


def describe_sequences(model: Any, classifier: Any, X: Any, y: Any, origin: Origin, groups: Any) -> Document:
    """The contents of the report."""
    if groups is None:
        raise ValueError(
            "A report on a model of sequences needs a table with one row per position: pass `groups`, the sequence "
            "of each row."
        )
    inputs, labels, groups = our_inputs(model, X), np.asarray(y), np.asarray(groups)
    subject = Subject(model, classifier, X, inputs, labels, origin)
    began = time.perf_counter()
    found = losses_of_sequences(classifier, inputs, labels, groups)
    seconds = time.perf_counter() - began
    true, predicted = _places(classifier, labels), _places(classifier, found.predicted)
    assessed = assess(found.log_probabilities, true, predicted, groups)
    whole = compare(SEQUENCE_SCORES, found.each, losses_of_label_shares(labels, groups))
    assessed = replace(assessed, scores=(*assessed.scores, *whole))
    relevance = _relevance(subject, true, found.number, groups)
    return Document(
        title=circumstances.title(origin),
        facts=circumstances.facts(
            subject, classifier.n_training_rows_, classes=len(classifier.classes_), sequences=len(found.each)
        ),
        warnings=circumstances.doubts(subject),
        assessment=assessed,
        figures=figures.draw_all(assessed, circumstances.records_of(classifier)),
        matrix=confuse(true, predicted, classifier.classes_.tolist()),
        tree=None,
        learned=classifier.explain(),
        hyperparameters=tables.hyperparameters(classifier),
        relevance=relevance,
        losses=tables.largest_losses(subject, np.arange(len(true)), assessed.losses, found.predicted, relevance),
        suspects=None,
        cost=circumstances.cost(classifier, seconds),
        reproduction=circumstances.reproduction(subject),
        versions=circumstances.versions(origin),
        words=Words(
            sample=f"{len(true)} rows in {len(found.each)} sequences",
            resampled="sequences",
            about_cases="Each row has its own probabilities, given its whole sequence. The most probable label of a "
            "row may differ from its label in the most probable sequence.",
        ),
    )


def _places(classifier: Any, labels: Array) -> Indices:
    """The numbers of known labels in `classes_`, (n,)."""
    place = {label: number for number, label in enumerate(classifier.classes_.tolist())}
    return np.array([place[label] for label in labels.tolist()], dtype=np.intp)


def _relevance(subject: Subject, true: Indices, number: Indices, groups: Array) -> Table | str:
    """Relevance on whole sequences, drawn at random, of about as many rows as for single rows."""
    n_sequences = int(number.max()) + 1
    order = np.random.default_rng(0).permutation(n_sequences)
    n_taken = max(1, int(np.searchsorted(np.cumsum(np.bincount(number)[order]), RELEVANCE.rows, side="right")))
    rows = np.flatnonzero(np.isin(number, order[:n_taken]))
    every = np.arange(len(rows))

    def of_true_labels(X: Any) -> Array:
        found = subject.classifier.predict_proba(our_inputs(subject.model, X), groups=groups[rows])
        return np.log(np.maximum(found[every, true[rows]], np.finfo(float).tiny))[:, None]

    sample, policy = take_rows(subject.X, rows), replace(RELEVANCE, rows=len(rows))
    return tables.relevance(shuffle_columns(of_true_labels, sample, np.zeros_like(rows), policy))
