"""The work of `logikern fit`: from options and a training set to a model file."""

import json
import shlex
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import typer

from logikern.cli import options
from logikern.cli.models import (
    fit_model,
    new_classifier,
    new_multilabel_classifier,
    new_regressor,
    new_sequence_classifier,
)
from logikern.cli.preprocessing import STANDARD, build_model, final_step
from logikern.cli.reading import sources
from logikern.cli.reading.cells import count, name_list
from logikern.cli.reading.hierarchy import check_hierarchy
from logikern.cli.reading.label_columns import LABELS
from logikern.cli.reading.labelled import TARGET
from logikern.cli.reading.labels import parse_class_weight
from logikern.cli.reading.sequences import SEQUENCE, require_several
from logikern.cli.reading.training import TrainingSet
from logikern.cli.session.exits import ExitCode
from logikern.cli.session.interruption import Interruption, interrupts_to
from logikern.cli.session.messages import Messages
from logikern.cli.session.progress import show_progress
from logikern.cli.session.wording import spell
from logikern.cli.writing.description import hyperparameters
from logikern.cli.writing.outputs import require_writable
from logikern.cli.writing.render import LIMITS, print_hyperparameters, print_report
from logikern.cli.writing.scores import report_on
from logikern.model.persistence import write_model

MAX_SPLITS = 50  # random splits by groups, until one has every class in both parts
SUFFIX = ".skops"  # of model files
FILES = ("data", "out", "checkpoint", "hierarchy")
TREE_TYINGS = ("level", "subtree", "leaf", "leaves")
SEQUENCE_TYINGS = ("shared", "scaled", "separate")
NOT_FOR_SEQUENCES = (
    *("regression", "groups", "drop_missing_target", "hierarchy", "class_weight", "ard", "sharpen", "learn_bias"),
    *("n_starts", "solver", "operator", "memory_limit"),
)
NOT_FOR_LABELS = ("class_weight", "sharpen", "learn_bias", "n_starts")


def default_path(data: str) -> str:
    """The default model file: the name of the data in the current folder."""
    if data == sources.STANDARD:
        raise typer.BadParameter("standard input has no file name: pass one as `--out`.")
    return f"{Path(data).name.removesuffix('.gz').rpartition('.')[0] or Path(data).name}{SUFFIX}"


def check(
    out: str,
    columns: options.Columns,
    model: options.Model,
    learning: options.Learning,
    test_fraction: float | None,
) -> None:
    """Reject contradictory options and paths that cannot be written, before any work."""
    if Path(out).suffix != SUFFIX:
        raise typer.BadParameter(
            f"`--out` must end with {SUFFIX}, but is {out!r}. "
            f"Pass `--out {shlex.quote(str(Path(out).parent / (Path(out).stem + SUFFIX)))}`."
        )
    require_writable(out)
    if learning.checkpoint is not None:
        from logikern.estimators._checkpoint import is_folder

        if not is_folder(learning.checkpoint):  # a new folder is created with its parents
            require_writable(learning.checkpoint)
        if Path(learning.checkpoint).absolute() == Path(out).absolute():
            raise typer.BadParameter("`--checkpoint` and `--out` name the same file. Pass two files.")
    check_hierarchy(columns.hierarchy)
    if test_fraction is not None and not 0 < test_fraction < 1:
        raise typer.BadParameter(f"`--test-fraction` must lie between 0 and 1, but is {test_fraction:g}.")
    idle = [name for name, value in vars(learning).items() if value != vars(options.Learning())[name]]
    if learning.fixed and idle != ["fixed"]:
        given = name_list(spell(name, vars(learning)[name]) for name in idle if name != "fixed")
        raise typer.BadParameter(f"with `--fixed` nothing is learned: remove {given}.")
    if columns.regression:
        _check_regression(columns, model, learning)


def _check_regression(columns: options.Columns, model: options.Model, learning: options.Learning) -> None:
    """Reject options of classifiers."""
    only = {
        "--hierarchy": columns.hierarchy != options.Columns().hierarchy,
        "--tying": model.tying is not None,
        "--class-weight": model.class_weight is not None,
        spell("sharpen", learning.sharpen): learning.sharpen is not None,
    }
    if any(only.values()):
        given = name_list(option for option, is_given in only.items() if is_given)
        raise typer.BadParameter(f"`--regression` predicts a number, not a class: remove {given}.")
    if model.kernel == options.KernelName.auto:
        raise typer.BadParameter("`--kernel auto` is for classification. With `--regression`, name a kernel.")
    if learning.criterion == options.CriterionName.auto:
        raise typer.BadParameter(
            "`--criterion auto` is for classification. With `--regression`, pass loo (default) or cv."
        )


