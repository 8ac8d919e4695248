"""Screenshots of a report, for docs/report.md: python docs/figures/report.py. They are taken in chromium."""

import subprocess
import tempfile
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import logikern

IMAGES = Path(__file__).resolve().parents[1] / "images"
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
# Name of the picture -> width and height of the window, sections that it shows (none means all), further options.
SHOTS: dict[str, tuple[int, int, tuple[str, ...], tuple[str, ...]]] = {
    "report_wide": (1100, 1250, (), ()),
    "report_columns": (1100, 700, ("relevance",), ()),
    "report_dark": (1100, 900, ("rejection", "confusion"), ("--force-dark-mode",)),
    "report_narrow": (500, 1100, (), ()),
}


def write_report(path: Path) -> None:
    """A report on the breast cancer data."""
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    X, X_test, y, y_test = train_test_split(data.data, labels, test_size=0.5, random_state=0, stratify=labels)
    model = logikern.KernelLogisticClassifier(random_state=0).fit(X, y)
    logikern.report(model, X_test, y_test, out=path)


def with_sections(page: str, names: tuple[str, ...]) -> str:
    """The page with these sections only."""
    others = "".join(f":not(#{name})" for name in names)
    return page.replace(
        "</head>", f"<style>section{others}, header, nav, h1, h1 + * {{display: none}}</style></head>"
    )


def shoot(page: Path, name: str) -> None:
    """A picture of a part of a page, in 64 colours."""
    width, height, sections, options = SHOTS[name]
    target = IMAGES / f"{name}.png"
    text = page.read_text(encoding="utf-8")
    part = page.with_name(f"{name}.html")
    part.write_text(with_sections(text, sections) if sections else text, encoding="utf-8")
    window = f"--window-size={width},{height}"
    subprocess.run(
        [*BROWSER, *options, window, f"--screenshot={target}", part.as_uri()], check=True, capture_output=True
    )
    Image.open(target).convert("RGB").quantize(64).save(target, optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(page)
        for name in SHOTS:
            shoot(page, name)
