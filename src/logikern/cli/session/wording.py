"""Messages of the library in the words of the command line: options instead of arguments."""

import re
from dataclasses import fields
from typing import Any

from logikern.cli import options

OPTIONS = frozenset(
    field.name
    for record in (options.Columns, options.Model, options.Learning, options.Computation)
    for field in fields(record)
)
# Arguments in Python that have another name on the command line.
OTHERS = {
    "X": "DATA",
    "y": "--target",
    "sample_weight": "--weight",
    "categorical_features": "--categorical",
    "random_state": "--seed",
    "criterion=None": "--fixed",
}
# A name in backticks, perhaps with a value, or a name with a value.
ARGUMENT = re.compile(
    r"`(?P<quoted>[A-Za-z_]+)(=(?P<inside>[^`]+))?`|\b(?P<bare>[a-z_]+)=(?P<value>'[^']*'|[\w.]*\w)"
)


def in_options(message: str) -> str:
    """The message with options for arguments; what exists in Python only is marked."""
    return ARGUMENT.sub(_reword, message)


def spell(name: str, value: Any) -> str:
    """An option as a user writes it, without its value."""
    return f"--{'no-' if value is False else ''}{name.replace('_', '-')}"


def _reword(found: re.Match[str]) -> str:
    name, value = found["quoted"] or found["bare"], (found["inside"] or found["value"] or "").strip("'")
    other = OTHERS.get(f"{name}={value}", OTHERS.get(name))
    if other is not None:
        return f"`{other}`"
    if name in OPTIONS:
        truth = {"True": True, "False": False}.get(value)
        own = spell(name, truth)
        return f"`{own} {value}`" if value and truth is None else f"`{own}`"
    return f"{found[0]} (in Python)" if value or "_" in name else found[0]
