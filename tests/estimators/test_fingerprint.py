"""A fingerprint is the same in every process, and another one when a value or the code behind it changes."""

import enum
import functools
import math
import operator
import os
import subprocess
import sys
import threading
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from logikern.estimators._inputs.fingerprint import fingerprint
from logikern.kernels import FunctionKernel, Gaussian, Kernel, Linear

ROOT = Path(__file__).parents[2]
WORDS = {"alpha", "beta", "gamma", "delta"}


def known(value):
    return fingerprint("kernel", value)


def kernel(left, right, *, power=2):
    return shared(left, right) ** power if left in {"alpha", "beta", "gamma"} else math.exp(-len(WORDS))


def shared(left, right):
    return len(set(left) & set(right))


@functools.lru_cache
def cached(left, right):
    return shared(left, right)


class Mode(enum.Enum):
    PLAIN = 1
    SQUARED = 2


class Similarity:
    """A kernel with a state."""

    def __init__(self, power):
        self.power = power
        self.mode = Mode.SQUARED
        self.itself = self

    def __call__(self, left, right):
        return kernel(left, right, power=self.power)

    @functools.cached_property
    def norm(self):
        return self.power**2


@dataclass(frozen=True)
class Mine(Kernel):
    function: object

    def __call__(self, X, Z):
        return Linear()(X, Z)

    def diagonal(self, X):
        return Linear().diagonal(X)

    def weigh_gradient(self, X, Z, weights):
        return np.zeros(0)


VALUES = {
    "function": kernel,
    "lambda": lambda left, right: kernel(left, right),
    "partial": functools.partial(kernel, power=3),
    "object": Similarity(2),
    "method": Similarity(2).__call__,
    "cached function": cached,
    "function kernel": FunctionKernel(kernel),
    "nested kernels": 2.0 * FunctionKernel(kernel) + FunctionKernel(rbf_kernel),
    "user's kernel": Mine(kernel),
    "builtin": math.sqrt,
    "ufunc": np.add,
    "dispatched": np.dot,
    "operator": operator.itemgetter(1),
    "set": WORDS,
    "dictionary of sets": {"b": {"x", "y"}, "a": WORDS},
    "objects": np.array(["a", WORDS, None], dtype=object),
    "sparse": sparse.eye(3, format="csr"),
    "class": Similarity,
}


def test_fingerprints_are_the_same_in_another_process():
    program = (
        "from tests.estimators.test_fingerprint import VALUES, known\n"
        "for value in VALUES.values(): print(known(value))"
    )
    # Sets are in another order there, and objects at other addresses.
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert dict(zip(VALUES, run.stdout.split(), strict=True)) == {name: known(own) for name, own in VALUES.items()}


def test_all_fingerprints_differ():
    assert len({known(value) for value in VALUES.values()}) == len(VALUES)


def defined(source, **names):
    """`kernel` as a source text defines it."""
    exec(source, names)
    return names["kernel"]


