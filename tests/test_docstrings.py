"""Documented parameters and defaults are those of the signature."""

import ast
import dataclasses
import enum
import importlib
import importlib.util
import inspect
import re
from dataclasses import dataclass

import pytest

import logikern

SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.DOTALL | re.MULTILINE)
PARAMETER = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (?P<kind>.+))?$")


@dataclass(frozen=True)
class Documented:
    name: str
    default: str | None  # as written after `default=`


def read_parameters(docstring: str) -> list[Documented]:
    """The Parameters section of a numpydoc docstring, in order."""
    section = SECTION.search(docstring)
    if section is None:
        return []
    documented = []
    for line in section.group(1).splitlines():
        entry = PARAMETER.match(line)
        if entry:
            default = re.search(r"default=(.+)$", entry["kind"] or "")
            stated = default.group(1).strip() if default else None
            documented += [Documented(name.lstrip("*"), stated) for name in entry["names"].split(", ")]
    return documented


def signature_defaults(callable_) -> dict[str, object]:
    """Parameter -> default, `inspect.Parameter.empty` where there is none."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(callable_).parameters.items()
        if name not in ("self", "cls")
    }
    if dataclasses.is_dataclass(callable_):
        for field in dataclasses.fields(callable_):
            if field.default_factory is not dataclasses.MISSING and field.name in defaults:
                defaults[field.name] = field.default_factory()
    return defaults


def states(text: str, default: object) -> bool:
    """Whether a default written in a docstring is the given value."""
    text = text.strip("`")
    try:
        return bool(ast.literal_eval(text) == default)
    except (ValueError, SyntaxError):
        return text in (repr(default), getattr(default, "__name__", None))


def judge(callable_, required: bool = True) -> list[str]:
    """Differences between the docstring and the signature, one sentence each."""
    docstring = inspect.getdoc(callable_) or ""
    documented = read_parameters(docstring)
    defaults = signature_defaults(callable_)
    if not docstring:
        return ["no docstring"] if required else []
    if not documented and not required:
        return []
    names = [entry.name for entry in documented]
    if names != list(defaults):
        return [f"documents {names}, but the signature has {list(defaults)}"]
    differences = []
    for entry in documented:
        default = defaults[entry.name]
        if default is inspect.Parameter.empty:
            if entry.default is not None:
                differences.append(f"`{entry.name}` states default={entry.default}, but has none")
        elif entry.default is None:
            differences.append(f"`{entry.name}` does not state its default={default!r}")
        elif not states(entry.default, default):
            differences.append(f"`{entry.name}` states default={entry.default}, but it is {default!r}")
    return differences


def public_objects() -> dict[str, object]:
    """Every class and function that `logikern` and `logikern.kernels` export, by dotted name."""
    modules = [logikern]
    if importlib.util.find_spec("logikern.kernels"):
        modules.append(importlib.import_module("logikern.kernels"))
    exported = {f"{module.__name__}.{name}": getattr(module, name) for module in modules for name in module.__all__}
    documented = (inspect.isclass, inspect.isfunction)
    return {name: value for name, value in exported.items() if any(kind(value) for kind in documented)}


def judge_object(value) -> list[str]:
    """Judge a function, or a class with those of its methods that document parameters."""
    if not inspect.isclass(value):
        return judge(value)
    if issubclass(value, enum.Enum | BaseException):
        return []
    differences = judge(value)
    for name, method in vars(value).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            differences += [f"{name}: {sentence}" for sentence in judge(method, required=False)]
    return differences


@pytest.mark.parametrize(("name", "value"), public_objects().items(), ids=public_objects())
def test_documented_parameters_are_those_of_the_signature(name, value):
    differences = judge_object(value)
    assert not differences, "\n".join(f"{name}: {sentence}" for sentence in differences)


def test_every_exported_name_exists():
    assert [name for name in logikern.__all__ if not hasattr(logikern, name)] == []


def right(rate, names=("a", "b"), *, tolerance=1e-3, label="x, y", kind=float):
    """One line.

    Parameters
    ----------
    rate : float
        Positive; not to be confused with default=3 in the text.
    names : tuple of str, default=("a", "b")
        Names.
    tolerance : float, default=0.001
        Tolerance.
    label : str, default="x, y"
        Label.
    kind : type, default=float
        Kind.

    Returns
    -------
    other : int
        Not a parameter.
    """


def unnamed(rate, variance):
    """One line.

    Parameters
    ----------
    rate : float
    """


def swapped(rate, variance):
    """One line.

    Parameters
    ----------
    variance, rate : float
    """


def renamed(rate):
    """One line.

    Parameters
    ----------
    speed : float
    """


def wrong_default(rate=1.0):
    """One line.

    Parameters
    ----------
    rate : float, default=2.0
    """


def silent_default(rate=1.0):
    """One line.

    Parameters
    ----------
    rate : float
    """


def invented_default(rate):
    """One line.

    Parameters
    ----------
    rate : float, default=2.0
    """


def undocumented(rate):
    """One line."""


def bare(rate):
    pass


@dataclass(frozen=True)
class WithFactory:
    """One line.

    Parameters
    ----------
    values : list of int, default=[1]
        Values.
    """

    values: list[int] = dataclasses.field(default_factory=list)

    def scale(self, factor):
        """One line.

        Parameters
        ----------
        divisor : float
        """


def test_checker_accepts_agreement():
    assert judge(right) == []


@pytest.mark.parametrize(
    ("callable_", "complaint"),
    [
        (unnamed, "but the signature has ['rate', 'variance']"),
        (swapped, "documents ['variance', 'rate']"),
        (renamed, "documents ['speed']"),
        (wrong_default, "states default=2.0, but it is 1.0"),
        (silent_default, "does not state its default=1.0"),
        (invented_default, "but has none"),
        (undocumented, "documents []"),
        (bare, "no docstring"),
    ],
)
def test_checker_catches_difference(callable_, complaint):
    differences = judge_object(callable_)
    assert len(differences) == 1
    assert complaint in differences[0]


def test_checker_reads_dataclasses_and_methods():
    field, method = judge_object(WithFactory)
    assert "states default=[1], but it is []" in field
    assert "scale: documents ['divisor']" in method
