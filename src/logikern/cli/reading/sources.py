"""DATA as bytes and text: a file or standard input, and its format."""

import gzip
import sys
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import typer

from logikern.cli import options

STANDARD = "-"  # standard input or output
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
}


@dataclass(frozen=True)
class Reading:
    """How to read DATA, as a group of options; None means by suffix or content."""

    format: options.FormatOption = None
    encoding: options.EncodingOption = None
    separator: options.SeparatorOption = None
    decimal: options.DecimalOption = None
    zero_based: options.ZeroBasedOption = False


@dataclass(frozen=True)
class Source:
    """The content of DATA, before parsing."""

    name: str
    format: str
    content: bytes

    def text(self, encoding: str | None) -> str:
        """The decoded content; an error locates bytes that cannot be decoded."""
        wanted = encoding or "utf-8-sig"
        try:
            text = self.content.decode(wanted)
        except LookupError:
            raise typer.BadParameter(f"unknown encoding {encoding!r}. Try `latin-1` or `utf-16`.") from None
        except UnicodeDecodeError as error:
            raise ValueError(self._undecodable(error, encoding or "utf-8")) from None
        if "\0" in text:
            raise ValueError(
                f"`{self.name}` is not a text file of format {self.format} (it has a zero byte). "
                "Pass its format as `--format`, or its encoding as `--encoding`, for example utf-16."
            )
        if not text.strip():
            raise ValueError(f"`{self.name}` is empty, but must have a header and rows.")
        return text

    def _undecodable(self, error: UnicodeDecodeError, encoding: str) -> str:
        line = self.content.count(b"\n", 0, error.start) + 1
        byte = self.content[error.start]
        guess = "utf-16" if self.content[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
        return (
            f"`{self.name}` is not valid {encoding}: byte 0x{byte:02x} at position {error.start}, line {line}, "
            f"cannot be decoded. Pass its encoding, for example `--encoding {guess}`."
        )


def open_source(data: str, format: str | None = None) -> Source:
    """Read DATA, a path or `-`."""
    if data == STANDARD:
        return _standard_input(format)
    path = Path(data)
    chosen = format or format_of(path)
    if not path.exists():
        raise ValueError(f"there is no file `{data}`. Check the path, or pass `-` for standard input.")
    if path.is_dir():
        raise ValueError(f"`{data}` is a folder, not a file.")
    content = path.read_bytes()
    if path.suffix.lower() == ".gz":
        content = _decompress(content, data)
    return Source(data, chosen, content)


def format_of(
    path: Path, allowed: Iterable[str] = FORMATS, advice: str = "Rename the file, or pass `--format`."
) -> str:
    """The format that belongs to the suffix, without `.gz`; an error lists `allowed` suffixes."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
        if suffixes and FORMATS.get(suffixes[-1]) == "parquet":
            raise ValueError(f"`{path}` is compressed Parquet. Decompress it; Parquet has its own compression.")
    if suffixes and suffixes[-1] in FORMATS:
        return FORMATS[suffixes[-1]]
    came = f"the suffix {suffixes[-1]!r}" if suffixes else "no suffix"
    raise ValueError(
        f"the format of `{path}` is unknown: it has {came}, but must have one of {', '.join(allowed)}. {advice}"
    )


def _standard_input(format: str | None) -> Source:
    if format is None:
        raise typer.BadParameter("standard input has no suffix: pass `--format csv` or another format.")
    return Source("standard input", format, sys.stdin.buffer.read())


def _decompress(content: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"`{name}` is not a complete gzip file ({error}). Compress it again.") from None