def check_sequence_options(
    columns: options.Columns, model: options.Model, learning: options.Learning, computation: options.Computation
) -> None:
    """Reject options that sequence models do not have, or sequence options without `--sequence`."""
    if columns.sequence is None:
        if model.window is not None:
            raise typer.BadParameter("`--window` needs `--sequence COL`: pass both, or remove `--window`.")
        return
    given = [
        spell(name, vars(record)[name])
        for record in (columns, model, learning, computation)
        for name in vars(record)
        if name in NOT_FOR_SEQUENCES and vars(record)[name] != vars(type(record)())[name]
    ]
    if given:
        raise typer.BadParameter(f"`--sequence` cannot be combined with {name_list(given)}: remove one or the other.")
    if model.tying is not None and model.tying not in SEQUENCE_TYINGS:
        allowed = ", ".join(SEQUENCE_TYINGS)
        raise typer.BadParameter(f"with `--sequence`, `--tying` must be one of {allowed}, but is {model.tying}.")
    if learning.criterion not in (None, options.CriterionName.cv):
        raise typer.BadParameter(f"with `--sequence`, `--criterion` must be cv, but is {learning.criterion}.")


def check_label_options(columns: options.Columns, model: options.Model, learning: options.Learning) -> None:
    """Reject options that multilabel models do not have."""
    given = vars(model) | vars(learning)
    usual = vars(options.Model()) | vars(options.Learning())
    idle = [spell(name, given[name]) for name in NOT_FOR_LABELS if given[name] != usual[name]]
    if columns.label and (columns.regression or columns.sequence is not None):
        raise typer.BadParameter(
            "`--label` cannot be combined with `--regression` or `--sequence`: remove one or the other."
        )
    if columns.label and idle:
        raise typer.BadParameter(f"`--label` cannot be combined with {name_list(idle)}: remove one or the other.")


def notes_on(context: typer.Context) -> dict[str, str]:
    """What a model file keeps about its fit: the target, and the command with file names without folders."""
    words = ["logikern", "fit"]
    for parameter in context.command.params:
        name = parameter.name or ""
        if _is_given(context, name):
            value = context.params[name]
            words += _as_words(parameter, Path(value).name if name in FILES else value)
    columns = {name: context.params[name] for name in (TARGET, SEQUENCE)}
    notes = {"command": shlex.join(words)} | {name: column for name, column in columns.items() if column is not None}
    return notes | ({LABELS: json.dumps(context.params["label"])} if context.params["label"] else {})


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE" and name not in ("quiet", "traceback")


def _as_words(parameter: Any, value: Any) -> list[str]:
    """An argument or option as words of a command."""
    if parameter.param_type_name == "argument":
        return [str(value)]
    if isinstance(value, bool):
        return [parameter.opts[0] if value else parameter.secondary_opts[0]]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for own in values for word in (parameter.opts[0], str(own))]


def estimator(
    model: options.Model, learning: options.Learning, computation: options.Computation, data_set: TrainingSet
) -> Any:
    """The estimator with the given options, most of which are its arguments."""
    if model.tying in TREE_TYINGS and (data_set.tree is None or data_set.label_names):
        raise ValueError(f"`--tying {model.tying}` needs a class tree: pass `--hierarchy`.")
    # The search of a classifier decides on the scale of inputs.
    is_standard = learning.fixed or data_set.is_numeric
    given = vars(model) | vars(learning) | vars(computation)
    settings = {name: _plain(value) for name, value in given.items() if name not in ("fixed", "seed")}
    if data_set.sequences is not None:
        if not learning.fixed:
            require_several(data_set.sequences)
        return _sequence_classifier(settings, learning, computation, data_set)
    del settings["window"]
    settings |= {
        "kernel": settings["kernel"] or data_set.kernel,
        "categorical_features": list(data_set.categorical) or None,
        "inputs": STANDARD if is_standard and data_set.roles is not None else None,
        "search_size": _search_size(learning.search_size, len(data_set.labels)),
        "random_state": computation.seed,
        "on_interrupt": "keep",
    }
    if data_set.is_numeric:
        return new_regressor(settings, learning.fixed)
    if data_set.label_names:
        own = {name: value for name, value in settings.items() if name not in NOT_FOR_LABELS}
        return new_multilabel_classifier(own | {"hierarchy": data_set.tree}, learning.fixed)
    weights = parse_class_weight(model.class_weight, data_set.labels)
    return new_classifier(settings | {"hierarchy": data_set.tree, "class_weight": weights}, learning.fixed)


def _sequence_classifier(
    settings: dict[str, Any], learning: options.Learning, computation: options.Computation, data_set: TrainingSet
) -> Any:
    """The estimator of sequences; the scale of inputs is not part of its search."""
    own = {name: value for name, value in settings.items() if name not in NOT_FOR_SEQUENCES}
    own |= {
        "kernel": settings["kernel"] or data_set.kernel,
        "categorical_features": list(data_set.categorical) or None,
        "inputs": STANDARD,
        "search_size": _search_size(learning.search_size, len(data_set.labels)),
        "random_state": computation.seed,
        "on_interrupt": "keep",
    }
    return new_sequence_classifier(own, learning.fixed)


def _plain(value: Any) -> Any:
    """The text of an Enum member, because model files cannot contain Enums."""
    return value.value if isinstance(value, StrEnum) else value


