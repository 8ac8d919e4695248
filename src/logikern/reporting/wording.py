"""Text from users' data, cut and cleaned for display."""

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from logikern.structure.links import SEPARATOR

CONTINUED = " " * 4  # before the other lines of a sentence in an explanation
LONGEST_WORD = re.compile(r"\S{81,}")
# Control characters, marks that change the direction of the text around them, and characters without any width that
# are not part of a letter.
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\ud800-\udfff]"
)


@dataclass(frozen=True)
class Part:
    """A part of an explanation: a heading, then sentences or the lines of a table."""

    lines: tuple[str, ...]
    is_table: bool


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


def cut_path(value: Any, length: int = 40) -> str:
    """`cut_middle`, which keeps the last step of a path if that is possible."""
    text = _joined(value)
    start, (_, found, end) = _one_line(text[: 8 * length]), text[-length:].rpartition(SEPARATOR)
    last = _one_line(end)
    room = length - len(last) - 2
    if len(start) <= length or not (found and last) or room < 0:
        return cut_middle(text, length)
    return f"{start[:room].rstrip()}…{SEPARATOR}{last}"


def cut_apart(values: Iterable[Any], length: int) -> list[str]:
    """Each value with an ellipsis in place of its middle, or of the beginning of a path; equal texts get numbers."""
    shown: dict[str, None] = {}
    for value in values:
        text = own = cut_path(value, length)
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


def parts(text: str) -> list[Part]:
    """The parts of an explanation, which empty lines separate; sentences that were wrapped are on one line again."""
    found = []
    for part in text.split("\n\n"):
        heading, *rest = part.splitlines() or [""]
        if any("  " in line.strip() for line in rest):
            found.append(Part((heading, *textwrap.dedent("\n".join(rest)).splitlines()), True))
            continue
        lines = [heading]
        for line in rest:
            if line.startswith(CONTINUED) and len(lines) > 1:
                lines[-1] += f" {line.strip()}"
            else:
                lines.append(line.strip())
        found.append(Part(tuple(lines), False))
    return found