SOURCE = "def kernel(a, b, c=2):\n    return shared(a, b) ** c + 1\n"
HELPERS = types.ModuleType("own_helpers")
OTHER_HELPERS = types.ModuleType("own_helpers")
HELPERS.shared, OTHER_HELPERS.shared = shared, max
CHANGES = {
    "constant": (SOURCE, SOURCE.replace("+ 1", "+ 2")),
    "type of a constant": (SOURCE, SOURCE.replace("+ 1", "+ 1.0")),
    "operation": (SOURCE, SOURCE.replace("+", "-")),
    "name": (SOURCE, SOURCE.replace("shared", "min")),
    "default": (SOURCE, SOURCE.replace("c=2", "c=3")),
    "keyword default": (SOURCE.replace("c=2", "*, c=2"), SOURCE.replace("c=2", "*, c=3")),
    "inner function": ("kernel = lambda a, b: (lambda: a + 1)()", "kernel = lambda a, b: (lambda: a + 2)()"),
    "attribute": ("kernel = lambda a, b: a.real", "kernel = lambda a, b: a.imag"),
    "names of arguments": ("def kernel(a, b): return a - b", "def kernel(b, a): return b - a"),
    "handler": (
        "def kernel(a, b):\n  try: return a\n  except KeyError: return b",
        "def kernel(a, b):\n  try: return a\n  except IndexError: return b",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_code_is_another_function(change):
    before, after = (defined(source, shared=shared) for source in CHANGES[change])
    assert known(before) != known(after)


def test_line_and_file_of_a_function_do_not_matter():
    assert known(defined(SOURCE, shared=shared)) == known(defined("\n\n" + SOURCE, shared=shared))


def with_closure(value):
    return lambda left, right: value * left * right


def with_attribute(value):
    def function(left, right):
        return left * right * function.value

    function.value = value
    return function


def local_class(value):
    class Local:
        factor = value

        def __call__(self, left, right):
            return self.factor

    return Local()


PAIRS = {
    "closures": (with_closure(1), with_closure(2)),
    "closures of arrays": (with_closure(np.zeros(2000)), with_closure(np.eye(1, 2000, 1000)[0])),
    "attributes": (with_attribute(1), with_attribute(2)),
    "partials": (functools.partial(kernel, power=2), functools.partial(kernel, power=3)),
    "states": (Similarity(2), Similarity(3)),
    "methods": (Similarity(2).__call__, Similarity(3).__call__),
    "classes": (local_class(1), local_class(2)),
    "global values": (defined(SOURCE, shared=2), defined(SOURCE, shared=3)),
    "global functions": (defined(SOURCE, shared=with_closure(1)), defined(SOURCE, shared=with_closure(2))),
    "members of modules": tuple(
        defined("def kernel(a, b): return own.shared(a, b)", own=own) for own in (HELPERS, OTHER_HELPERS)
    ),
    "kernels of functions": (FunctionKernel(with_closure(1)), FunctionKernel(with_closure(2))),
    "sums": (Gaussian() + FunctionKernel(with_closure(1)), Gaussian() + FunctionKernel(with_closure(2))),
    "cached functions": (functools.lru_cache(with_closure(1)), functools.lru_cache(with_closure(2))),
    "vectorised functions": (np.vectorize(with_closure(1)), np.vectorize(with_closure(2))),
    "numbers and texts": (1, "1"),
    "lists": ([1, [2]], [[1], 2]),
    "dtypes": (np.zeros(2), np.zeros(2, dtype=np.int64)),
    "shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_different_values_have_different_fingerprints(kind):
    assert known(PAIRS[kind][0]) != known(PAIRS[kind][1])


EQUALS = {
    "functions": lambda: with_closure(3),
    "recursive functions": lambda: with_attribute(3),
    "objects": lambda: Similarity(5),
    "arrays by columns": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "sparse rows": lambda: sparse.csr_array(np.eye(3)),
    "numbers with many digits": lambda: 10**5000,
    "partials": lambda: functools.partial(kernel, power=3),
}


@pytest.mark.parametrize("kind", EQUALS)
def test_equal_values_have_equal_fingerprints(kind):
    assert known(EQUALS[kind]()) == known(EQUALS[kind]())


def test_layout_of_an_array_does_not_matter():
    assert known(np.asfortranarray(np.arange(6.0).reshape(2, 3))) == known(np.arange(6.0).reshape(2, 3))


def test_sharing_does_not_matter():
    one = Gaussian(2.0)
    assert known(one + one) == known(Gaussian(2.0) + Gaussian(2.0))


def test_values_computed_on_demand_do_not_matter():
    asked = Similarity(2)
    assert asked.norm == 4 and known(asked) == known(Similarity(2))


def test_what_scipy_notes_down_does_not_matter():
    rows = sparse.csr_array(np.eye(3))
    before = known(rows)
    assert rows.has_canonical_format and known(rows) == before


def test_many_functions_that_call_each_other_are_read_once():
    names: dict = {}
    for number in range(60):
        exec(f"def f{number}(a): return " + " + ".join(f"f{other}(a)" for other in range(60)), names)
    assert len(known(names["f0"])) == 64


def test_compiled_function_is_known_by_its_source():
    numba = pytest.importorskip("numba")
    compiled = [numba.njit(defined(source)) for source in CHANGES["names of arguments"]]
    assert known(compiled[0]) != known(compiled[1])
    assert known(compiled[0]) == known(numba.njit(defined(CHANGES["names of arguments"][0])))


def nested(depth):
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


UNKNOWN = {
    "lock": lambda: with_closure(threading.Lock()),
    "generator": lambda: functools.partial(kernel, (number for number in range(3))),
    "ufunc of a function": lambda: np.frompyfunc(lambda left, right: left, 2, 1),
    "very deep list": lambda: nested(5000),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_value_that_cannot_be_compared_is_refused(kind):
    with pytest.raises(ValueError, match="whether `kernel` is the same: .*use checkpoint=None"):
        known(UNKNOWN[kind]())
