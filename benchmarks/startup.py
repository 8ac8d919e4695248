"""Start-up: seconds of `import logikern`, `logikern --help` and a one-row `logikern predict`, each a new process.

    python benchmarks/startup.py
    python benchmarks/startup.py --before PATH    alternates with another checkout

Each number is the best of five runs after one that is not counted: it writes the bytecode, which an installed package
has, and brings the files into memory. On a busy machine read the CPU seconds: they are those of all threads. The
model is fitted to iris with default settings, by each checkout for itself.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from sklearn.datasets import load_iris

from report import Report, Row

HERE = Path(__file__).resolve().parent.parent
REPETITIONS = {"full": 5, "quick": 1}
# Seconds that each command may take on an idle machine.
ALLOWED = {"import logikern": 0.5, "--help": 0.4, "predict, CSV": 1.0, "predict, Parquet": 1.0}
COMMAND = "from logikern.cli.main import main; main()"


class Checkout(NamedTuple):
    """A checkout of logikern, and the folder of its model and its bytecode."""

    name: str
    source: Path
    folder: Path

    def run(self, code: str, *arguments: str) -> None:
        """Run a new process to its end."""
        settings = {"PYTHONPATH": str(self.source / "src"), "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        command = [sys.executable, "-c", code, *arguments]
        environment = inherited | settings
        subprocess.run(command, cwd=self.folder, env=environment, check=True, stdout=subprocess.DEVNULL)


class Cost(NamedTuple):
    """Seconds that passed, and of the CPU."""

    seconds: float
    cpu_seconds: float


TASKS = {
    "import logikern": ("import logikern",),
    "--help": (COMMAND, "--help"),
    "predict, CSV": (COMMAND, "predict", "iris.skops", "row.csv"),
    "predict, Parquet": (COMMAND, "predict", "iris.skops", "row.parquet"),
}


def prepare(checkout: Checkout) -> None:
    """The model, and a row to predict in both formats."""
    checkout.folder.mkdir()
    table = load_iris(as_frame=True).frame
    table.to_csv(checkout.folder / "iris.csv", index=False)
    row = table.drop(columns="target").head(1)
    row.to_csv(checkout.folder / "row.csv", index=False)
    row.to_parquet(checkout.folder / "row.parquet", index=False)
    checkout.run(COMMAND, "fit", "iris.csv", "--target", "target", "--out", "iris.skops", "--quiet")


def measured(checkout: Checkout, task: str) -> Cost:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    checkout.run(*TASKS[task])
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def best(costs: list[Cost]) -> Cost:
    return Cost(*map(min, zip(*costs, strict=True)))


def alternate(task: str, checkouts: list[Checkout], repetitions: int) -> dict[str, Cost]:
    """The best cost of a task by the name of the checkout."""
    for checkout in checkouts:
        checkout.run(*TASKS[task])
    costs: dict[str, list[Cost]] = {checkout.name: [] for checkout in checkouts}
    for _ in range(repetitions):
        for checkout in checkouts:
            costs[checkout.name].append(measured(checkout, task))
    return {name: best(own) for name, own in costs.items()}


def run(report: Report, quick: bool, before: Path | None) -> None:
    report.say((__doc__ or "").strip().split("\n\n")[-1].replace("\n", " "))
    with tempfile.TemporaryDirectory() as folder:
        checkouts = [Checkout("now", HERE, Path(folder) / "now")]
        if before is not None:
            checkouts.insert(0, Checkout("before", before.resolve(), Path(folder) / "before"))
        for checkout in checkouts:
            prepare(checkout)
        found = {task: alternate(task, checkouts, REPETITIONS["quick" if quick else "full"]) for task in TASKS}
    rows: list[Row] = []
    for task, costs in found.items():
        row: Row = {"process": task}
        for name, cost in costs.items():
            row |= {f"{name}: seconds": cost.seconds, f"{name}: CPU seconds": cost.cpu_seconds}
        rows.append(row)
    report.table("Seconds", rows)
    for task, costs in found.items():
        seconds = costs["now"].seconds
        report.verdict(task, f"< {ALLOWED[task]} s", f"{seconds:.2f} s", seconds < ALLOWED[task])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run of each; writes no results")
    parser.add_argument("--before", type=Path, metavar="PATH", help="another checkout to alternate with")
    options = parser.parse_args()
    report = Report("startup")
    run(report, options.quick, options.before)
    if not options.quick:
        report.write()


if __name__ == "__main__":
    main()
