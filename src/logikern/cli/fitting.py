"""From the options of `logikern fit` and a training set to a model file."""

from collections.abc import Mapping
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import typer

from logikern.cli.cells import count, name_list
from logikern.cli.description import hyperparameters
from logikern.cli.exits import ExitCode
from logikern.cli.interruption import Interruption, interrupts_to
from logikern.cli.labels import parse_class_weight
from logikern.cli.models import fit_model, new_classifier, save_model
from logikern.cli.narration import Narrator
from logikern.cli.outputs import require_writable
from logikern.cli.preprocessing import build_pipeline, final_step
from logikern.cli.progress import followed
from logikern.cli.render import print_hyperparameters, print_scores
from logikern.cli.scores import score
from logikern.cli.training import TrainingSet

SHOWN = 12  # hyperparameters at the end of a fit; `logikern info` has all
TRIES = 50  # partitions by groups, until one has every class in both parts
# Options that have the name of the estimator's argument, and those that mean nothing where nothing is learned.
ARGUMENTS = (
    "tying",
    "rate",
    "variance",
    "bias_variance",
    "solver",
    "operator",
    "precision",
    "n_jobs",
    "memory_limit",
)
OF_LEARNING = ("criterion", "max_time", "checkpoint", "cv", "ard", "learn_bias", "n_starts")


def check(given: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other, and places that cannot be written, before any work."""
    require_writable(given["out"])
    if given["checkpoint"] is not None:
        require_writable(given["checkpoint"])
        if Path(given["checkpoint"]).absolute() == Path(given["out"]).absolute():
            raise typer.BadParameter("`--checkpoint` and `--out` name the same file; give each its own.")
    fraction = given["test_fraction"]
    if fraction is not None and not 0 < fraction < 1:
        raise typer.BadParameter(f"`--test-fraction` must lie between 0 and 1, but is {fraction:g}.")
    idle = [name for name in (*OF_LEARNING, "search_size") if given[name] not in (None, False)]
    idle += ["no_ard"] if given["ard"] is False else []
    if given["fixed"] and idle:
        options = name_list(f"--{name.replace('_', '-')}" for name in idle)
        raise typer.BadParameter(f"with `--fixed` nothing is learned: leave out {options}.")


def classifier(given: Mapping[str, Any], data_set: TrainingSet) -> Any:
    """The estimator that the options ask for."""
    settings = {name: _plain(given[name]) for name in (*ARGUMENTS, *OF_LEARNING)}
    settings |= {
        "kernel": _plain(given["kernel"]) or data_set.kernel,
        "class_weight": parse_class_weight(given["class_weight"], data_set.labels),
        "search_size": _search_size(given["search_size"], len(data_set.labels)),
        "random_state": given["seed"],
    }
    return new_classifier(settings, given["fixed"])


def _plain(value: Any) -> Any:
    """A model file holds text, not members of an Enum."""
    return value.value if isinstance(value, StrEnum) else value


def _search_size(text: str | None, n_rows: int) -> int | None:
    if text is None:
        return None
    if text == "all":
        return max(n_rows, 10)
    if not text.isdecimal():
        raise typer.BadParameter(f"`--search-size` must be a whole number or 'all', but is {text!r}.")
    return int(text)


def split(data_set: TrainingSet, test_fraction: float | None, seed: int) -> tuple[TrainingSet, TrainingSet | None]:
    """Rows to fit on and rows to report on: every class in both, and no group in both."""
    if test_fraction is None:
        return data_set, None
    parts = (_by_rows if data_set.groups is None else _by_groups)(data_set, test_fraction, seed)
    if parts is None:
        rarest = min(np.unique(data_set.labels, return_counts=True)[1])
        raise ValueError(
            f"`--test-fraction {test_fraction:g}` of {len(data_set.labels)} rows cannot have every class in both "
            f"parts: the rarest has {count(int(rarest), 'row')}"
            f"{'' if data_set.groups is None else ', and groups stay together'}. "
            "Choose another fraction, or leave rare classes out."
        )
    kept, held_out = parts
    return data_set.take(np.sort(kept)), data_set.take(np.sort(held_out))


def _by_rows(data_set: TrainingSet, test_fraction: float, seed: int) -> list[np.ndarray] | None:
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(data_set.labels))
    try:
        return train_test_split(rows, test_size=test_fraction, random_state=seed, stratify=data_set.labels)
    except ValueError:
        return None


def _by_groups(data_set: TrainingSet, test_fraction: float, seed: int) -> tuple[np.ndarray, ...] | None:
    from sklearn.model_selection import GroupShuffleSplit

    splitter = GroupShuffleSplit(TRIES, test_size=test_fraction, random_state=seed)
    n_classes = len(np.unique(data_set.labels))
    try:
        for parts in splitter.split(data_set.labels, groups=data_set.groups):
            if all(len(np.unique(data_set.labels[part])) == n_classes for part in parts):
                return parts
    except ValueError:  # too few groups
        pass
    return None


def fit_and_write(
    classifier: Any, kept: TrainingSet, held_out: TrainingSet | None, out: str, narrator: Narrator
) -> None:
    """Fit, write the model, say what was found, and report on the rows that were held out."""
    model = classifier if kept.roles is None else build_pipeline(kept.roles, classifier)
    n_rows, n_classes = len(kept.labels), len(np.unique(kept.labels))
    task = f"fit on {n_rows} rows, {n_classes} classes"
    interruption = Interruption()
    # A fit that learns nothing has no best so far: there Ctrl-C simply ends the command.
    caught = nullcontext() if classifier.criterion is None else interrupts_to(interruption.receive)
    with followed(narrator, task, interruption, classifier.max_time), caught:
        report = fit_model(model, kept.X, kept.labels, kept.weights, kept.groups)
    for message in report.warnings:
        narrator.warn(message)
    save_model(report.model, out)
    _say_what_was_found(model, report.outcome, narrator)
    narrator.say(f"wrote {out} ({Path(out).stat().st_size / 1024:.0f} kB)")
    if held_out is not None:
        narrator.say(f"scores on {len(held_out.labels)} rows that the model has not seen:")
        print_scores(score(model.predict_log_proba(held_out.X), held_out.labels, model.classes_))
    if interruption.honoured or not report.converged:
        raise typer.Exit(int(ExitCode.NOT_CONVERGED))


def _say_what_was_found(model: Any, outcome: str, narrator: Narrator) -> None:
    classifier = final_step(model)
    if classifier.verdicts_:
        narrator.say(classifier.explain())
    else:
        narrator.say(f"outcome: {outcome}")
    if not narrator.quiet:
        print_hyperparameters(hyperparameters(model), SHOWN, stderr=True)
