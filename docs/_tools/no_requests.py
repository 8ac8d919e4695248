"""For mkdocs: a site that would load something from another host is an error."""

import re
from pathlib import Path

from mkdocs.exceptions import PluginError

LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)")
MERMAID = re.compile(r"class=\"mermaid\"")  # the theme would fetch the library that draws it


def on_post_build(config) -> None:
    """Check all pages once they are written."""
    for page in sorted(Path(config["site_dir"]).rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        foreign = LOADED.findall(text) + MERMAID.findall(text)
        if foreign:
            raise PluginError(f"{page.name} would load {foreign[0]!r} from another host. Put a copy into docs/.")
