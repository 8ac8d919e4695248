"""The report of a fitted classifier on rows with known classes."""

import datetime
import importlib.metadata
import os
import platform
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from logikern import __version__
from logikern.decisions.tree_errors import node_scores
from logikern.estimators._fitted.influence import USUAL as INFLUENCE
from logikern.estimators._fitted.parts import largest_part
from logikern.estimators._fitted.pipelines import fitted_model
from logikern.estimators._fitted.prediction import new_data
from logikern.estimators._fitted.recovery import with_training
from logikern.estimators._inputs.data import is_precomputed, takes_objects
from logikern.estimators._report import tables
from logikern.estimators._report.subject import Subject, read_subject, rows_of_classes
from logikern.kernels.inputs import is_sparse
from logikern.model.persistence import write_atomically
from logikern.numerics.outcome import Indices
from logikern.reporting import figures
from logikern.reporting.assessment import Assessment, assess
from logikern.reporting.confusion import Matrix, TreeErrors, confuse, confuse_on_tree
from logikern.reporting.document import Document, Origin, Table
from logikern.reporting.page import render
from logikern.reporting.relevance import shuffle_columns
from logikern.selection.search import Record
from logikern.structure.taxonomy import labels_of, lowest_equivalents, nodes_of

LIBRARIES = ("numpy", "scipy", "scikit-learn")


def report(model: Any, X: Any, y: Any, out: Any = None) -> str:
    """A report on a fitted classifier as one HTML page: scores, calibration, errors, and what was learned.

    The page needs no network and no scripts. Pass rows that the model has not seen: scores on training rows are too
    good. The report needs matplotlib and jinja2: `pip install 'logikern[report]'`.

    Parameters
    ----------
    model : KernelLogisticClassifier, or a scikit-learn Pipeline or search that contains one
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        As for `model.predict`.
    y : array of shape (n_samples,)
        True labels; with a hierarchy also labels of inner nodes.
    out : path or None, default=None
        File to write the page to.

    Returns
    -------
    str
        The page.
    """
    return write_report(model, X, y, Origin(), out)


def write_report(model: Any, X: Any, y: Any, origin: Origin, out: Any = None) -> str:
    """`report`, with what the caller knows about the model and its rows."""
    page = render(describe(model, X, y, origin))
    if out is not None:
        write_atomically(Path(os.path.realpath(out)), page.encode())
    return page


def describe(model: Any, X: Any, y: Any, origin: Origin) -> Document:
    """The contents of the report."""
    subject = read_subject(model, X, y, origin)
    rows, true = rows_of_classes(subject)
    found = assess(subject.log_probabilities[rows], true) if len(rows) else None
    relevance = _relevance(subject, rows, true)
    return Document(
        title=f"Report on a model of {origin.target}" if origin.target else "Report on a model",
        facts=_facts(subject),
        warnings=_warnings(subject),
        assessment=found,
        figures=_figures(subject, found),
        matrix=_matrix(subject, rows, true),
        tree=_on_tree(subject),
        learned=str(subject.classifier.explain()),
        hyperparameters=tables.hyperparameters(subject.classifier),
        relevance=relevance,
        losses=None if found is None else tables.largest_losses(subject, rows, found.losses, relevance),
        suspects=_suspects(subject),
        cost=_cost(subject),
        reproduction=_reproduction(subject),
        versions=_versions(origin),
    )


def _facts(subject: Subject) -> dict[str, Any]:
    classifier, origin = subject.classifier, subject.origin
    tree = subject.tree
    given = {"model": origin.model, "rows": origin.data}
    return {
        **{name: value for name, value in given.items() if value is not None},
        "classes": len(classifier.classes_),
        **({} if tree is None else {"class tree": f"{len(tree.labels)} nodes in {tree.depths.max()} levels"}),
        "rows in this report": len(subject.labels),
        "training rows": len(classifier.dual_coef_),
        "written": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, by logikern {__version__}",
    }


