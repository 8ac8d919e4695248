"""What a benchmark prints, and keeps in results/: tables in markdown, the same records in JSON.

Every file says when, from which commit and by which command it was made. LOGIKERN_RESULTS names another folder for
results; quick versions are kept only there.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import logikern
from data import require_folder

HERE = Path(__file__).resolve().parent
RESULTS = Path(os.environ.get("LOGIKERN_RESULTS") or HERE / "results")
Row = dict[str, Any]


class Report:
    """Sentences and tables, printed as they come and written at the end.

    Parameters
    ----------
    name : str
        Of the benchmark and of its files.
    """

    def __init__(self, name: str):
        self.name = name
        self.began = time.perf_counter()
        self.commit = commit()  # before anything else can change it
        self.lines: list[str] = []
        self.notes: list[str] = []
        self.records: dict[str, list[Row]] = {}

    def say(self, text: str) -> None:
        """A paragraph."""
        self.notes += [text] if text else []
        self._emit(text + "\n")

    def table(self, title: str, rows: Sequence[Row]) -> None:
        """One row per record; columns from the first one."""
        self.records[title] = [dict(row) for row in rows]
        self._emit(f"## {title}\n\n{markdown_table(rows)}\n")

    def verdict(self, claim: str, wanted: str, seen: str, met: bool) -> None:
        """Whether a number that was promised was seen."""
        self.records.setdefault("verdicts", []).append(
            {"claim": claim, "wanted": wanted, "seen": seen, "met": bool(met)}
        )
        self._emit(f"- {'met' if met else 'NOT MET'}: {claim}: wanted {wanted}, seen {seen}")

    def progress(self, text: str) -> None:
        """Printed only."""
        print(text, flush=True)

    def write(self) -> None:
        """results/NAME.md and results/NAME.json."""
        RESULTS.mkdir(parents=True, exist_ok=True)
        origin = made(self.commit, time.perf_counter() - self.began)
        when = f"{origin['date']}, commit {origin['commit']}: `{origin['command']}`"
        text = f"# {self.name}\n\n{machine()}\n\n{when}\n\n" + "\n".join(self.lines)
        (RESULTS / f"{self.name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")
        stored = {"machine": machine(), "made": origin, "notes": self.notes, **self.records}
        text = json.dumps(stored, indent=1, default=_plain)
        (RESULTS / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")

    def _emit(self, text: str) -> None:
        self.lines.append(text)
        print(text, flush=True)


def markdown_table(rows: Sequence[Row]) -> str:
    """Records with the same keys, columns padded so that they also read well as plain text."""
    if not rows:
        return "(nothing)"
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    padded = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in cells]
    rule = ["-" * (width - 1) + ":" for width in widths]
    return "\n".join(f"| {' | '.join(row)} |" for row in [padded[0], rule, *padded[1:]])


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        if value == 0 or 1e-3 <= abs(value) < 1e5:
            return f"{value:.4g}"
        return f"{value:.1e}"
    return str(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def machine() -> str:
    """Where the numbers come from, in a line."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or "all"
    return (
        f"{processor()}{os.cpu_count()} cores, BLAS threads: {threads}; Python {platform.python_version()}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}."
    )


def processor() -> str:
    """Its name and a comma, where the system tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, " if names else ""


def made(commit: str, seconds: float) -> Row:
    """When, from which code and by which command a result was made."""
    command = " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    date = datetime.now(UTC).date().isoformat()
    return {"date": date, "commit": commit, "version": logikern.__version__, "command": command, "seconds": seconds}


def commit() -> str:
    """The commit of library and benchmarks, marked if their code differs from it; "unknown" outside of git."""
    head = _git("rev-parse", "--short=7", "HEAD")
    changed = _git("status", "--porcelain", "--", "src", "benchmarks/*.py")
    return f"{head}-changed" if changed else head or "unknown"


def _git(*arguments: str) -> str:
    """What git prints; nothing without git or outside of a repository."""
    if shutil.which("git") is None:
        return ""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=HERE.parent, check=False, capture_output=True, text=True).stdout.strip()


def is_kept(quick: bool) -> bool:
    """Whether results and figures are written: those of quick versions only where LOGIKERN_RESULTS is set."""
    return not quick or bool(os.environ.get("LOGIKERN_RESULTS"))


def main(name: str, description: str | None, run: Callable[[Report, bool], None]) -> None:
    """The command line of one benchmark: `--quick` makes it small and writes no results."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small version; writes no results")
    options = parser.parse_args()
    require_folder()
    report = Report(name)
    run(report, options.quick)
    if is_kept(options.quick):
        report.write()
