"""Figures of matplotlib as SVG inside a page, in the colours of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from logikern.reporting.wording import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colour in the figure -> variable of the page's style sheet, which has one value for light and one for dark.
COLOURS = {
    "#010203": "var(--ink)",
    "#040506": "var(--line)",
    "#070809": "var(--first)",
    "#0a0b0c": "var(--second)",
    "#0d0e0f": "var(--third)",
    "#101112": "var(--fourth)",
    "#131415": "var(--fifth)",
    "#161718": "var(--sixth)",
    "#808080": "var(--muted)",  # grey
    "#d3d3d3": "var(--line)",  # lightgrey
    "#000000": "var(--ink)",  # black
}
INK, LINE, FIRST, *OTHERS = list(COLOURS)[:8]
PARTS = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|<defs>\s*</defs>", re.DOTALL)
NAMESPACES = re.compile(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"')
NAMES = re.compile(r'\sid="([^"]*)"')
REFERENCES = re.compile(r'(url\(#|xlink:href="#)([^")]*)')
COLOUR = re.compile("|".join(COLOURS), re.IGNORECASE)
SMALLEST = 0.7  # of the width of a figure: its text of 10 points is then as small as is legible
SIZE = re.compile(r'<svg[^>]*?\swidth="([\d.]+)pt"[^>]*?>')


@contextmanager
def page_style() -> Iterator[None]:
    """Settings of matplotlib for figures of a page; labels are never read as formulas."""
    matplotlib = load_matplotlib()
    cycler = matplotlib.cycler
    inks = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK)
    lines = dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color", "legend.edgecolor"), LINE)
    settings: dict[str, Any] = {
        **inks,
        **lines,
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.prop_cycle": cycler(linestyle=["-", "--"]) * cycler(color=[FIRST, *OTHERS]),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.facecolor": "none",
        "font.size": 10.0,
        "grid.linewidth": 0.5,
        "legend.facecolor": "none",
        "legend.frameon": False,
        "lines.linewidth": 1.75,
        "savefig.facecolor": "none",
        "svg.fonttype": "none",
        "svg.hashsalt": "logikern",
        "text.parse_math": False,
        "text.usetex": False,
    }
    with matplotlib.rc_context(settings):
        yield


def load_matplotlib() -> Any:
    """matplotlib, or an error that says how to install it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "A report needs matplotlib, which could not be imported. Install it with: pip install 'logikern[report]'"
        ) from error
    return matplotlib


def new_figure(width: float, height: float) -> Figure:
    """A figure that pyplot does not know, so that it need not be closed."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def to_svg(figure: Figure, name: str) -> str:
    """The figure as an SVG element without scripts, links or addresses; `name` keeps its ids apart from others."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about glyphs that a font lacks: the browser has other fonts
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawn = printable(buffer.getvalue())
    drawn = PARTS.sub("", drawn[drawn.index("<svg") :])
    # Text is escaped, so what looks like an attribute is one.
    used = frozenset(found[1] for found in REFERENCES.findall(drawn))
    drawn = re.sub("<[^>]*>", lambda tag: _clean_tag(tag[0], used, name), drawn)
    return SIZE.sub(lambda found: _scalable(found[0], found[1], name), drawn, count=1).strip()


def _clean_tag(tag: str, used: frozenset[str], name: str) -> str:
    tag = NAMESPACES.sub("", tag)
    tag = NAMES.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", tag)
    tag = REFERENCES.sub(lambda found: f"{found[1]}{name}-{found[2]}", tag)
    return COLOUR.sub(lambda found: COLOURS[found[0].lower()], tag)


def _scalable(tag: str, width: str, name: str) -> str:
    """The opening tag with a width that shrinks with the page as long as its text is legible, and a name."""
    tag = re.sub(r'\s(?:width|height)="[^"]*"', "", tag)
    size = f"width: {width}pt; min-width: {SMALLEST * float(width):.0f}pt"
    return tag.replace("<svg", f'<svg role="img" aria-label="{name}" style="{size}"', 1)
