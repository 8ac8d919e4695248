"""Text from users' data, cut and cleaned for display."""

import re
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
    text = SEPARATOR.join(map(str, value)) if isinstance(value, tuple) else str(value)
    # Only the beginning is cleaned: a cell may have millions of characters.
    shown = " ".join(printable(text[: 4 * length]).split())
    return shown if len(shown) <= length and len(text) <= 4 * length else shown[: length - 1] + "…"


def cut_words(text: str, most: int = 20_000) -> str:
    """A text of several lines, in which only very long words are cut."""
    short = LONGEST_WORD.sub(lambda found: found[0][:60] + "…", printable(text))
    return short if len(short) <= most else short[: most - 1] + "…"
