"""A file of links from child to parent: what a tree is made of on the command line."""

import io

import numpy as np
import pandas as pd
import pytest

import logikern

LINKS = """child,parent
science,
art,
physics,science
biology,science
optics,physics
nuclear,physics
music,art
film,art
noir,film
western,film
"""


def test_file_of_links_gives_the_probabilities_of_paths(
    fit_texts, predict_texts, tree_model, leaf_names, unseen_texts, tmp_path
):
    (tmp_path / "links.csv").write_text(LINKS)
    result = fit_texts("--hierarchy", tmp_path / "links.csv", frame=leaf_names)
    assert result.exit_code == 0, result.stderr
    own = predict_texts(tmp_path / "m.skops", tmp_path / "new.jsonl")
    reference = predict_texts(tree_model, tmp_path / "new.jsonl")
    assert own["path"].tolist() == reference["path"].tolist()
    columns = {f"probability_{path.rpartition('/')[2]}": path for path in logikern.load_model(tree_model).classes_}
    for name, path in columns.items():
        # Two fits to the tolerance of the command line.
        np.testing.assert_allclose(own[name], reference[f"probability_{path}"], atol=1e-4)


def test_tabs_and_further_columns_in_the_file_of_links(fit_texts, leaf_names, tmp_path):
    links = pd.read_csv(io.StringIO(LINKS)).assign(note="any")[["note", "parent", "child"]]
    links.to_csv(tmp_path / "links.tsv", sep="\t", index=False)
    assert "tree: 10 nodes" in fit_texts("--hierarchy", tmp_path / "links.tsv", frame=leaf_names).stderr


def test_numbers_of_topics_are_those_of_the_file(fit_texts, predict_texts, leaf_names, tmp_path):
    topics = sorted(leaf_names["path"].unique())
    frame = leaf_names.assign(path=leaf_names["path"].map({topic: number for number, topic in enumerate(topics)}))
    links = "child,parent\n" + "".join(f"{number},{100 + number % 2}\n" for number in range(6))
    (tmp_path / "links.csv").write_text(links)
    assert fit_texts("--hierarchy", tmp_path / "links.csv", frame=frame).exit_code == 0
    assert predict_texts(tmp_path / "m.skops", tmp_path / "docs.jsonl")["path"][0] in (
        "100/0",
        "100/2",
        "100/4",
    )


@pytest.mark.parametrize("name, separator", [("links.csv", ";"), ("links.txt", ","), ("links.txt", "\t")])
def test_separator_of_the_file_of_links_is_read_off_its_header(name, separator, fit_texts, leaf_names, tmp_path):
    (tmp_path / name).write_text(LINKS.replace("child,parent", "Child,Parent").replace(",", separator))
    assert "tree: 10 nodes" in fit_texts("--hierarchy", tmp_path / name, frame=leaf_names).stderr


def test_parent_called_na_is_a_node(fit_texts, leaf_names, tmp_path):
    (tmp_path / "links.csv").write_text(LINKS.replace("art", "NA"))
    assert fit_texts("--hierarchy", tmp_path / "links.csv", frame=leaf_names).exit_code == 0
    assert "NA" in logikern.load_model(tmp_path / "m.skops")[-1].tree_.labels


def test_integer_labels_stay_integers_with_a_tree_of_integers(fit_texts, leaf_names, tmp_path):
    numbers = {topic: number for number, topic in enumerate(sorted(leaf_names["path"].unique()))}
    frame = leaf_names.assign(path=leaf_names["path"].map(numbers))
    (tmp_path / "links.csv").write_text("child,parent\n" + "".join(f"{n},{100 + n % 2}\n" for n in range(6)))
    assert fit_texts("--hierarchy", tmp_path / "links.csv", frame=frame).exit_code == 0
    model = logikern.load_model(tmp_path / "m.skops")
    assert model.score(frame[["body"]], frame["path"]) > 0.5


def test_rows_of_inner_nodes_and_classes_without_rows_are_told(fit_texts, make_corpus, tmp_path):
    frame = make_corpus(coarse=True)
    frame["path"] = frame["path"].str.rpartition("/")[2]
    (tmp_path / "links.csv").write_text(LINKS + "botany,science\n")
    told = fit_texts("--hierarchy", tmp_path / "links.csv", frame=frame).stderr
    assert "7 rows with an inner node" in told
    assert "classes without rows: `botany`" in told


BAD_LINKS = {
    "circle": (
        LINKS + "sport,ball\nball,sport\n",
        "links.csv` has a cycle of parents: 'sport' -> 'ball' -> 'sport'",
    ),
    "own parent": (LINKS + "sport,sport\n", "links.csv` makes 'sport' its own parent"),
    "two parents": (LINKS + "optics,biology\n", "links.csv` gives 'optics' two parents, 'physics' and 'biology'"),
    "no header": (
        LINKS.removeprefix("child,parent\n").replace("science,\n", "science,top\n", 1),
        "lacks `child`, `parent`",
    ),
    "other columns": (LINKS.replace("child,parent", "node,above"), "separated by commas"),
    "two columns of children": (LINKS.replace("child,parent", "Child,child"), "has several columns called `child`"),
    "nameless node": (LINKS + ",art\n", "links.csv` has no `child` in row 11"),
    "no rows": ("child,parent\n", "has a header but no rows"),
    "unknown topic": (LINKS.replace("optics,physics\n", "optic,physics\n"), "holds 'optics' in rows 1, 7"),
}


@pytest.mark.parametrize("name", BAD_LINKS)
def test_bad_file_of_links_is_refused(name, fit_texts, leaf_names, tmp_path):
    content, fragment = BAD_LINKS[name]
    (tmp_path / "links.csv").write_text(content)
    result = fit_texts("--hierarchy", tmp_path / "links.csv", frame=leaf_names)
    assert result.exit_code == 1
    assert fragment in result.stderr
    assert not (tmp_path / "m.skops").exists()


def test_unknown_topic_comes_with_near_nodes(fit_texts, leaf_names, tmp_path):
    (tmp_path / "links.csv").write_text(LINKS.replace("optics,physics\n", "optic,physics\n"))
    told = fit_texts("--hierarchy", tmp_path / "links.csv", frame=leaf_names).stderr
    assert f"`{tmp_path / 'links.csv'}` has no such node" in told and "`optic`" in told


def test_missing_file_of_links_is_a_usage_error(fit_texts):
    result = fit_texts("--hierarchy", "nowhere.csv")
    assert (result.exit_code, "no file `nowhere.csv`" in " ".join(result.stderr.split())) == (2, True)
