"""Pages of the documentation that are generated from stored results, and the command line that they share.

A page is a function of the files in results/: writing it again changes nothing unless a result has changed.
"""

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import parts
from data import folder
from parts import Part, Row, Stored

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"
QUICK_WARNING = "**These are quick versions on a few rows. They show that everything runs; values mean nothing.**"
QUICK_FOLDER = ROOT / "build" / "quick"
WIDTH = 118
# Minutes of a part above which it is run only if it is named.
LONG = 30
NUMBER = re.compile(r"[*<> ]*[-+]?\d[\d,.]*(e[-+]?\d+)?\**( ([±(\[:]|\+-).*)?$")
Results = Mapping[str, Stored | None]


@dataclass(frozen=True)
class Section:
    """Text and tables that are made from the results of some parts.

    Parameters
    ----------
    title : str
    parts : tuple of Part
    write : callable
        From stored results, one for each part, to paragraphs of markdown.
    needs_all : bool, default=True
        Whether all results must exist. If not, `write` gets None for those that do not.
    """

    title: str
    parts: tuple[Part, ...]
    write: Callable[..., list[str]]
    needs_all: bool = True


@dataclass(frozen=True)
class Page:
    """A generated page.

    Parameters
    ----------
    file : str
        Its name in docs/.
    target : str
        Of the Makefile.
    opening : str
        What stands before the first section.
    sections : tuple of Section
    """

    file: str
    target: str
    opening: str
    sections: tuple[Section, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(dict.fromkeys(part for section in self.sections for part in section.parts))


def render(page: Page, results: Path = RESULTS, warning: str = "") -> str:
    """The page as text."""
    found = {part.name: parts.read(part, results) for part in page.parts}
    blocks = [page.opening.strip(), *([warning] if warning else [])]
    for section in page.sections:
        blocks.append(f"## {section.title}")
        stored = [found[part.name] for part in section.parts]
        missing = [part.name for part in section.parts if found[part.name] is None]
        if missing and section.needs_all:
            commands = " and ".join(f"`make {page.target} PART={name}`" for name in missing)
            blocks.append(f"No result is stored. To create it, run {commands}.")
            continue
        blocks += section.write(*stored)
        blocks += [_origin(section)] if section.needs_all else []
    blocks += ["## Commands and results", *_origins(page, found)]
    return "\n\n".join([blocks[0], *map(wrap, blocks[1:])]) + "\n"


def wrap(block: str) -> str:
    """A paragraph in lines of the usual width; tables, lists, headings and images as they are."""
    if block.startswith(("|", "-", "#", "!", " ")):
        return block
    return textwrap.fill(block, WIDTH, break_long_words=False, break_on_hyphens=False)


def _origin(section: Section) -> str:
    names = ", ".join(f"`{part.name}`" for part in section.parts)
    return f"*{'Part' if len(section.parts) == 1 else 'Parts'} {names}.*"


def _origins(page: Page, found: Results) -> list[str]:
    """From which command, commit and machine each part comes."""
    rows: list[Row] = []
    machines: dict[str, list[str]] = {}
    for part in page.parts:
        stored = found[part.name]
        if stored is None:
            continue
        made = stored.made
        rows.append(
            {
                "part": part.name,
                "command": "<br>".join(f"`{line}`" for line in stored.commands),
                "result": f"`benchmarks/results/{part.result}.json`",
                "date": made.get("date", "-"),
                "commit": made.get("commit", "-"),
                "minutes": _minutes(made.get("seconds", 0.0)),
            }
        )
        machines.setdefault(stored.content["machine"], []).append(part.name)
    lines = [f"- {machine} Parts: {', '.join(names)}." for machine, names in machines.items()]
    return [table(rows), "The parts were run on these machines, with these versions:", "\n".join(lines)]


def _minutes(seconds: float) -> str:
    """A dash if they are unknown, or if a command only collected results of earlier runs."""
    shown = f"{seconds / 60:.1f}"
    return "-" if shown == "0.0" else shown


def table(rows: list[Row]) -> str:
    """Records as a table; columns in the order of their first appearance, numbers to the right."""
    if not rows:
        return "(The stored result has no such table.)"
    columns = list(dict.fromkeys(column for row in rows for column in row))
    numeric = {column: all(_is_number(row.get(column, "-")) for row in rows) for column in columns}
    rule = "|".join("---:" if numeric[column] else "---" for column in columns)
    lines = ["| " + " | ".join(columns) + " |", f"|{rule}|"]
    return "\n".join(lines + ["| " + " | ".join(_cell(row.get(c, "")) for c in columns) + " |" for row in rows])


def pick(row: Row, columns: Sequence[str]) -> Row:
    """Some columns; a dash where a result of earlier code lacks one."""
    return {column: row.get(column, "-") for column in columns}


def _is_number(value: object) -> bool:
    """Whether a cell is a number, bold or bounded or with a spread, or a dash in its place."""
    return value == "-" or isinstance(value, int | float) or NUMBER.match(str(value)) is not None


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value).replace("|", "\\|").replace("+-", "±")