def _search_size(text: str | None, n_rows: int) -> int | None:
    if text is None:
        return None
    if text == "all":
        return max(n_rows, 10)
    if not text.isdecimal():
        raise typer.BadParameter(f"`--search-size` must be an integer or 'all', but is {text!r}.")
    return int(text)


def split(data_set: TrainingSet, test_fraction: float | None, seed: int) -> tuple[TrainingSet, TrainingSet | None]:
    """Training and test rows. Each class is in both parts, unless there is a tree; each group is in one part only."""
    if test_fraction is None:
        return data_set, None
    # With a tree, classes without rows are allowed.
    everywhere = data_set.tree is None and not data_set.is_numeric and not data_set.label_names
    parts = (_by_rows if data_set.groups is None else _by_groups)(data_set, test_fraction, seed, everywhere)
    if parts is None and data_set.is_numeric:
        raise ValueError(
            f"`--test-fraction {test_fraction:g}` of {len(data_set.labels)} rows leaves one part empty"
            f"{'' if data_set.groups is None else ', because groups stay together'}. Choose another fraction."
        )
    if parts is None:
        rarest = min(np.unique(data_set.labels, return_counts=True)[1])
        raise ValueError(
            f"`--test-fraction {test_fraction:g}` of {len(data_set.labels)} rows cannot put every class into both "
            f"the training and the test part: the rarest class has {count(int(rarest), 'row')}"
            f"{'' if data_set.groups is None else ', and groups stay together'}. "
            "Choose another fraction, or drop rare classes."
        )
    kept, held_out = parts
    return data_set.take(np.sort(kept)), data_set.take(np.sort(held_out))


def _by_rows(data_set: TrainingSet, test_fraction: float, seed: int, everywhere: bool) -> list[np.ndarray] | None:
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(data_set.labels))
    by_class, by_chance = [data_set.labels] * (not data_set.is_numeric), [None] * (not everywhere)
    for strata in (*by_class, *by_chance):
        with suppress(ValueError):  # a class is too rare
            return train_test_split(rows, test_size=test_fraction, random_state=seed, stratify=strata)
    return None


def _by_groups(
    data_set: TrainingSet, test_fraction: float, seed: int, everywhere: bool
) -> tuple[np.ndarray, ...] | None:
    from sklearn.model_selection import GroupShuffleSplit

    splitter = GroupShuffleSplit(MAX_SPLITS, test_size=test_fraction, random_state=seed)
    n_classes = len(np.unique(data_set.labels))
    try:
        for parts in splitter.split(data_set.labels, groups=data_set.groups):
            if not everywhere or all(len(np.unique(data_set.labels[part])) == n_classes for part in parts):
                return parts
    except ValueError:  # too few groups
        pass
    return None


def fit_and_write(
    unfitted: Any,
    kept: TrainingSet,
    held_out: TrainingSet | None,
    out: str,
    notes: Mapping[str, str],
    messages: Messages,
) -> None:
    """Fit, write the model with notes, summarise the search, and score the held-out rows."""
    n_rows = len(kept.labels)
    model = unfitted if kept.roles is None else build_model(kept.roles, unfitted, n_rows)
    task = f"fit on {n_rows} rows{_in_sequences(kept)}{_classes(kept)}"
    interruption = Interruption()
    # Without a search there is no best result so far, so Ctrl-C ends the command.
    caught = nullcontext() if unfitted.criterion is None else interrupts_to(interruption.receive)
    with show_progress(messages, task, interruption, unfitted.max_time), caught:
        report = fit_model(model, kept.X, kept.targets, kept.weights, kept.groups)
    for message in report.warnings:
        messages.warn(message)
    write_model(report.model, out, notes)
    _summarise(model, report.outcome, messages)
    messages.info(f"wrote {out} ({Path(out).stat().st_size / 1024:.0f} kB)")
    if held_out is not None:
        messages.info(f"scores on {len(held_out.labels)} held-out rows{_in_sequences(held_out)}:")
        print_report(report_on(model, held_out.X, held_out.labels, held_out.sequences))
    if interruption.honoured or not report.converged:
        raise typer.Exit(int(ExitCode.NOT_CONVERGED))


def _classes(data_set: TrainingSet) -> str:
    """The number of classes or labels, in words."""
    if data_set.is_numeric:
        return ""
    if data_set.label_names:
        return f", {len(data_set.label_names)} labels"
    n_classes = len(np.unique(data_set.labels)) if data_set.tree is None else data_set.tree.n_classes
    return f", {n_classes} classes"


def _in_sequences(data_set: TrainingSet) -> str:
    """The number of sequences, in words."""
    return "" if data_set.sequences is None else f" in {count(len(np.unique(data_set.sequences)), 'sequence')}"


def _summarise(model: Any, outcome: str, messages: Messages) -> None:
    estimator = final_step(model)
    messages.info(f"outcome: {outcome}" if estimator.criterion is None else estimator.explain())
    if not messages.quiet:
        print_hyperparameters(hyperparameters(model), LIMITS.hyperparameters, stderr=True)
