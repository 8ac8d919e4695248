"""A report as one HTML page, without scripts and without external resources."""

import functools
from pathlib import Path
from typing import Any

from logikern.reporting.document import Document, Table
from logikern.reporting.wording import cut, cut_middle, cut_path, cut_words, parts

FOLDER = Path(__file__).parent


def render(document: Document) -> str:
    """The page, in which every text from users' data is escaped and cut."""
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    return str(_template().render(document=document, figures=document.figures, style=style))


@functools.cache
def _template() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "A report needs jinja2, which could not be imported. Install it with: pip install 'logikern[report]'"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": cut, "middle": cut_middle, "path": cut_path, "words": cut_words, "parts": parts}
    environment.filters |= {"number": number, "percent": percent, "cell": cell}
    environment.tests["table"] = lambda value: isinstance(value, Table)
    return environment.get_template("page.html")


def number(value: float) -> str:
    """Four decimals, or three significant digits for very small and very large numbers."""
    return f"{value:.4f}" if value == 0 or 0.001 <= abs(value) < 1e4 else f"{value:.3g}"


def percent(value: float) -> str:
    return f"{100 * value:.2f}\N{NO-BREAK SPACE}%"


def cell(value: Any) -> str:
    """A cell of a table: numbers with few digits, anything else cut."""
    return number(value) if isinstance(value, float) else cut_middle(value)