def number(value: float, digits: int = 3) -> str:
    """A few significant digits, without a power of ten where that is readable."""
    if value != value:
        return "-"
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        places = max(0, digits - 1 - _exponent(value))
        return f"{value:.{places}f}"
    return f"{value:.{digits - 1}e}"


def _exponent(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def figure(file: str, caption: str) -> str:
    """An image of docs/images, where figures of results are copied."""
    return f"![{caption}](images/{file})"


def write(page: Page, results: Path, docs: Path, warning: str = "") -> Path:
    """Write the page, and copy its figures next to it."""
    path = docs / page.file
    (docs / "images").mkdir(parents=True, exist_ok=True)
    path.write_text(render(page, results, warning), encoding="utf-8")
    for part in page.parts:
        for name in part.figures:
            if (results / name).exists():
                shutil.copyfile(results / name, docs / "images" / name)
    return path


def main(page: Page, description: str | None) -> None:
    """The command line of a page."""
    chosen = _options(page, description)
    own = [part for part in page.parts if not chosen.part or part.name in chosen.part]
    if chosen.list:
        print("\n".join(f"{part.name:18} {parts.state(part, RESULTS):12} {part.minutes:g} min" for part in own))
        return
    results = chosen.out / "results" if chosen.quick else RESULTS
    docs = chosen.out if chosen.quick else DOCS
    results.mkdir(parents=True, exist_ok=True)
    failed = [] if chosen.stored else _run(own, results, chosen)
    print(f"wrote {write(page, results, docs, QUICK_WARNING if chosen.quick else '')}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _options(page: Page, description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [part.name for part in page.parts]
    told = f"this one of {', '.join(names)}"
    parser.add_argument("--part", action="append", choices=names, metavar="NAME", help=told)
    parser.add_argument("--again", action="store_true", help="run parts also if their result is current")
    parser.add_argument("--stored", action="store_true", help="run nothing; write the page from stored results")
    parser.add_argument("--quick", action="store_true", help="small versions of all parts, written to --out")
    parser.add_argument("--out", type=Path, default=QUICK_FOLDER, help="folder of --quick (build/quick)")
    parser.add_argument("--list", action="store_true", help="print parts, the state of their results and minutes")
    return parser.parse_args()


def _run(own: list[Part], results: Path, chosen: argparse.Namespace) -> list[str]:
    """Names of the parts that failed."""
    if not (folder() / "satimage.npz").exists():
        print("No benchmark data: nothing is run. Set LOGIKERN_DATA to the folder that holds satimage.npz.")
        return []
    failed = []
    for part in own:
        reason = _reason_to_skip(part, results, chosen)
        if reason:
            print(f"=== {part.name}: {reason}", flush=True)
            continue
        print(f"=== {part.name}: running, about {part.minutes:g} min unless quick", flush=True)
        if not parts.carry_out(part, results, chosen.quick):
            failed.append(part.name)
    return failed


def _reason_to_skip(part: Part, results: Path, chosen: argparse.Namespace) -> str:
    missing = part.missing_packages()
    if missing:
        return f"left out, {', '.join(missing)} not installed: pip install -r benchmarks/requirements.txt"
    if chosen.quick:
        return "" if part.has_quick else "left out, it has no quick version"
    if not chosen.again and parts.state(part, results) == "current":
        return "current, not run again (AGAIN=1 runs it)"
    if part.minutes > LONG and not chosen.part:
        return f"left out, it takes about {part.minutes:g} min (PART={part.name} runs it)"
    return ""
