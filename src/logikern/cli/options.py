"""Arguments and options that several commands share."""

from enum import StrEnum
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
Loss = StrEnum("Loss", "zero_one taxonomic parent")


def one_of(names: type[StrEnum]) -> dict[str, Any]:
    """Settings of an option that accepts one of the names; errors suggest a similar name."""

    def parse(text: str) -> StrEnum:
        if text in list(names):
            return names(text)
        from logikern.estimators._inputs.arguments import suggest

        known = ", ".join(repr(name.value) for name in names)
        raise typer.BadParameter(f"{text!r} is not one of {known}.{suggest(text, names)}")

    return {"parser": parse, "metavar": f"[{'|'.join(names)}]"}


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, JSON lines or svmlight, by suffix; text also as .gz; '-' is standard input.",
    ),
]
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by `logikern fit`.")]
TargetOption = Annotated[str | None, typer.Option("--target", "-t", metavar="COL", help="Column of the classes.")]
KnownTargetOption = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COL", help="Column of the classes (default: the target of the fit)."),
]
DropOption = Annotated[bool, typer.Option("--drop-missing-target", help="Drop rows without a target.")]
KeepOption = Annotated[
    list[str] | None, typer.Option("--keep", metavar="COL", help="Copy a column to the output. Repeatable.")
]
TableOption = Annotated[str, typer.Option("--out", "-o", help="CSV, TSV, Parquet or JSON lines, by suffix, or '-'.")]
FormatOption = Annotated[
    Format | None, typer.Option("--format", **one_of(Format), help="Format of DATA (default: by its suffix).")
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of text, for example latin-1 (default: utf-8).")
]
SeparatorOption = Annotated[str | None, typer.Option("--separator", help="Separator of CSV, for example ';'.")]
ZeroBasedOption = Annotated[bool, typer.Option("--zero-based", help="svmlight numbers features from 0, not from 1.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show only warnings and errors.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")]
