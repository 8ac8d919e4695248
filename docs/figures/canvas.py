"""What all figures of the site share: size, style, and files that do not change if nothing is drawn differently."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

IMAGES = Path(__file__).resolve().parents[1] / "images"
STYLE = {
    "svg.hashsalt": "logikern",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
}


@contextmanager
def figure(
    name: str, n_rows: int = 1, n_columns: int = 1, size: tuple[float, float] = (7.5, 2.8), **options: Any
) -> Iterator[Any]:
    """Axes to draw on; the figure is then written to docs/images/NAME.svg."""
    with pyplot.rc_context(STYLE):
        drawn, axes = pyplot.subplots(n_rows, n_columns, figsize=size, **options)
        yield axes
        drawn.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
        pyplot.close(drawn)