def _warnings(subject: Subject) -> tuple[str, ...]:
    told = []
    n_known = _n_known(subject)
    if n_known:
        told.append(
            f"{n_known} of the {len(subject.labels)} rows have the same inputs as a training row. If they are "
            "training rows, the scores are too optimistic: pass rows that the model has not seen."
        )
    if not subject.classifier.outcome_.converged:
        told.append(f"The fit did not converge. {subject.classifier.outcome_.value}")
    if vars(subject.classifier).get("stopped_early_"):
        told.append(f"The search ended early: {subject.classifier.stopped_early_}.")
    return tuple(told)


def _n_known(subject: Subject) -> int:
    """Number of rows whose inputs, in single precision, are equal to the inputs of a training row."""
    fitted = vars(subject.classifier)
    kernel = subject.classifier.kernels_[0]
    if "binaries_" in fitted or takes_objects(kernel) or is_precomputed(kernel):
        return 0
    points = fitted["model_"].points
    if is_sparse(points):
        return 0
    known = {row.tobytes() for row in np.asarray(points, dtype=np.float32)}
    new = np.asarray(new_data(subject.classifier, subject.inputs), dtype=np.float32)
    return sum(row.tobytes() in known for row in new)


def _figures(subject: Subject, found: Assessment | None) -> dict[str, str]:
    drawn = {"search": "", "tree": ""}
    if found is not None:
        drawn |= {"reliability": figures.draw_reliability(found), "rejection": figures.draw_rejection(found)}
    records = [record for record in subject.classifier.trace_ if isinstance(record, Record)]
    if records and "binaries_" not in vars(subject.classifier):
        drawn["search"] = figures.draw_search(records)
    if subject.tree is not None:
        decided = labels_of(subject.tree.leaves[subject.probabilities.argmax(axis=1)], subject.tree)
        scores = node_scores(subject.labels, decided, subject.tree)
        drawn["tree"] = figures.draw_tree(subject.tree, scores, subject.classifier.node_variances_)
    return drawn


def _matrix(subject: Subject, rows: Indices, true: Indices) -> Matrix | None:
    if not len(rows):
        return None
    predicted = subject.log_probabilities[rows].argmax(axis=1)
    return confuse(true, predicted, subject.classifier.classes_.tolist())


def _on_tree(subject: Subject) -> TreeErrors | None:
    if subject.tree is None:
        return None
    nodes = lowest_equivalents(nodes_of(subject.labels, subject.tree), subject.tree)
    return confuse_on_tree(labels_of(nodes, subject.tree), nodes, subject.probabilities, subject.tree)


def _relevance(subject: Subject, rows: Indices, true: Indices) -> Table | str:
    kernel = subject.classifier.kernels_[0]
    has_columns = len(rows) == len(subject.labels) and not (takes_objects(kernel) or is_precomputed(kernel))
    found = shuffle_columns(fitted_model(subject.model).predict_log_proba, subject.X, true) if has_columns else None
    if found is None:
        return "Not computed: the inputs have too many columns, or cannot be shuffled column by column."
    return tables.relevance(found)


def _suspects(subject: Subject) -> Table | str:
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


def _cost(subject: Subject) -> dict[str, Any]:
    classifier = subject.classifier
    records = [record for record in classifier.trace_ if isinstance(record, Record)]
    seconds = sum(record.seconds for record in records)
    products = sum(record.n_products for record in records)
    search = f"{len(records)} evaluations in {seconds:.1f} s, {products} kernel products" if records else "none"
    trace = classifier.newton_trace_
    return {
        "search for hyperparameters": search,
        "steps of the final fit": classifier.n_iter_,
        **({"kernel products of the final fit": trace[-1].products} if trace else {}),
        "outcome of the final fit": classifier.outcome_.value,
        "how products were computed": classifier.operator_,
        "prediction of these rows": f"{subject.seconds:.2f} s",
    }


def _reproduction(subject: Subject) -> dict[str, str]:
    given = {"Command that fitted the model": subject.origin.command}
    told = {name: command for name, command in given.items() if command}
    return told | {"Model with its settings": tables.settings(fitted_model(subject.model))}


def _versions(origin: Origin) -> dict[str, Any]:
    own = {"logikern": __version__, "python": platform.python_version()}
    own |= {library: importlib.metadata.version(library) for library in LIBRARIES}
    written = {f"{name} (model file)": version for name, version in origin.versions.items()}
    return own | written
