"""A fitted model and its search as plain values."""

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from logikern.cli.models import has_label_sets, outcome_sentence, tree_of
from logikern.cli.preprocessing import final_step, roles_of
from logikern.cli.reading.inputs import wanted_columns
from logikern.cli.reading.labels import joined
from logikern.model.persistence import NOTES, read_header, read_notes
from logikern.structure.tree import ROOT

INDEX = re.compile(r"\[(.+)\]$")  # the input in the name of a rate, such as rate[3] or rate[width]


def describe(model: Any, path: Path) -> dict[str, Any]:
    """A model as plain JSON values."""
    classifier = final_step(model)
    parts = list(_parts(classifier).values())
    roles = roles_of(model)
    inputs: dict[str, Any] = {"columns": wanted_columns(model)}
    if roles is not None:
        inputs = {"numeric": roles.numeric, "categorical": roles.categorical, "text": roles.text}
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "model": type(classifier).__name__,
        "pipeline": [type(step).__name__ for _, step in model.steps] if classifier is not model else None,
        **_predicted(classifier),
        **_label_structure(classifier),
        "inputs": {kind: list(names) for kind, names in inputs.items() if names},
        "features": int(parts[0].model_.points.shape[1]),
        "training_rows": int(parts[0].dual_coef_.shape[0]),
        "parameters": _parameters(classifier),
        "kernels": [str(kernel) for part in parts for kernel in part.kernels_],
        "variances": [float(variance) for part in parts for variance in part.variances_],
        "newton_steps": plain(classifier.n_iter_),
        "outcome": outcome_sentence(classifier),
        "operator": parts[0].operator_,
        "criterion_value": plain(np.mean([part.criterion_value_ for part in parts])),
        "hyperparameters": hyperparameters(model),
        "tree": nodes(model),
        "verdicts": verdicts(classifier),
        "fit": read_notes(path),
        "written_by": {name: value for name, value in read_header(path).items() if name != NOTES},
    }


def _label_structure(classifier: Any) -> dict[str, Any]:
    """Entries of a multilabel model."""
    if not has_label_sets(classifier):
        return {}
    return {"structure": classifier.structure_, "label_sets": len(classifier.label_sets_)}


def hyperparameters(model: Any) -> list[dict[str, Any]]:
    """Name, classes, value and start of every hyperparameter; rates are named by their inputs."""
    names = _input_names(model)
    rows = []
    for label, part in _parts(final_step(model)).items():
        for row in part.hyperparameters_.to_dict("records"):
            name = INDEX.sub(lambda found: f" of {_input_name(found[1], names)}", row["name"])
            unit = "outputs" if "outputs" in row else "classes"
            owners = {"labels" if has_label_sets(model) else unit: label or row[unit]}
            rows.append({"name": name} | owners | _numbers(row, "value", "start"))
    return rows


def _predicted(own: Any) -> dict[str, Any]:
    """The classes of a classifier, or the outputs of a regressor and the errors of held-out rows."""
    if "classes_" in vars(own):
        return {"classes": [joined(label) for label in own.classes_.tolist()]}
    deviations = [plain(value) for value in own.held_out_rmse_]
    return {"outputs": len(deviations), "held_out_error": plain(own.held_out_error_), "held_out_rmse": deviations}


def nodes(model: Any) -> list[dict[str, Any]] | None:
    """Label, parent and variance of every node of the class tree; None without a tree."""
    tree = tree_of(model)
    if tree is None:
        return None
    names = [joined(label) for label in tree.labels]
    above = [None if parent == ROOT else names[parent] for parent in tree.parents]
    variances = [plain(variance) for variance in final_step(model).node_variances_]
    rows = zip(names, above, variances, strict=True)
    return [{"node": name, "parent": parent, "variance": variance} for name, parent, variance in rows]


def _parameters(classifier: Any) -> dict[str, Any]:
    given = {name: plain(value) for name, value in classifier.get_params(deep=False).items()}
    tree = vars(classifier).get("tree_")
    if tree is None or isinstance(classifier.hierarchy, str | None):
        return given
    return given | {"hierarchy": f"{len(tree.labels)} nodes in {tree.depths.max()} levels"}


def verdicts(classifier: Any) -> list[dict[str, Any]]:
    """The stages of the search with their results, also as sentences."""
    return [
        {name: plain(value) for name, value in dataclasses.asdict(verdict).items()}
        | {"sentence": f"{label}: {verdict}" if label else str(verdict)}
        for label, part in _parts(classifier).items()
        for verdict in part.verdicts_
    ]


def plain(value: Any) -> Any:
    """A value for JSON: infinity as text, NaN as null, other objects as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _parts(classifier: Any) -> dict[str, Any]:
    """The fitted models: one, or one per class with one_vs_rest."""
    if "binaries_" not in vars(classifier):
        return {"": classifier}
    return {
        f"{label} against the rest": binary
        for label, binary in zip(classifier.classes_, classifier.binaries_, strict=True)
    }


def _input_names(model: Any) -> list[str]:
    """Names of the inputs that other steps make for the classifier; empty if it has its own names."""
    if final_step(model) is model:
        return []
    if roles_of(model) is None:
        return wanted_columns(model) or []
    return [str(name).partition("__")[2] for name in model[:-1].get_feature_names_out()]


def _input_name(found: str, names: list[str]) -> str:
    """The input to which the name of a rate refers, by name or by number."""
    if not found.isdecimal():
        return found
    return names[int(found)] if int(found) < len(names) else f"input {found}"


def _numbers(row: dict[str, Any], *names: str) -> dict[str, float | str | None]:
    return {name: plain(row[name]) for name in names}
