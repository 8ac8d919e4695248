"""The arguments and options of the commands, each declared once.

A record is a group of options, one for each of its fields: see `session/grouping`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

# Spelled out, because help must not import numpy; a test compares them with the library's own tables.
KernelName = StrEnum(
    "KernelName",
    "auto gaussian gaussian_laplacian matern12 matern32 matern52 rational_quadratic laplacian linear polynomial",
)
OperatorName = StrEnum("OperatorName", "auto dense tiled features sparse fourier fast neighbourhoods")
Precision = StrEnum("Precision", "auto single double")
CriterionName = StrEnum("CriterionName", "cv loo auto")
Format = StrEnum("Format", "csv tsv parquet jsonl svmlight")
Tying = StrEnum("Tying", "auto shared scaled separate level subtree leaf leaves")
Decimal = StrEnum("Decimal", {"point": ".", "comma": ","})
Loss = StrEnum("Loss", "zero_one taxonomic parent hamming subset f1")


def one_of(names: type[StrEnum]) -> dict[str, Any]:
    """Settings of an option that accepts one of the names; errors suggest a similar name."""

    def parse(text: str) -> StrEnum:
        if text in list(names):
            return names(text)
        from logikern.estimators._inputs.arguments import suggest

        known = ", ".join(repr(name.value) for name in names)
        raise typer.BadParameter(f"{text!r} is not one of {known}.{suggest(text, names)}")

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return {"parser": parse, "metavar": f"[{'|'.join(names)}]", "autocompletion": complete}


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, JSON lines or svmlight file (by its suffix; text may be gzipped), or '-' for "
        "standard input.",
    ),
]
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by `logikern fit`.")]
TargetOption = Annotated[str | None, typer.Option("--target", "-t", metavar="COL", help="Column to predict.")]
KnownTargetOption = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COL", help="Column of the true values (default: as in the fit)."),
]
KnownSequenceOption = Annotated[
    str | None,
    typer.Option(
        "--sequence",
        metavar="COL",
        help="Column with the identifier of each row's sequence (default: as in the fit).",
    ),
]
OptionalDataArgument = Annotated[
    str | None, typer.Argument(metavar="[DATA]", help="The table that the model was fitted on.")
]
DROP_HELP = "Drop rows without a target, or with a missing value in a label column."
DropOption = Annotated[bool, typer.Option("--drop-missing-target", help=DROP_HELP)]
KeepOption = Annotated[
    list[str] | None, typer.Option("--keep", metavar="COL", help="Copy a column to the output. Repeatable.")
]
TableOption = Annotated[
    str,
    typer.Option(
        "--out", "-o", help="Output file: CSV, TSV, Parquet or JSON lines, by its suffix; or '-' for standard output."
    ),
]
ModelFileOption = Annotated[
    str | None,
    typer.Option("--out", "-o", help="Model file to write, with the suffix .skops (default: the name of DATA)."),
]
PageOption = Annotated[
    str | None, typer.Option("--out", "-o", help="Page to write (default: MODEL with the suffix .html).")
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", **one_of(Format), help="Format of DATA (default: by its suffix).")
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of text, for example latin-1 (default: utf-8).")
]
SeparatorOption = Annotated[str | None, typer.Option("--separator", help="CSV column separator, for example ';'.")]
DecimalOption = Annotated[
    Decimal | None,
    typer.Option(
        "--decimal",
        **one_of(Decimal),
        help="Decimal mark in CSV files (default: ',' if the data clearly use it, else '.').",
    ),
]
ZeroBasedOption = Annotated[bool, typer.Option("--zero-based", help="Feature indices in svmlight files start at 0.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show only warnings and errors.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")]
NumberOption = Annotated[int, typer.Option("--number", "-n", min=1, help="Maximum number of rows to list.")]
ReportOption = Annotated[
    str | None, typer.Option("--report", metavar="FILE", help="Also write a report as an HTML page.")
]
TestFractionOption = Annotated[
    float | None, typer.Option("--test-fraction", help="Hold out this share of the rows and report scores on it.")
]
TreeLossOption = Annotated[
    Loss | None,
    typer.Option(
        "--loss",
        **one_of(Loss),
        help="Loss to minimise: on a class tree (default: zero_one), or for a multilabel model (default: hamming).",
    ),
]
InnerNodeOption = Annotated[
    bool,
    typer.Option(
        "--allow-inner",
        help="Allow inner nodes of the class tree as predictions: choose one if its expected taxonomic loss is "
        "smaller than that of every leaf.",
    ),
]

_columns = partial(typer.Option, rich_help_panel="Columns")
_model = partial(typer.Option, rich_help_panel="Model")
_learning = partial(typer.Option, rich_help_panel="Learning")
_computation = partial(typer.Option, rich_help_panel="Computation")


@dataclass(frozen=True)
class Rule:
    """How to decide."""

    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="FILE",
            help="Table of losses, or the name of a loss (default: zero_one, which is 1 for each error).",
        ),
    ] = None
    reject_cost: Annotated[
        float | None, typer.Option("--reject-cost", metavar="COST", help="Cost of rejecting a row.")
    ] = None
    reject_label: Annotated[str, typer.Option("--reject-label", help="What to write for rejected rows.")] = "rejected"
    allow_inner: Annotated[
        bool, typer.Option("--allow-inner", help="Allow inner nodes of a class tree as decisions.")
    ] = False


@dataclass(frozen=True)
class Columns:
    """The columns that the user named, the source of the class tree, and whether the target is a number."""

    target: TargetOption = None
    label: Annotated[
        list[str],
        _columns(
            "--label",
            metavar="COL",
            help="For multilabel data, instead of --target: column that says whether a row has this label (0/1, "
            "no/yes or false/true). Repeatable.",
        ),
    ] = field(default_factory=list)
    sequence: Annotated[
        str | None,
        _columns(
            "--sequence",
            metavar="COL",
            help="Column with the identifier of each row's sequence (sentence, signal). Each sequence is labelled as "
            "a whole, so its rows must be in their original order.",
        ),
    ] = None
    text: Annotated[
        list[str],
        _columns(
            "--text",
            metavar="COL",
            help="Treat a column as text: convert it to tf-idf features and use a linear kernel. Repeatable.",
        ),
    ] = field(default_factory=list)
    categorical: Annotated[
        list[str],
        _columns("--categorical", metavar="COL", help="Treat a column of numbers as categories. Repeatable."),
    ] = field(default_factory=list)
    ignore: Annotated[list[str], _columns("--ignore", metavar="COL", help="Drop a column. Repeatable.")] = field(
        default_factory=list
    )
    weight: Annotated[str | None, _columns("--weight", metavar="COL", help="Column of row weights.")] = None
    groups: Annotated[
        str | None,
        _columns(
            "--groups",
            metavar="COL",
            help="Column of groups (patients, documents). Rows of a group are held out together; the column is not "
            "an input.",
        ),
    ] = None
    drop_missing_target: Annotated[bool, _columns("--drop-missing-target", help=DROP_HELP)] = False
    hierarchy: Annotated[
        str,
        _model(
            "--hierarchy",
            metavar="auto|none|FILE",
            help="Class tree: from targets such as 'science/physics', or from a file with columns child and parent.",
        ),
    ] = "none"
    regression: Annotated[
        bool, _model("--regression", help="Predict the target as a number, by penalised least squares.")
    ] = False


@dataclass(frozen=True)
class Model:
    """Arguments of the estimator that describe the model; None is the estimator's default."""

    kernel: Annotated[
        KernelName | None,
        _model(
            "--kernel",
            **one_of(KernelName) | {"metavar": "NAME"},
            help=f"Kernel: {', '.join(KernelName)} (default: auto; gaussian for regression; linear for text, and for "
            "svmlight files with many features that are mostly zero).",
        ),
    ] = None
    tying: Annotated[
        Tying | None,
        _model(
            "--tying",
            **one_of(Tying),
            help="How classes share kernels; level, subtree, leaf and leaves are for trees.",
        ),
    ] = None
    rate: Annotated[float | None, _model("--rate", help="Inverse squared length scale of the kernel.")] = None
    variance: Annotated[float | None, _model("--variance", help="Prior variance of the latent functions.")] = None
    bias_variance: Annotated[float | None, _model("--bias-variance", help="Prior variance of the class biases.")] = (
        None
    )
    class_weight: Annotated[
        str | None, _model("--class-weight", help="Class weights: 'balanced' or LABEL=WEIGHT,...")
    ] = None
    window: Annotated[
        int | None,
        _model(
            "--window", min=0, metavar="N", help="With --sequence: also use the inputs of N neighbours on each side."
        ),
    ] = None


