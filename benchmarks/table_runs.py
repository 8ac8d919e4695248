"""One method on one split of a table, in a process of its own with a limit of time, and the file of all such results.

The file has one JSON object per line, so that a run that was stopped goes on where it ended.
"""

import importlib
import json
import multiprocessing
import platform
import resource
import signal
import subprocess
import time
import warnings
from dataclasses import asdict, dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from table_data import read
from table_peers import METHODS, OURS, PACKAGES

Record = dict[str, Any]
SMALLEST_PROBABILITY = 1e-15
# A process that waits more than it computes is ended after so many times the limit.
PATIENCE = 4


@dataclass(frozen=True)
class Run:
    """What identifies a result.

    Parameters
    ----------
    set : str
    seed : int
    method : str
        A key of METHODS.
    inputs : {"prepared", "raw"}
        The matrix, or the frame with categories and missing values.
    label : str
        Tells versions of our code apart; "" for peers.
    """

    set: str
    seed: int
    method: str
    inputs: str
    label: str

    def __str__(self) -> str:
        return f"{self.set}, seed {self.seed}, {self.label or self.method}, {self.inputs}"


def load_records(store: Path) -> dict[Run, Record]:
    """The newest result of every run."""
    if not store.exists():
        return {}
    records = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]
    return {Run(*(record[key] for key in Run.__dataclass_fields__)): record for record in records}


def append(store: Path, record: Record) -> None:
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def replace(store: Path, run: Run, record: Record) -> None:
    """Write the record in the place of earlier ones of the same run."""
    records = load_records(store) | {run: record}
    part = store.with_suffix(".part")
    part.write_text("".join(json.dumps(own) + "\n" for own in records.values()), encoding="utf-8")
    part.replace(store)


def execute(run: Run, folder: Path, limit: float) -> Record:
    """Scores and seconds, or under "failure" what went wrong."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(run, folder, limit, sender))
    process.start()
    sender.close()
    try:
        found = receiver.recv() if receiver.poll(PATIENCE * limit) else {"failure": "waited too long"}
    except EOFError:
        process.join()
        late = process.exitcode == -signal.SIGXCPU
        found = {"failure": f"more than {limit:g} CPU seconds" if late else f"ended with code {process.exitcode}"}
    process.kill()
    process.join()
    return asdict(run) | found | {"versions": versions(run.method)}


def _work(run: Run, folder: Path, limit: float, sender: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sender.send(measure(run, folder))
    except Exception as problem:
        sender.send({"failure": f"{type(problem).__name__}: {str(problem)[:300]}"})


def measure(run: Run, folder: Path) -> Record:
    """Fit on the training rows and score on the test rows of one split."""
    table = read(folder, run.set, run.seed)
    split = table if run.inputs == "raw" else table.prepared()
    fit = METHODS[run.method]
    if run.method == OURS:
        _warm_up(fit)
    began, cpu_began = time.perf_counter(), time.process_time()
    model = fit(split.X, split.y, run.seed)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    began = time.perf_counter()
    probabilities = np.asarray(model.predict_proba(split.X_test), dtype=float)
    return {
        **scores(probabilities, split.y_test),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "predict_seconds": time.perf_counter() - began,
        "rows": len(split.y),
        "test_rows": len(split.y_test),
        "columns": split.X.shape[1],
        "classes": split.n_classes,
    }


def _warm_up(fit: Any) -> None:
    """A small fit, so that compiled code is loaded before the clock starts."""
    random = np.random.default_rng(0)
    fit(random.normal(size=(60, 2)), np.arange(60) % 3, 0)


def scores(probabilities: np.ndarray, labels: np.ndarray) -> Record:
    """Mean log loss, share of errors and Brier score, sum_c (p_c - 1[y = c])^2, of probabilities (m, C)."""
    rows = np.arange(len(labels))
    own = np.clip(probabilities[rows, labels], SMALLEST_PROBABILITY, 1.0)
    indicator = np.zeros_like(probabilities)
    indicator[rows, labels] = 1.0
    return {
        "log_loss": float(-np.log(own).mean()),
        "error": float((probabilities.argmax(axis=1) != labels).mean()),
        "brier": float(((probabilities - indicator) ** 2).sum(axis=1).mean()),
    }


def versions(method: str) -> dict[str, str]:
    found = {"python": platform.python_version()} | {name: version(name) for name in ("numpy", "scikit-learn")}
    package = PACKAGES.get(method)
    if method == OURS:
        return found | {"logikern": _revision()}
    return found | ({package: version(package)} if package else {})


def _revision() -> str:
    """Version of our package, and the commit of its source where that is under git."""
    package = importlib.import_module("logikern")
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7"]
    where = Path(package.__file__ or ".").parent
    finished = subprocess.run(command, cwd=where, check=False, capture_output=True, text=True)
    return f"{package.__version__} {finished.stdout.strip()}".strip()
