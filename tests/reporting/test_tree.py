"""Pictures and texts of a tree show its nodes and what is known about them."""

import doctest

import numpy as np
import pytest

from logikern.decisions.tree_errors import node_scores
from logikern.reporting import tree as report
from logikern.reporting.tree import plot_tree, render_tree
from logikern.structure.hierarchy import read_tree
from logikern.structure.tree import Tree
from tests.decisions.trees import ANIMALS, flat

# Two kinds of three each; below the second kind, its second member has two more.
WIDE = Tree(("a", "b", "a1", "b1", "a2", "b2", "a3", "b3", "b2x", "b2y"), (-1, -1, 0, 1, 0, 1, 0, 1, 5, 5))


@pytest.fixture(autouse=True)
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture
def scores():
    """Cases go astray below b alone."""
    return node_scores(["a1", "b1", "b3", "b3"], ["a1", "b3", "b3", "b1"], WIDE)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def dots(ax):
    return ax.collections[0]


def test_example_of_the_docstring_holds():
    result = doctest.testmod(report)
    assert result.attempted > 0 and result.failed == 0


def test_text_reads_from_each_node_to_those_below_it():
    assert render_tree(WIDE).splitlines() == [
        "a",
        "  a1",
        "  a2",
        "  a3",
        "b",
        "  b1",
        "  b2",
        "    b2x",
        "    b2y",
        "  b3",
    ]


def test_text_keeps_to_whole_levels():
    assert render_tree(WIDE, max_nodes=9).splitlines()[-2:] == ["  b2 (+2)", "  b3"]
    assert render_tree(WIDE, max_nodes=7).splitlines() == ["a (+3)", "b (+5)"]


def test_top_that_is_too_wide_is_cut():
    assert render_tree(flat(5), max_nodes=2).splitlines() == ["0", "1", "and 3 more at the top"]


def test_columns_stand_under_their_headings():
    lines = render_tree(ANIMALS, {"cases": np.arange(8), "recall": np.linspace(0, 1, 8)}).splitlines()
    assert lines[0].split() == ["cases", "recall"]
    assert lines[1].split() == ["bird", "0", "0"]
    assert lines[2].split() == ["duck", "3", "0.429"]
    assert len({len(line) for line in lines}) == 1


def test_missing_numbers_are_dashes():
    assert render_tree(flat(2), {"recall": [np.nan, 0.25]}).splitlines()[1:] == ["0       -", "1    0.25"]


def test_paths_as_labels_show_their_last_step():
    tree = Tree((("a",), ("a", "x"), ("a", "y")), (-1, 0, 0))
    assert render_tree(tree).splitlines() == ["a", "  x", "  y"]


