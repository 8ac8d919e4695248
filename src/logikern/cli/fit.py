"""`logikern fit`: a table in, a model file out."""

from pathlib import Path
from typing import Any

import numpy as np
import typer

from logikern.cli import fitting_options as own
from logikern.cli import options
from logikern.cli.cells import count
from logikern.cli.exits import ExitCode, ends_cleanly
from logikern.cli.labels import parse_class_weight
from logikern.cli.models import fit_model, new_classifier, save_model
from logikern.cli.narration import Narrator
from logikern.cli.outputs import require_writable
from logikern.cli.preprocessing import build_pipeline
from logikern.cli.render import print_scores
from logikern.cli.scores import score
from logikern.cli.sources import Reading
from logikern.cli.training import Columns, TrainingSet, read_training_set

EXAMPLES = """
Fit a kernel softmax classifier and write it, with its preprocessing, to a file.

Numeric columns are imputed and standardised, other columns become one input per
level, `--text` columns tf-idf. Hyperparameters are learned unless --fixed.

Examples:

  logikern fit iris.csv --target species --out iris.skops

  logikern fit reviews.parquet -t stars --text review -o reviews.skops

  logikern fit loans.csv -t repaid --ignore id --test-fraction 0.2 -o loans.skops

  cat big.csv | logikern fit - --format csv -t y -o big.skops

Exit codes: 0 fitted, 1 refused, 2 wrong usage, 3 written but not converged, 130 interrupted.
"""


@ends_cleanly
def fit(
    data: options.DataArgument,
    out: own.OutOption,
    target: own.TargetOption = None,
    text: own.TextOption = None,
    categorical: own.CategoricalOption = None,
    ignore: own.IgnoreOption = None,
    weight: own.WeightOption = None,
    drop_missing_target: own.DropOption = False,
    kernel: own.KernelOption = None,
    tying: own.TyingOption = None,
    fixed: own.FixedOption = False,
    rate: own.RateOption = None,
    variance: own.VarianceOption = None,
    bias_variance: own.BiasVarianceOption = None,
    class_weight: own.ClassWeightOption = None,
    solver: own.SolverOption = None,
    operator: own.OperatorOption = None,
    memory_limit: own.MemoryLimitOption = None,
    seed: own.SeedOption = 0,
    test_fraction: own.TestFractionOption = None,
    format: options.FormatOption = None,
    encoding: options.EncodingOption = None,
    separator: options.SeparatorOption = None,
    zero_based: options.ZeroBasedOption = False,
    quiet: options.QuietOption = False,
) -> None:
    narrator = Narrator(quiet)
    require_writable(out)
    if test_fraction is not None and not 0 < test_fraction < 1:
        raise typer.BadParameter(f"`--test-fraction` must lie between 0 and 1, but is {test_fraction:g}.")
    columns = Columns(
        target, weight, tuple(text or ()), tuple(categorical or ()), tuple(ignore or ()), drop_missing_target
    )
    reading = Reading(format.value if format else None, encoding, separator, zero_based)
    data_set = read_training_set(data, reading, columns, narrator)
    settings = {
        "kernel": kernel.value if kernel else data_set.kernel,
        "tying": tying.value if tying else None,
        "rate": rate,
        "variance": variance,
        "bias_variance": bias_variance,
        "class_weight": parse_class_weight(class_weight, data_set.labels),
        "solver": solver,
        "operator": operator.value if operator else None,
        "memory_limit": memory_limit,
        "random_state": seed,
    }
    kept, held_out = split(data_set, test_fraction, seed)
    fit_and_write(new_classifier(settings, fixed), kept, held_out, out, narrator)


fit.__doc__ = EXAMPLES


def split(
    data_set: TrainingSet, test_fraction: float | None, seed: int
) -> tuple[TrainingSet, TrainingSet | None]:
    """Rows to fit on and rows to report on, every class in both."""
    if test_fraction is None:
        return data_set, None
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(data_set.labels))
    try:
        kept, held_out = train_test_split(
            rows, test_size=test_fraction, random_state=seed, stratify=data_set.labels
        )
    except ValueError:
        rarest = min(np.unique(data_set.labels, return_counts=True)[1])
        raise ValueError(
            f"`--test-fraction {test_fraction:g}` of {len(rows)} rows cannot have every class in both parts: "
            f"the rarest has {count(int(rarest), 'row')}. Choose another fraction, or leave rare classes out."
        ) from None
    return data_set.take(np.sort(kept)), data_set.take(np.sort(held_out))


def fit_and_write(
    classifier: Any, kept: TrainingSet, held_out: TrainingSet | None, out: str, narrator: Narrator
) -> None:
    """Fit, write the model, and report on the rows that were held out."""
    model = classifier if kept.roles is None else build_pipeline(kept.roles, classifier)
    n_rows, n_classes = len(kept.labels), len(np.unique(kept.labels))
    with narrator.working(f"fit on {n_rows} rows, {n_classes} classes", classifier):
        report = fit_model(model, kept.X, kept.labels, kept.weights)
    for message in report.warnings:
        narrator.warn(message)
    save_model(report.model, out)
    narrator.say(f"outcome: {report.outcome}")
    narrator.say(f"wrote {out} ({Path(out).stat().st_size / 1024:.0f} kB)")
    if held_out is not None:
        narrator.say(f"scores on {len(held_out.labels)} rows that the model has not seen:")
        print_scores(score(model.predict_log_proba(held_out.X), held_out.labels, model.classes_))
    if not report.converged:
        raise typer.Exit(int(ExitCode.NOT_CONVERGED))
