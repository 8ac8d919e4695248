"""Pages read back by the parser of the standard library."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}
ACTIVE = {"script", "iframe", "object", "embed", "form", "base", "link", "img", "video", "audio", "foreignobject"}
ADDRESSES = {"href", "src", "xlink:href", "action", "data", "srcset", "poster", "background", "formaction"}


@dataclass
class Page(HTMLParser):
    """Elements with their attributes, texts, and elements that were not closed in order."""

    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.misplaced.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


def read_page(html: str) -> Page:
    page = Page()
    page.feed(html)
    page.close()
    return page


def dangers(page: Page) -> list[str]:
    """Whatever might run code or fetch something."""
    found = [tag for tag, _ in page.elements if tag in ACTIVE]
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            plain = "".join(value.split()).lower()
            if tag == "image" and plain.startswith("data:image/png;base64,"):
                continue  # a colour scale that matplotlib draws as pixels
            if name.startswith("on") or "javascript:" in plain or "expression(" in plain:
                found.append(f"{tag} {name}={value}")
            if name in ADDRESSES and not plain.startswith("#"):
                found.append(f"{tag} {name}={value}")
            if "url(" in plain and "url(#" not in plain or "//" in plain:
                found.append(f"{tag} {name}={value}")
    return found
