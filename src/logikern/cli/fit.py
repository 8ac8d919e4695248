"""`logikern fit`: a table in, a model file out."""

import typer

from logikern.cli import fitting_options as own
from logikern.cli import options
from logikern.cli.reading.sources import Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.narration import Narrator

EXAMPLES = """
Fit a kernel softmax classifier and write it, with its preprocessing, to a file.

Numeric columns are imputed and standardised, other columns become one input per
level, `--text` columns tf-idf. Classes may be the leaves of a tree. Hyperparameters are learned unless --fixed.

Ctrl-C ends the search and writes the best model so far; a second one aborts.

Examples:

  logikern fit iris.csv --target species --out iris.skops

  logikern fit reviews.parquet -t stars --text review -o reviews.skops

  logikern fit docs.jsonl -t path --text body --hierarchy auto

  logikern fit loans.csv -t repaid --ignore id --test-fraction 0.2 -o loans.skops

  logikern fit big.csv -t y --max-time 600 --checkpoint big.search -o big.skops

  cat big.csv | logikern fit - --format csv -t y -o big.skops

Exit codes: 0 fitted, 1 refused, 2 wrong usage, 3 written but not converged or interrupted, 130 aborted.
"""


# Options of the estimator's own arguments are read from the context: see `fitting.ARGUMENTS`.
@ends_cleanly
def fit(
    context: typer.Context,
    data: options.DataArgument,
    out: own.OutOption = None,
    target: own.TargetOption = None,
    text: own.TextOption = None,
    categorical: own.CategoricalOption = None,
    ignore: own.IgnoreOption = None,
    weight: own.WeightOption = None,
    groups: own.GroupsOption = None,
    drop_missing_target: own.DropOption = False,
    hierarchy: own.HierarchyOption = "none",
    kernel: own.KernelOption = None,
    tying: own.TyingOption = None,
    rate: own.RateOption = None,
    variance: own.VarianceOption = None,
    bias_variance: own.BiasVarianceOption = None,
    class_weight: own.ClassWeightOption = None,
    fixed: own.FixedOption = False,
    criterion: own.CriterionOption = None,
    max_time: own.MaxTimeOption = None,
    checkpoint: own.CheckpointOption = None,
    cv: own.FoldsOption = None,
    ard: own.RelevanceOption = None,
    sharpen: own.SharpenOption = None,
    learn_bias: own.LearnBiasOption = False,
    search_size: own.SearchSizeOption = None,
    n_starts: own.StartsOption = None,
    solver: own.SolverOption = None,
    operator: own.OperatorOption = None,
    precision: own.PrecisionOption = None,
    n_jobs: own.JobsOption = None,
    memory_limit: own.MemoryLimitOption = None,
    seed: own.SeedOption = 0,
    test_fraction: own.TestFractionOption = None,
    format: options.FormatOption = None,
    encoding: options.EncodingOption = None,
    separator: options.SeparatorOption = None,
    zero_based: options.ZeroBasedOption = False,
    quiet: options.QuietOption = False,
) -> None:
    from logikern.cli import fitting
    from logikern.cli.reading import training

    narrator = Narrator(quiet)
    place = out or fitting.default_place(data)
    fitting.check({**context.params, "out": place})
    columns = training.Columns(
        target,
        weight,
        groups,
        tuple(text or ()),
        tuple(categorical or ()),
        tuple(ignore or ()),
        drop_missing_target,
        hierarchy,
    )
    reading = Reading(format.value if format else None, encoding, separator, zero_based)
    data_set = training.read_training_set(data, reading, columns, narrator)
    classifier = fitting.classifier(context.params, data_set)
    kept, held_out = fitting.split(data_set, test_fraction, seed)
    fitting.fit_and_write(classifier, kept, held_out, place, narrator)


fit.__doc__ = EXAMPLES