@dataclass(frozen=True)
class Learning:
    """Whether hyperparameters are learned, and arguments of the search, which have no effect if `fixed`."""

    fixed: Annotated[
        bool,
        _learning("--fixed", help="Do not learn hyperparameters; use given values or estimates from the data."),
    ] = False
    criterion: Annotated[
        CriterionName | None,
        _learning(
            "--criterion",
            **one_of(CriterionName),
            help="Cross-validation, leave-one-out, or the cheaper of the two (default: cv; for regression loo).",
        ),
    ] = None
    max_time: Annotated[
        float | None,
        _learning("--max-time", metavar="SECONDS", help="Stop the search early and use the best result."),
    ] = None
    checkpoint: Annotated[
        str | None,
        _learning(
            "--checkpoint",
            metavar="PATH",
            help="Save the progress of the search to PATH, so that an interrupted fit can be resumed.",
        ),
    ] = None
    cv: Annotated[
        int | None, _learning("--cv", metavar="N", help="Number of cross-validation folds (default: 5).")
    ] = None
    ard: Annotated[
        bool | None,
        _learning("--ard/--no-ard", help="One rate per input (default: only if this improves the criterion)."),
    ] = None
    sharpen: Annotated[
        bool | None,
        _learning("--sharpen/--no-sharpen", help="Learn a temperature for probabilities (default: only for text)."),
    ] = None
    learn_bias: Annotated[bool, _learning("--learn-bias", help="Also learn the variance of the biases.")] = False
    search_size: Annotated[
        str | None,
        _learning(
            "--search-size",
            metavar="N",
            help="Maximum number of rows in the search, or 'all' (default: 2000, more for many classes or rows).",
        ),
    ] = None
    n_starts: Annotated[
        int | None, _learning("--n-starts", help="Number of starting points of the search (default: 1).")
    ] = None


@dataclass(frozen=True)
class Computation:
    """Arguments of the estimator that control the computation; None is the estimator's default."""

    solver: Annotated[
        str | None,
        _computation(
            "--solver",
            help="Solver of the final fit: auto, newton, exact, kcg (conjugate gradients) or smo (pairwise "
            "coordinate ascent).",
        ),
    ] = None
    operator: Annotated[
        OperatorName | None,
        _computation("--operator", **one_of(OperatorName), help="How kernel products are computed."),
    ] = None
    precision: Annotated[
        Precision | None, _computation("--precision", **one_of(Precision), help="Precision of kernel products.")
    ] = None
    max_iter: Annotated[
        int | None, _computation("--max-iter", min=1, help="Maximum number of steps of the final fit.")
    ] = None
    n_jobs: Annotated[
        int | None, _computation("--n-jobs", help="Maximum number of threads (default: the number of BLAS threads).")
    ] = None
    memory_limit: Annotated[str | None, _computation("--memory-limit", help="Maximum memory, for example 1GB.")] = (
        None
    )
    seed: Annotated[int, _computation("--seed", help="Random seed.")] = 0
