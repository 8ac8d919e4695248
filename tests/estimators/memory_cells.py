"""Run one call after the other, each within a memory limit, and print by how much the process has grown at its peak.

Run by test_memory.py in a process of its own. The peak is that of the kernel (VmHWM), set back before every call.
"""

import ctypes
import json
import sys
import warnings
from dataclasses import replace

import numpy as np

from logikern import KernelLogisticClassifier, NeighbourhoodSettings
from logikern.estimators._fitted import influence as _influence


def resident(field):
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def sample(n, n_classes, seed=0):
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    centres = 1.5 * generator.standard_normal((n_classes, 4))
    return centres[labels] + generator.standard_normal((n, 4)), labels


def pairs_of(n_classes):
    """A hierarchy of classes two by two."""
    return {f"pair {first}": [first, first + 1] for first in range(0, n_classes, 2)}


def fixed(n, n_classes, limit, **settings):
    """A fit at fixed hyperparameters."""
    X, y = sample(n, n_classes)
    model = KernelLogisticClassifier(rate=0.3, variance=10.0, criterion=None, memory_limit=limit, **settings)
    return lambda: model.fit(X, y)


def divided(n, n_classes, limit, size, landmarks=0):
    """A fit by neighbourhoods of at most so many rows."""
    return fixed(n, n_classes, limit, kernel="gaussian", operator=NeighbourhoodSettings(size, landmarks, 2))


def searched(n, n_classes, limit, **settings):
    X, y = sample(n, n_classes)
    model = KernelLogisticClassifier(tying="shared", ard=False, max_time=3, memory_limit=limit, **settings)
    return lambda: model.fit(X, y)


def afterwards(n, n_classes, limit, ask, **settings):
    """What a fitted model is asked."""
    model = fixed(n, n_classes, None, **settings)().set_params(memory_limit=limit)
    return lambda: ask(model)


def low_rank(model):
    _influence.USUAL = replace(_influence.USUAL, largest_work=0.0, largest_rank=600)
    return model.loo_proba_


CELLS = {
    "exact solver": lambda: fixed(600, 5, "20MB", solver="exact"),
    "free bias": lambda: fixed(600, 4, "20MB", bias_variance=np.inf),
    "leave-one-out search": lambda: searched(400, 4, "30MB", criterion="loo"),
    "leave-one-out of a tree": lambda: afterwards(
        60, 20, "20MB", lambda model: model.loo_proba_, hierarchy=pairs_of(20)
    ),
    "low rank leave-one-out": lambda: afterwards(1500, 5, "120MB", low_rank),
    "low rank leave-one-out, little memory": lambda: afterwards(500, 5, "40MB", low_rank),
    "prediction": lambda: afterwards(2000, 2, "20MB", lambda model: model.predict_proba(sample(2000, 2, 1)[0])),
    "fit": lambda: fixed(1200, 3, "60MB"),
    "fit by city-block distances": lambda: fixed(1200, 3, "60MB", kernel="laplacian"),
    "neighbourhoods": lambda: divided(3000, 3, "40MB", 500),
    "large neighbourhoods": lambda: divided(3000, 3, "60MB", 1500),
    "neighbourhoods of many classes": lambda: divided(2000, 20, "60MB", 400),
    "neighbourhoods with landmarks": lambda: divided(1500, 3, "60MB", 300, landmarks=30),
    "neighbourhoods, little memory": lambda: divided(3000, 3, "9MB", 500),
    "prediction by neighbourhoods": lambda: afterwards(
        3000,
        3,
        "20MB",
        lambda model: model.predict_proba(sample(3000, 3, 1)[0]),
        operator=NeighbourhoodSettings(1000, partitions=2),
        kernel="gaussian",
    ),
    "search by city-block distances": lambda: searched(400, 4, "30MB", criterion="loo", kernel="laplacian"),
}


def main():
    warnings.simplefilter("ignore")
    for kernel in ("gaussian", "laplacian"):
        fixed(60, 3, None, kernel=kernel)()  # loads and compiles what is loaded and compiled late
    for name in sys.argv[1:]:
        call = CELLS[name]()
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w", encoding="ascii") as marks:
            marks.write("5")
        before, refusal = resident("VmRSS"), ""
        try:
            call()
        except ValueError as error:
            refusal = str(error)
        record = {"cell": name, "growth": resident("VmHWM") - before, "refusal": refusal}
        sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
