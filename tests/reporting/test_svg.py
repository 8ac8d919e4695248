"""Figures inside a page."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from logikern.reporting.assessment import assess
from logikern.reporting.figures import draw_rejection, draw_reliability
from logikern.reporting.svg import new_figure, page_style, to_svg
from tests.reporting.pages import dangers, read_page

HOSTILE = (
    "<script>alert(1)</script>",
    "]]>--><img src=x onerror=alert(1)>",
    "$\\frac{",
    "a & b\x00\x1b",
    "名 \u202e#000000",
)


@pytest.fixture(scope="module")
def drawn() -> str:
    with page_style():
        figure = new_figure(4, 3)
        axes = figure.subplots()
        for place, label in enumerate(HOSTILE):
            axes.plot([0, 1], [place, place + 1], label=label)
        axes.set(title=HOSTILE[0], xlabel=HOSTILE[2])
        axes.legend()
        return to_svg(figure, "hostile")


def test_labels_are_inert(drawn):
    page = read_page(drawn)
    assert dangers(page) == [] and page.misplaced == [] and page.open == []
    assert HOSTILE[0] in page.text and "$\\frac{" in page.text


def test_figure_is_well_formed(drawn):
    assert ElementTree.fromstring(drawn.replace("<svg", '<svg xmlns:xlink="x"', 1)).tag.endswith("svg")


def test_figure_takes_the_colours_of_the_page(drawn):
    tags = [attributes for _, attributes in read_page(drawn).elements]
    styles = " ".join(own.get("style", "") for own in tags)
    assert "var(--ink)" in styles and "var(--first)" in styles and "#010203" not in styles
    assert "#000000" in read_page(drawn).text


def test_figure_scales_with_the_page(drawn):
    tag, attributes = read_page(drawn).elements[0]
    assert tag == "svg" and "viewbox" in attributes and "width" not in attributes and "height" not in attributes


def test_figure_stays_legible_on_a_phone(drawn):
    widths = re.findall(r"width: ([\d.]+)pt", read_page(drawn).elements[0][1]["style"])
    assert [float(width) for width in widths] == [288.0, 202.0]


def test_references_lead_to_ids_of_the_same_figure(drawn):
    page = read_page(drawn)
    assert page.ids and all(name.startswith("hostile-") for name in page.ids) and len(set(page.ids)) == len(page.ids)
    linked = [own["xlink:href"][1:] for _, own in page.elements if "xlink:href" in own]
    clipped = [own["clip-path"][5:-1] for _, own in page.elements if "clip-path" in own]
    assert linked and clipped and set(linked + clipped) <= set(page.ids)


def test_figures_of_many_rows_are_small():
    rng = np.random.default_rng(0)
    log_probabilities = np.log(rng.dirichlet(np.ones(3), 50_000))
    found = assess(log_probabilities, rng.choice(3, 50_000))
    assert len(draw_rejection(found)) < 100_000 and len(draw_reliability(found)) < 100_000
