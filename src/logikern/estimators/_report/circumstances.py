"""What a report tells about its model besides predictions: data, warnings, cost, and how to reproduce it."""

import datetime
import importlib.metadata
import platform
from typing import Any

import numpy as np

from logikern import __version__
from logikern.estimators._fitted.pipelines import fitted_model
from logikern.estimators._fitted.prediction import new_data
from logikern.estimators._inputs.data import is_precomputed, takes_objects
from logikern.estimators._report import tables
from logikern.estimators._report.subject import Subject
from logikern.kernels.inputs import is_sparse
from logikern.reporting.document import Origin
from logikern.selection.search import Record

LIBRARIES = ("numpy", "scipy", "scikit-learn")


def facts(subject: Subject, n_training_rows: int, **own: Any) -> dict[str, Any]:
    """The model and its rows; `own` are facts about one kind of model."""
    origin = subject.origin
    given = {"model": origin.model, "rows": origin.data}
    return {
        **{name: value for name, value in given.items() if value is not None},
        **{name.replace("_", " "): value for name, value in own.items()},
        "rows in this report": len(subject.labels),
        "training rows": n_training_rows,
        "written": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, by logikern {__version__}",
    }


def doubts(subject: Subject, core: Any = None) -> tuple[str, ...]:
    """Warnings about the rows and the fit; `core` has the training points, if they can be compared."""
    told, classifier = [], subject.classifier
    n_known = 0 if core is None else _n_known(core, subject.inputs)
    if n_known:
        told.append(
            f"{n_known} of the {len(subject.labels)} rows have the same inputs as a training row. If they are "
            "training rows, the scores are too optimistic: pass rows that the model has not seen."
        )
    if not classifier.outcome_.converged:
        told.append(f"The fit did not converge. {classifier.outcome_.value}")
    if getattr(classifier, "stopped_early_", ""):
        told.append(f"The search ended early: {classifier.stopped_early_}.")
    return tuple(told)


def _n_known(core: Any, inputs: Any) -> int:
    """Number of rows whose inputs, in single precision, are those of a training row."""
    fitted = vars(core)
    kernel = core.kernels_[0]
    if "binaries_" in fitted or takes_objects(kernel) or is_precomputed(kernel):
        return 0
    points = fitted["model_"].points
    if is_sparse(points):
        return 0
    known = {row.tobytes() for row in np.asarray(points, dtype=np.float32)}
    new = np.asarray(new_data(core, inputs), dtype=np.float32)
    return sum(row.tobytes() in known for row in new)


def records_of(classifier: Any) -> list[Record]:
    """The evaluations of a search."""
    return [record for record in classifier.trace_ if isinstance(record, Record)]


def cost(classifier: Any, seconds: float, **own: Any) -> dict[str, Any]:
    """What the search, the fit and the prediction in `seconds` cost."""
    records = records_of(classifier)
    products = sum(record.n_products for record in records)
    taken = sum(record.seconds for record in records)
    search = f"{len(records)} evaluations in {taken:.1f} s, {products} kernel products" if records else "none"
    trace = classifier.newton_trace_
    return {
        "search for hyperparameters": search,
        "steps of the final fit": classifier.n_iter_,
        **({"kernel products of the final fit": trace[-1].products} if trace else {}),
        "outcome of the final fit": classifier.outcome_.value,
        **{name.replace("_", " "): value for name, value in own.items()},
        "prediction of these rows": f"{seconds:.2f} s",
    }


def reproduction(subject: Subject) -> dict[str, str]:
    """The command and the settings of the fit."""
    given = {"Command that fitted the model": subject.origin.command}
    told = {name: command for name, command in given.items() if command}
    return told | {"Model with its settings": tables.settings(fitted_model(subject.model))}


def versions(origin: Origin) -> dict[str, Any]:
    """Versions of libraries, here and in the model file."""
    own = {"logikern": __version__, "python": platform.python_version()}
    own |= {library: importlib.metadata.version(library) for library in LIBRARIES}
    written = {f"{name} (model file)": version for name, version in origin.versions.items()}
    return own | written


def title(origin: Origin) -> str:
    """The title of the page."""
    return f"Report on a model of {origin.target}" if origin.target else "Report on a model"