def test_long_labels_are_cut():
    (first, _) = render_tree(Tree(("x" * 100, "y"), (-1, -1))).splitlines()
    assert first == "x" * 37 + "..."


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda: render_tree(ANIMALS, {"cases": [1, 2]}),
            r"`columns\['cases'\]` must hold .* shape \(2,\)",
        ),
        (lambda: render_tree(ANIMALS, max_nodes=0), "`max_nodes` must be a positive integer, but is 0"),
        (lambda: plot_tree(ANIMALS, variances=[1.0]), "`variances` must hold a number for each of the 8 nodes"),
        (lambda: plot_tree(ANIMALS, node_scores([0], [0], flat(2))), "`node_scores` must hold .* 8 nodes"),
    ],
)
def test_numbers_of_another_tree_are_refused(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()


def test_every_node_has_its_dot_and_label():
    ax = plot_tree(WIDE)
    assert sorted(texts(ax)) == sorted(WIDE.labels)
    assert len(dots(ax).get_offsets()) == 10
    assert len(ax.lines) == 10


def test_dots_stand_at_their_depth_and_parents_in_the_middle():
    ax = plot_tree(WIDE)
    place = dict(zip(texts(ax), dots(ax).get_offsets().tolist(), strict=True))
    assert all(place[label][0] == depth for label, depth in zip(WIDE.labels, WIDE.depths, strict=True))
    assert place["a"][1] == place["a2"][1]
    assert place["b2"][1] == (place["b2x"][1] + place["b2y"][1]) / 2
    ends = sorted(place[label][1] for label in WIDE.classes)
    assert ends == list(range(7))


def test_colours_are_recalls(scores):
    ax = plot_tree(WIDE, scores)
    shown = [WIDE.place[label] for label in texts(ax)]
    np.testing.assert_allclose(dots(ax).get_array().filled(np.nan), scores.recall[shown])
    assert dots(ax).get_clim() == (0.0, 1.0)


def test_areas_grow_with_variances():
    variances = np.arange(10.0)
    variances[3] = np.nan
    ax = plot_tree(WIDE, variances=variances)
    shown = [WIDE.place[label] for label in texts(ax)]
    areas = dots(ax).get_sizes()
    smallest = areas.min()
    np.testing.assert_allclose((areas - smallest) / (areas.max() - smallest), np.nan_to_num(variances)[shown] / 9)


def test_variances_that_are_all_missing_can_be_drawn():
    assert len(set(dots(plot_tree(WIDE, variances=np.full(10, np.nan))).get_sizes())) == 1


def test_different_variances_have_a_legend():
    assert plot_tree(WIDE, variances=np.arange(10.0)).get_legend().get_title().get_text() == "variance"


@pytest.mark.parametrize("spread", [0.0, 1e-9])
def test_equal_variances_have_no_legend(spread):
    assert plot_tree(WIDE, variances=12.3 + spread * np.arange(10)).get_legend() is None


def test_labels_stand_outside_the_dots():
    ax = plot_tree(WIDE, variances=np.arange(10.0))
    for text, area in zip(ax.texts, dots(ax).get_sizes(), strict=True):
        assert max(text.xyann) > np.sqrt(area) / 2


def test_edges_are_solid(pyplot):
    with pyplot.rc_context({"axes.prop_cycle": pyplot.cycler(linestyle=["-", "--"])}):
        assert {line.get_linestyle() for line in plot_tree(WIDE).lines} == {"-"}


def test_large_tree_shows_where_cases_go_astray(scores):
    ax = plot_tree(WIDE, scores, max_nodes=5)
    assert texts(ax) == ["a (+3)", "b", "b1", "b2 (+2)", "b3"]
    assert ax.get_title() == "5 of 10 nodes"


def test_large_tree_without_scores_shows_its_top():
    assert texts(plot_tree(WIDE, max_nodes=5)) == ["a (+3)", "b (+5)"]


def test_top_that_is_too_wide_shows_the_most_missed():
    tree = flat(4)
    ax = plot_tree(tree, node_scores([0, 2, 3], [0, 3, 3], tree), max_nodes=1)
    assert texts(ax) == ["2"]


def test_very_deep_tree_can_be_drawn():
    n_nodes = 3000
    chain = Tree(tuple(range(n_nodes)), (*range(-1, n_nodes - 2), -1))
    assert len(plot_tree(chain, max_nodes=20).texts) == 20
    assert len(render_tree(chain, max_nodes=n_nodes).splitlines()) == n_nodes


def test_given_axes_are_drawn_on(pyplot, scores):
    figure, ax = pyplot.subplots(figsize=(3, 3))
    assert plot_tree(WIDE, scores, ax=ax) is ax
    assert figure.get_size_inches().tolist() == [3, 3]


@pytest.mark.parametrize("path", ["/".join, tuple], ids=["text", "tuples"])
def test_paths_are_shown_by_their_last_step(path):
    tree = read_tree([path(steps) for steps in (("birds", "robin"), ("birds", "duck"), ("trout",))])
    assert render_tree(tree) == "birds\n  duck\n  robin\ntrout"
