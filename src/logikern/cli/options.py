"""Arguments and options that several commands share."""

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """Formats of DATA."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    jsonl = "jsonl"
    svmlight = "svmlight"


# Spelled out, because help must not wait for numpy; a test compares them with the library's own tables.
KernelName = StrEnum(
    "KernelName",
    "gaussian matern12 matern32 matern52 rational_quadratic linear polynomial",
)
OperatorName = StrEnum("OperatorName", "auto dense tiled features")
Precision = StrEnum("Precision", "auto single double")
CriterionName = StrEnum("CriterionName", "cv loo auto")


class Tying(StrEnum):
    """How classes share kernels."""

    auto = "auto"
    shared = "shared"
    scaled = "scaled"
    separate = "separate"
    level = "level"
    subtree = "subtree"


class Loss(StrEnum):
    """What a wrong decision costs."""

    zero_one = "zero_one"
    taxonomic = "taxonomic"
    parent = "parent"


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, JSON lines or svmlight, by suffix; text also as .gz; '-' is standard input.",
    ),
]
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by `logikern fit`.")]
FormatOption = Annotated[Format | None, typer.Option("--format", help="Format of DATA, if its suffix does not say.")]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of text, for example latin-1 (default: utf-8).")
]
SeparatorOption = Annotated[
    str | None, typer.Option("--separator", help="What separates the fields of CSV, for example ';'.")
]
ZeroBasedOption = Annotated[
    bool, typer.Option("--zero-based", help="Feature numbers of svmlight count from 0, not 1.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for scripts.")]
