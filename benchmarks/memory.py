"""Whether `memory_limit` holds: 12 calls with 3 limits each, in processes of their own.

The peak is the growth of the resident set (VmHWM) during the call, over its size after imports, data and a small fit
that loads and compiles what is loaded and compiled late; for questions to a fitted model, also after its fit. A cell
is right if the growth is within 110 % of the limit, or if the call is refused before its work begins.
"""

import ctypes
import json
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from measure import in_subprocess, peak_memory
from report import Report, main

LIMITS = ("60MB", "200MB", "600MB")
ALLOWED = 1.1
# Growth up to which a call that was refused has begun nothing.
NOTHING = 10e6
SEARCH_SECONDS = 20.0

Call = Callable[[], object]


def sample(n: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian clouds in ten dimensions, one for each class."""
    random = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    centres = 1.5 * np.random.default_rng(1).standard_normal((n_classes, 10))
    return centres[labels] + random.standard_normal((n, 10)), labels


def halves(n_classes: int) -> dict[str, list[int]]:
    """A hierarchy of two groups of classes."""
    return {"first": list(range(n_classes // 2)), "second": list(range(n_classes // 2, n_classes))}


def fit(n: int, n_classes: int, limit: str | None, **settings: object) -> Call:
    """A fit at fixed hyperparameters, unless there is a criterion."""
    from logikern import KernelLogisticClassifier

    X, y = sample(n, n_classes)
    chosen = {"criterion": None, "memory_limit": limit, "random_state": 0} | settings
    if chosen["criterion"] is not None:
        chosen["max_time"] = SEARCH_SECONDS
    return lambda: KernelLogisticClassifier(**chosen).fit(X, y)


def ask(n: int, n_classes: int, limit: str, question: Callable, **settings: object) -> Call:
    """A question to a model that was fitted without a limit."""
    model = fit(n, n_classes, None, **settings)().set_params(memory_limit=limit)  # type: ignore[attr-defined]
    return lambda: question(model)


CALLS: dict[str, Callable[[str], Call]] = {
    "fit, 3000 rows, 10 classes": lambda limit: fit(3000, 10, limit, solver="newton"),
    "fit, solver='smo', 3000 rows, 10 classes": lambda limit: fit(3000, 10, limit, solver="smo"),
    "fit, solver='exact', 800 rows, 5 classes": lambda limit: fit(800, 5, limit, solver="exact"),
    "fit, bias_variance=inf, 800 rows, 5 classes": lambda limit: fit(800, 5, limit, bias_variance=np.inf),
    "fit, criterion='cv', 1000 rows, 5 classes": lambda limit: fit(1000, 5, limit, criterion="cv"),
    "fit, criterion='loo', 500 rows, 5 classes": lambda limit: fit(500, 5, limit, criterion="loo"),
    "fit, hierarchy, criterion='cv', 800 rows, 8 classes": lambda limit: fit(
        800, 8, limit, hierarchy=halves(8), criterion="cv"
    ),
    "loo_proba_, 800 rows, 5 classes": lambda limit: ask(800, 5, limit, lambda model: model.loo_proba_),
    "loo_proba_ by landmarks, 3000 rows, 10 classes": lambda limit: ask(
        3000, 10, limit, lambda model: model.loo_proba_
    ),
    "suspects(), hierarchy, 150 rows, 12 classes": lambda limit: ask(
        150, 12, limit, lambda model: model.suspects(), hierarchy=halves(12)
    ),
    "exact_loo(), 200 rows, 5 classes": lambda limit: ask(200, 5, limit, lambda model: model.exact_loo()),
    "predict_proba, 4000 rows from 3000, 10 classes": lambda limit: ask(
        3000, 10, limit, lambda model: model.predict_proba(sample(4000, 10, 2)[0])
    ),
}


def resident() -> float:
    """Resident set of this process, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def measure_alone(name: str, limit: str) -> None:
    """The child: prepare the call, make it, print its growth."""
    import pandas as pd

    warnings.simplefilter("ignore")
    pd.DataFrame({"row": [0]})  # loaded by `suspects`
    for solver in ("newton", "smo"):
        fit(60, 3, None, solver=solver)()
    call = CALLS[name](limit)
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # sets the peak back
    before, began, refusal = resident(), time.perf_counter(), ""
    try:
        call()
    except ValueError as error:
        refusal = str(error)
    seconds = time.perf_counter() - began
    print(json.dumps({"MB": (peak_memory() - before) / 1e6, "seconds": seconds, "refusal": refusal}))


def judge(record: dict, limit: str) -> str:
    """The verdict on a cell: within, refused, or what is wrong."""
    growth, allowed = 1e6 * record["MB"], 1e6 * float(limit.removesuffix("MB"))
    if record["refusal"]:
        right = growth <= NOTHING and "needs about" in record["refusal"]
        return "refused" if right else "REFUSED LATE"
    return "within" if growth <= ALLOWED * allowed else "TOO MUCH"


def describe(record: dict, verdict: str) -> str:
    """What a cell of the table says."""
    needed = re.search(r"needs about ([\d.]+ [MG]B)", record["refusal"])
    if verdict == "refused" and needed:
        return f"refused: needs {needed[1]}"
    return f"{verdict}: {record['MB']:.0f} MB"


def run(report: Report, quick: bool) -> None:
    report.say(f"Limits {', '.join(LIMITS)}; a search ends after {SEARCH_SECONDS:.0f} s.")
    rows, verdicts = [], []
    for name in CALLS:
        row: dict[str, object] = {"call": name}
        for limit in LIMITS[:1] if quick else LIMITS:
            record = in_subprocess(__file__, "--child", name, limit)
            verdicts.append(judge(record, limit))
            row[limit] = describe(record, verdicts[-1])
        rows.append(row)
        report.progress(str(row))
    report.table("Peak growth", rows)
    n_right, n_all = sum(verdict in ("within", "refused") for verdict in verdicts), len(verdicts)
    report.verdict("cells within 110 % of the limit or refused", str(n_all), str(n_right), n_right == n_all)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        measure_alone(*sys.argv[2:4])
    else:
        main("memory", __doc__, run)
