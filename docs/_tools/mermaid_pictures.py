"""For mkdocs: shows each Mermaid diagram as the picture that docs/_tools/draw_diagrams.py drew of it.

GitHub draws diagrams from their source. The theme would fetch the library that draws them from another host.
"""

import hashlib
import re
from pathlib import Path

IMAGES = Path(__file__).resolve().parents[1] / "images"
DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```", re.DOTALL | re.MULTILINE)


def picture(source: str) -> str:
    """The file with the picture of a diagram, in docs/images. Its name changes if the source does."""
    return f"diagram-{hashlib.sha256(source.encode()).hexdigest()[:8]}.svg"


def _show(found: re.Match[str]) -> str:
    name = picture(found[1])
    return f"![Diagram](images/{name})" if (IMAGES / name).exists() else found[0]


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page with pictures; a diagram that has not been drawn since it changed stays as text."""
    return DIAGRAM.sub(_show, markdown)
