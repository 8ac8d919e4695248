"""Text from users' data, cut and cleaned for display."""

import re
from collections.abc import Iterable
from typing import Any

from logikern.structure.links import SEPARATOR

LONGEST_WORD = re.compile(r"\S{81,}")
# Control characters, and marks that change the direction of the text around them.
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text without characters that a page cannot show; line breaks remain."""
    return UNPRINTABLE.sub("\ufffd", text)


def cut(value: Any, length: int = 60) -> str:
    """A value on one line, with an ellipsis in place of what exceeds `length` characters."""
    text = _joined(value)
    # Only the beginning is cleaned: a cell may have millions of characters.
    shown = _one_line(text[: 4 * length])
    return shown if len(shown) <= length and len(text) <= 4 * length else shown[: length - 1] + "…"


def cut_middle(value: Any, length: int = 40) -> str:
    """A value on one line, with an ellipsis in place of its middle if it exceeds `length` characters."""
    text = _joined(value)
    if len(text) <= 8 * length:
        shown = _one_line(text)
        if len(shown) <= length:
            return shown
    end = length // 2
    return f"{_one_line(text[: 4 * length])[: length - end - 1]}…{_one_line(text[-4 * length :])[-end:]}"


def cut_apart(values: Iterable[Any], length: int) -> list[str]:
    """`cut_middle` of each value; values that would look the same get different numbers."""
    shown: dict[str, None] = {}
    for value in values:
        text = own = cut_middle(value, length)
        number = 1
        while own in shown:
            number += 1
            own = f"{text} ({number})"
        shown[own] = None
    return list(shown)


def _joined(value: Any) -> str:
    return SEPARATOR.join(map(str, value)) if isinstance(value, tuple) else str(value)


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())


def cut_words(text: str, most: int = 20_000) -> str:
    """A text of several lines, in which only very long words are cut."""
    short = LONGEST_WORD.sub(lambda found: found[0][:60] + "…", printable(text))
    return short if len(short) <= most else short[: most - 1] + "…"
