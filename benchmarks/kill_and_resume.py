"""kill -9 at ten random moments of a search, then resume: the same criterion value; Ctrl-C: a usable model.

Each search runs in a process of its own on a subset of satimage, with a checkpoint. A process says when `fit`
begins; it is killed at a uniformly random moment between then and the end of the uninterrupted search. A process that
ended before its moment came counts for nothing and another moment is drawn. The resumed fit must end within 1e-6 of
the uninterrupted criterion value. Ctrl-C is SIGINT at three moments: `fit` must return, with a warning, a model that
predicts.
"""

import io
import json
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data import load
from measure import score
from report import Report, Row, main

ROWS = {"full": 2000, "quick": 400}
KILLS = {"full": 10, "quick": 3}
INTERRUPTS = (0.2, 0.5, 0.8)
BEGUN = "begun"
WANTED = 1e-6


def search_alone(checkpoint: str, size: str) -> None:
    """The child: fit with a checkpoint, print what came out."""
    from logikern import KernelLogisticClassifier

    # A process in the background of a shell may have been started with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    split = load("satimage").head(ROWS[size])
    model = KernelLogisticClassifier(checkpoint=checkpoint, random_state=0, on_interrupt="keep")
    print(BEGUN, flush=True)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(split.X, split.y)
    seconds = time.perf_counter() - began
    probabilities = model.predict_proba(split.X_test)
    scores = score(np.log(np.maximum(probabilities, 1e-300)), split.y_test)
    record = {
        "criterion": model.criterion_value_,
        "parameters": model.model_.specification.log_parameters.tolist(),
        "evaluations": len(model.trace_),
        "seconds": seconds,
        "search seconds": sum(entry.seconds for entry in model.trace_),
        "log loss": scores.log_loss,
        "usable": bool(np.isfinite(probabilities).all() and np.allclose(probabilities.sum(axis=1), 1.0)),
        "warning": "; ".join(str(warning.message) for warning in caught),
    }
    print(json.dumps(record), flush=True)


@dataclass(frozen=True, eq=False)
class Child:
    """A search in a process of its own, whose `fit` has begun."""

    process: subprocess.Popen

    def result(self) -> dict[str, Any] | None:
        """What it printed at its end; None if it was killed."""
        output, _ = self.process.communicate()
        return json.loads(output.strip().splitlines()[-1]) if self.process.returncode == 0 else None

    def signal_after(self, seconds: float, number: signal.Signals) -> None:
        """Wait, then send the signal; a process that has ended by then gets none."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(number)


def start(checkpoint: Path, size: str) -> Child:
    command = [sys.executable, str(Path(__file__).resolve()), "--child", str(checkpoint), size]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while BEGUN not in process.stdout.readline():
        if process.poll() is not None:
            raise RuntimeError("The search ended before its fit began.")
    return Child(process)


def evaluations_in(checkpoint: Path) -> int:
    """How many evaluations a checkpoint holds; 0 where there is none yet."""
    if not checkpoint.exists():
        return 0
    with open(checkpoint, "rb") as stream:
        stream.readline()  # the header
        with np.load(io.BytesIO(stream.read()), allow_pickle=False) as stored:
            return len(stored["numbers"])


def kill_once(checkpoint: Path, size: str, moment: float, whole: dict[str, Any]) -> Row | None:
    """Kill, resume, compare; None if the search had ended before the moment came."""
    child = start(checkpoint, size)
    child.signal_after(moment, signal.SIGKILL)
    if child.result() is not None:
        return None
    known = evaluations_in(checkpoint)
    leftovers = len(list(checkpoint.parent.glob(f".{checkpoint.name}.*")))
    resumed = start(checkpoint, size).result()
    if resumed is None:
        raise RuntimeError(f"The search that was killed after {moment:.2f} s could not be resumed.")
    shift = np.abs(np.array(resumed["parameters"]) - np.array(whole["parameters"])).max()
    return {
        "killed after s": moment,
        "evaluations known": known,
        "of": resumed["evaluations"],
        "half-written files": leftovers,
        "resumed seconds": resumed["seconds"],
        "criterion": resumed["criterion"],
        "difference": abs(resumed["criterion"] - whole["criterion"]),
        "log parameters differ by": shift,
        "log loss": resumed["log loss"],
    }


def kills(folder: Path, size: str, whole: dict[str, Any], report: Report) -> list[Row]:
    random = np.random.default_rng(0)
    rows: list[Row] = []
    attempt = 0
    while len(rows) < KILLS[size]:
        attempt += 1
        moment = random.uniform(0.0, whole["search seconds"])
        row = kill_once(folder / f"killed_{attempt}.npz", size, moment, whole)
        if row is None:
            report.progress(f"ended before {moment:.1f} s: another moment is drawn")
            continue
        rows.append(row)
        report.progress(f"killed after {moment:.1f} s, {row['evaluations known']} known: {row['difference']:.1e}")
    return rows


def interruptions(folder: Path, size: str, whole: dict[str, Any]) -> list[Row]:
    rows = []
    for part in INTERRUPTS:
        moment = part * whole["search seconds"]
        child = start(folder / f"interrupted_{part}.npz", size)
        child.signal_after(moment, signal.SIGINT)
        result = child.result()
        told = "returned" if result else "raised"
        result = result or {"evaluations": 0, "criterion": np.nan, "log loss": np.nan, "usable": False, "warning": ""}
        row = {"interrupted after s": moment, "fit": told}
        rows.append(row | {key: result[key] for key in ("evaluations", "criterion", "log loss", "usable", "warning")})
    return rows


def run(report: Report, quick: bool) -> None:
    size = "quick" if quick else "full"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = start(folder / "whole.npz", size).result()
        assert whole is not None
        report.say(
            f"Uninterrupted, {ROWS[size]} rows: criterion {whole['criterion']:.8f} after {whole['evaluations']} "
            f"evaluations, {whole['seconds']:.1f} s; log loss {whole['log loss']:.4f}."
        )
        rows = kills(folder, size, whole, report)
        report.table("Killed and resumed", rows)
        stopped = interruptions(folder, size, whole)
        report.table("Interrupted", stopped)
    worst = max(row["difference"] for row in rows)
    claim = f"criterion after {len(rows)} kills and resumptions, largest difference"
    report.verdict(claim, "<= 1e-6", f"{worst:.1e}", worst <= WANTED)
    usable = sum(row["usable"] for row in stopped)
    told = f"{usable} of {len(stopped)}"
    report.verdict("interrupted fits that return a usable model", "all", told, usable == len(stopped))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        search_alone(*sys.argv[2:4])
    else:
        main("kill_and_resume", __doc__, run)
