"""`logikern fit`: a table in, a model file out."""

from functools import partial
from typing import Annotated

import typer

from logikern.cli import options
from logikern.cli.reading.sources import Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Fit a kernel softmax classifier and write it, with its preprocessing, to a file.

Numeric columns are imputed and standardised, other columns become one input per level, and `--text` columns become
tf-idf. Classes may be the leaves of a tree. Hyperparameters are learned, unless --fixed is given.

Ctrl-C ends the search and writes the best model so far; a second Ctrl-C aborts.

Examples:

  logikern fit iris.csv --target species --out iris.skops

  logikern fit reviews.parquet -t stars --text review -o reviews.skops

  logikern fit docs.jsonl -t path --text body --hierarchy auto

  logikern fit loans.csv -t repaid --ignore id --test-fraction 0.2 -o loans.skops

  logikern fit big.csv -t y --max-time 600 --checkpoint big.search -o big.skops

  cat big.csv | logikern fit - --format csv -t y -o big.skops

Exit codes: 0 fitted; 1 invalid data or setting; 2 wrong usage; 3 model written, but the fit did not converge or
the search was interrupted; 130 aborted.
"""

_column = partial(typer.Option, metavar="COL", rich_help_panel="Columns")
_model = partial(typer.Option, rich_help_panel="Model")
_learning = partial(typer.Option, rich_help_panel="Learning")
_computation = partial(typer.Option, rich_help_panel="Computation")


# `fitting.classifier` reads the options that are arguments of the estimator from the context.
@ends_cleanly
def fit(
    context: typer.Context,
    data: options.DataArgument,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Model file to write (default: DATA with the suffix .skops).")
    ] = None,
    target: options.TargetOption = None,
    text: Annotated[
        list[str] | None, _column("--text", help="Text column: tf-idf and a linear kernel. Repeatable.")
    ] = None,
    categorical: Annotated[
        list[str] | None, _column("--categorical", help="Treat numbers as categories. Repeatable.")
    ] = None,
    ignore: Annotated[list[str] | None, _column("--ignore", help="Drop a column. Repeatable.")] = None,
    weight: Annotated[str | None, _column("--weight", help="Weights of the rows.")] = None,
    groups: Annotated[
        str | None,
        _column("--groups", help="Hold out rows of one group (patient, document) together; not an input."),
    ] = None,
    drop_missing_target: Annotated[
        bool,
        typer.Option("--drop-missing-target", help="Drop rows without a target.", rich_help_panel="Columns"),
    ] = False,
    hierarchy: Annotated[
        str,
        _model(
            "--hierarchy",
            metavar="auto|none|FILE",
            help="Class tree: from targets such as 'science/physics', or from a file with child and parent.",
        ),
    ] = "none",
    kernel: Annotated[
        options.KernelName | None,
        _model(
            "--kernel",
            **options.one_of(options.KernelName) | {"metavar": "NAME"},
            help=f"{', '.join(options.KernelName)} (default: auto; linear for text and wide svmlight).",
        ),
    ] = None,
    tying: Annotated[
        options.Tying | None,
        _model(
            "--tying",
            **options.one_of(options.Tying),
            help="How classes share kernels; level, subtree, leaf and leaves are for trees.",
        ),
    ] = None,
    rate: Annotated[float | None, _model("--rate", help="Inverse squared length scale of the kernel.")] = None,
    variance: Annotated[float | None, _model("--variance", help="Prior variance of the latent functions.")] = None,
    bias_variance: Annotated[
        float | None, _model("--bias-variance", help="Prior variance of the class biases.")
    ] = None,
    class_weight: Annotated[str | None, _model("--class-weight", help="'balanced' or LABEL=WEIGHT,...")] = None,
    fixed: Annotated[
        bool, _learning("--fixed", help="Learn no hyperparameters; use given values or estimates from the data.")
    ] = False,
    criterion: Annotated[
        options.CriterionName | None,
        _learning(
            "--criterion",
            **options.one_of(options.CriterionName),
            help="Cross-validation, leave-one-out, or the cheaper of the two (default: cv).",
        ),
    ] = None,
    max_time: Annotated[
        float | None,
        _learning("--max-time", metavar="SECONDS", help="Stop the search early and use the best result."),
    ] = None,
    checkpoint: Annotated[
        str | None, _learning("--checkpoint", metavar="PATH", help="Save the search; a killed fit resumes from it.")
    ] = None,
    cv: Annotated[
        int | None, _learning("--cv", metavar="N", help="Number of cross-validation folds (default: 5).")
    ] = None,
    ard: Annotated[
        bool | None, _learning("--ard/--no-ard", help="One rate per input (default: if it helps).")
    ] = None,
    sharpen: Annotated[
        bool | None,
        _learning("--sharpen/--no-sharpen", help="Learn a temperature for the probabilities (default: for text)."),
    ] = None,
    learn_bias: Annotated[bool, _learning("--learn-bias", help="Also learn the variance of the biases.")] = False,
    search_size: Annotated[
        str | None,
        _learning(
            "--search-size", metavar="N", help="Maximum number of rows in the search, or 'all' (default: 2000)."
        ),
    ] = None,
    n_starts: Annotated[
        int | None, _learning("--n-starts", help="Number of starting points of the search (default: 1).")
    ] = None,
    solver: Annotated[str | None, _computation("--solver", help="auto, newton, exact, kcg or smo.")] = None,
    operator: Annotated[
        options.OperatorName | None,
        _computation("--operator", **options.one_of(options.OperatorName), help="How kernel products are computed."),
    ] = None,
    precision: Annotated[
        options.Precision | None,
        _computation("--precision", **options.one_of(options.Precision), help="Precision of kernel products."),
    ] = None,
    n_jobs: Annotated[
        int | None, _computation("--n-jobs", help="Maximum number of threads (default: the number BLAS may use).")
    ] = None,
    memory_limit: Annotated[
        str | None, _computation("--memory-limit", help="Maximum memory, for example 1GB.")
    ] = None,
    seed: Annotated[int, _computation("--seed", help="Seed of all random choices.")] = 0,
    test_fraction: Annotated[
        float | None, typer.Option("--test-fraction", help="Hold out this share of the rows and report scores on it.")
    ] = None,
    format: options.FormatOption = None,
    encoding: options.EncodingOption = None,
    separator: options.SeparatorOption = None,
    zero_based: options.ZeroBasedOption = False,
    quiet: options.QuietOption = False,
) -> None:
    from logikern.cli import fitting
    from logikern.cli.reading import training

    messages = Messages(quiet)
    path = out or fitting.default_path(data)
    fitting.check({**context.params, "out": path})
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
    data_set = training.read_training_set(data, reading, columns, messages)
    classifier = fitting.classifier(context.params, data_set)
    kept, held_out = fitting.split(data_set, test_fraction, seed)
    fitting.fit_and_write(classifier, kept, held_out, path, fitting.notes_on(context), messages)


fit.__doc__ = HELP
