"""From the options of `logikern fit` and a training set to a model file."""

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import typer

from logikern.cli.models import fit_model, new_classifier, save_model
from logikern.cli.preprocessing import build_pipeline, final_step
from logikern.cli.reading.cells import count, name_list
from logikern.cli.reading.hierarchy import check_hierarchy
from logikern.cli.reading.labels import parse_class_weight
from logikern.cli.reading.sources import STANDARD
from logikern.cli.reading.training import TrainingSet
from logikern.cli.session.exits import ExitCode
from logikern.cli.session.interruption import Interruption, interrupts_to
from logikern.cli.session.narration import Narrator
from logikern.cli.session.progress import followed
from logikern.cli.writing.description import hyperparameters
from logikern.cli.writing.outputs import require_writable
from logikern.cli.writing.render import print_hyperparameters, print_report
from logikern.cli.writing.scores import report_on

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
OF_TREES = ("level", "subtree")  # tyings
OF_LEARNING = ("criterion", "max_time", "checkpoint", "cv", "ard", "sharpen", "learn_bias", "n_starts")


def default_place(data: str) -> str:
    """Where the model goes if the user does not say: into this folder, under the name of the data."""
    if data == STANDARD:
        raise typer.BadParameter("standard input has no name: pass `--out`, the model file to write.")
    return f"{Path(data).name.removesuffix('.gz').rpartition('.')[0] or Path(data).name}.skops"


def check(given: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other, and places that cannot be written, before any work."""
    require_writable(given["out"])
    if given["checkpoint"] is not None:
        require_writable(given["checkpoint"])
        if Path(given["checkpoint"]).absolute() == Path(given["out"]).absolute():
            raise typer.BadParameter("`--checkpoint` and `--out` name the same file; give each its own.")
    check_hierarchy(given["hierarchy"])
    fraction = given["test_fraction"]
    if fraction is not None and not 0 < fraction < 1:
        raise typer.BadParameter(f"`--test-fraction` must lie between 0 and 1, but is {fraction:g}.")
    idle = [name for name in (*OF_LEARNING, "search_size") if given[name] not in (None, False)]
    idle += [f"no_{name}" for name in ("ard", "sharpen") if given[name] is False]
    if given["fixed"] and idle:
        options = name_list(f"--{name.replace('_', '-')}" for name in idle)
        raise typer.BadParameter(f"with `--fixed` nothing is learned: leave out {options}.")


def classifier(given: Mapping[str, Any], data_set: TrainingSet) -> Any:
    """The estimator that the options ask for."""
    settings = {name: _plain(given[name]) for name in (*ARGUMENTS, *OF_LEARNING)}
    if settings["tying"] in OF_TREES and data_set.tree is None:
        raise ValueError(f"`--tying {settings['tying']}` needs a tree of the classes: see `--hierarchy`.")
    settings |= {
        "hierarchy": data_set.tree,
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
    """Rows to fit on and rows to report on: every class in both, unless there is a tree, and no group in both."""
    if test_fraction is None:
        return data_set, None
    # A tree tells something about classes without rows: each need not be in both parts.
    everywhere = data_set.tree is None
    parts = (_by_rows if data_set.groups is None else _by_groups)(data_set, test_fraction, seed, everywhere)
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


def _by_rows(data_set: TrainingSet, test_fraction: float, seed: int, everywhere: bool) -> list[np.ndarray] | None:
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(data_set.labels))
    for strata in (data_set.labels,) if everywhere else (data_set.labels, None):
        with suppress(ValueError):  # a class is too rare
            return train_test_split(rows, test_size=test_fraction, random_state=seed, stratify=strata)
    return None


def _by_groups(
    data_set: TrainingSet, test_fraction: float, seed: int, everywhere: bool
) -> tuple[np.ndarray, ...] | None:
    from sklearn.model_selection import GroupShuffleSplit

    splitter = GroupShuffleSplit(TRIES, test_size=test_fraction, random_state=seed)
    n_classes = len(np.unique(data_set.labels))
    try:
        for parts in splitter.split(data_set.labels, groups=data_set.groups):
            if not everywhere or all(len(np.unique(data_set.labels[part])) == n_classes for part in parts):
                return parts
    except ValueError:  # too few groups
        pass
    return None


def fit_and_write(
    classifier: Any, kept: TrainingSet, held_out: TrainingSet | None, out: str, narrator: Narrator
) -> None:
    """Fit, write the model, say what was found, and report on the rows that were held out."""
    n_rows = len(kept.labels)
    n_classes = len(np.unique(kept.labels)) if kept.tree is None else kept.tree.n_classes
    model = classifier if kept.roles is None else build_pipeline(kept.roles, classifier, n_rows)
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
        print_report(report_on(model, held_out.X, held_out.labels))
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
