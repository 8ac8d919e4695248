"""Pictures of the Mermaid diagrams on all pages: python docs/_tools/draw_diagrams.py MERMAID.

MERMAID is the file dist/mermaid.min.js of the npm package mermaid. It runs in chromium.
"""

import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mermaid_pictures import DIAGRAM, picture

DOCS = Path(__file__).resolve().parents[1]
PAGE = """<!doctype html><meta charset="utf-8"><pre class="mermaid">{source}</pre>
<script src="{mermaid}"></script>
<script>mermaid.initialize({{startOnLoad: true, deterministicIds: true, theme: "neutral"}})</script>"""
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom")


def draw(source: str, mermaid: Path, folder: Path) -> str:
    """The SVG of a diagram, on white."""
    page = folder / "page.html"
    page.write_text(PAGE.format(source=html.escape(source), mermaid=mermaid.as_uri()), encoding="utf-8")
    shown = subprocess.run([*BROWSER, page.as_uri()], capture_output=True, text=True, check=True).stdout
    drawn = re.search(r"<svg.*?</svg>", shown, re.DOTALL)
    if drawn is None or "Syntax error" in drawn[0]:
        raise ValueError(f"Mermaid cannot draw this diagram:\n{source}")
    # An SVG file is XML: void elements of HTML must be closed, and the root needs its name space and a size.
    image = re.sub(r"<br\s*>", "<br/>", drawn[0]).replace("&nbsp;", "&#160;")
    width, height = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"', image).groups()
    image = image.replace('width="100%"', f'width="{width}" height="{height}"', 1)
    return image.replace('style="', 'style="background: white; ', 1)


if __name__ == "__main__":
    library = Path(sys.argv[1]).resolve()
    for old in (DOCS / "images").glob("diagram-*.svg"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        for page in sorted(DOCS.rglob("*.md")):
            for source in DIAGRAM.findall(page.read_text(encoding="utf-8")):
                (DOCS / "images" / picture(source)).write_text(draw(source, library, Path(folder)), encoding="utf-8")
