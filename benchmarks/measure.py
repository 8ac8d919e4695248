"""Fits at fixed settings with what they cost: seconds, products, memory, and time inside BLAS and LAPACK."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data import Split
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.problem import FitResult, Problem, Solver
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.model.fitted import FittedModel
from logikern.numerics.simplex import log_probabilities
from logikern.operators.choose import choose
from logikern.structure.covariance import ClassCovariance
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie

BIAS_VARIANCE = 16.0


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and what it cost.

    Parameters
    ----------
    model : FittedModel
    result : FitResult
    kernel_seconds : float
        For the kernel matrix.
    seconds : float
        For the solver.
    """

    model: FittedModel
    result: FitResult
    kernel_seconds: float
    seconds: float

    @property
    def steps(self) -> int:
        return self.result.trace[-1].step

    @property
    def products(self) -> int:
        return self.result.n_products

    @property
    def gradient(self) -> float:
        return float(self.result.gradient_norm.max())

    @property
    def outcome(self) -> str:
        return self.result.outcome.name

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """(n, C)."""
        return np.exp(self.log_probabilities(X))

    def log_probabilities(self, X: np.ndarray) -> np.ndarray:
        return log_probabilities(self.model.latents(X).T).T

    def scores(self, split: Split) -> "Scores":
        return score(self.log_probabilities(split.X_test), split.y_test)


@dataclass(frozen=True)
class Scores:
    """Mean log loss and share of errors on the test rows."""

    log_loss: float
    error: float


def score(log_probability: np.ndarray, labels: np.ndarray) -> Scores:
    """Scores of log probabilities (n, C) against the true classes."""
    log_loss = -float(log_probability[np.arange(len(labels)), labels].mean())
    return Scores(log_loss, float((log_probability.argmax(axis=1) != labels).mean()))


def shared(split: Split, rate: float, variance: float) -> Specification:
    """One Gaussian kernel and one variance for all classes."""
    mixing = Flat(split.n_classes)
    return Specification((Gaussian(rate),), (variance,), BIAS_VARIANCE, tie("shared", mixing), mixing)


def separate(split: Split, rates: Sequence[float], variances: Sequence[float]) -> Specification:
    """A Gaussian kernel and a variance for every class."""
    mixing, values = Flat(split.n_classes), tuple(float(variance) for variance in variances)
    kernels = tuple(Gaussian(float(rate)) for rate in rates)
    return Specification(kernels, values, BIAS_VARIANCE, tie("separate", mixing), mixing)


def bind(
    split: Split, specification: Specification, precision: str = "double", operator: str = "dense"
) -> ClassCovariance:
    """The covariance on the training rows, with its kernel matrices."""
    return specification.bind(choose(specification.kernels, split.X, operator, precision).points(split.X))


def solve(
    split: Split, covariance: ClassCovariance, solver: Solver | None = None, start: np.ndarray | None = None
) -> FitResult:
    """Fit, cold unless there are latents (1, C, n) to start from, every row with weight 1."""
    targets = from_labels(split.y, split.n_classes)
    problem = Problem(covariance, Softmax(), targets, np.ones((1, len(split.y))))
    return (solver or Newton()).fit(problem, start)


def fit(
    split: Split,
    specification: Specification,
    solver: Solver | None = None,
    precision: str = "double",
    operator: str = "dense",
) -> Fit:
    """Bind and solve, each timed."""
    began = time.perf_counter()
    covariance = bind(split, specification, precision, operator)
    bound = time.perf_counter()
    result = solve(split, covariance, solver)
    ended = time.perf_counter()
    model = FittedModel(specification, split.X, result.dual[0])
    return Fit(model, result, bound - began, ended - bound)


@contextmanager
def counted_products() -> Iterator[list[int]]:
    """Counts calls of `ClassCovariance` products from outside, to check what solvers say of themselves."""
    counts = [0]
    originals = {name: getattr(ClassCovariance, name) for name in ("matmul", "accurate_matmul")}

    def count(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: ClassCovariance, per_class: np.ndarray) -> np.ndarray:
            counts[0] += 1
            return original(self, per_class)

        return call

    for name, original in originals.items():
        setattr(ClassCovariance, name, count(original))
    try:
        yield counts
    finally:
        for name, original in originals.items():
            setattr(ClassCovariance, name, original)


def peak_memory() -> float:
    """Largest resident set of this process so far, in bytes.

    VmHWM belongs to the program that runs now; ru_maxrss would count what the
    parent held when it forked.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def in_subprocess(script: str, *arguments: str) -> Any:
    """Run a script of this folder alone and return the JSON on the last line that it prints."""
    command = [sys.executable, str(Path(script).resolve()), *arguments]
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(finished.stdout.strip().splitlines()[-1])


def keep_at(name: str) -> Path | None:
    """Where a run that may be stopped keeps what it has: in the folder LOGIKERN_CHECKPOINTS, if that is set."""
    folder = os.environ.get("LOGIKERN_CHECKPOINTS")
    if not folder:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / name


def keep(path: Path | None, text: str) -> None:
    """Write a text there, whole or not at all."""
    if path is not None:
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
