"""Classes that are the leaves of a tree: from raw text to decisions, scores and a picture of the tree."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import logikern
from logikern.decisions import tree_scores as library

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


@pytest.fixture
def fit(run, make_corpus, tmp_path):
    """Fit the small corpus, or another one, with further arguments."""

    def invoke(*arguments: object, frame: pd.DataFrame | None = None, fixed: bool = True):
        corpus = make_corpus() if frame is None else frame
        corpus.to_json(tmp_path / "docs.jsonl", orient="records", lines=True)
        out = ("--out", tmp_path / "m.skops", *(("--fixed",) if fixed else ()))
        return run("fit", tmp_path / "docs.jsonl", "--text", "body", "--target", "path", *out, *arguments)

    return invoke


@pytest.fixture
def leaf_names(make_corpus) -> pd.DataFrame:
    """The corpus with topics that are no paths."""
    corpus = make_corpus()
    return corpus.assign(path=corpus["path"].str.rpartition("/")[2])


@pytest.fixture
def unseen(make_corpus, tmp_path) -> pd.DataFrame:
    frame = make_corpus(n_texts=60, seed=5, coarse=True)
    frame.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
    return frame


def predicted(result) -> pd.DataFrame:
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout))


# --- fit ---


def test_fit_from_raw_text_without_further_options(run, make_corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_corpus().to_json("docs.jsonl", orient="records", lines=True)
    result = run("fit", "docs.jsonl", "--text", "body", "--target", "path", "--hierarchy", "auto")
    assert result.exit_code == 0, result.stderr
    assert "tree: 10 nodes in 3 levels, of which 6 are classes" in result.stderr
    assert "wrote docs.skops" in result.stderr
    model = logikern.load_model("docs.skops")
    assert (model[-1].kernel, len(model[-1].tree_.labels)) == ("linear", 10)


def test_lists_of_names_are_paths(fit, make_corpus):
    corpus = make_corpus()
    result = fit("--hierarchy", "auto", frame=corpus.assign(path=corpus["path"].str.split("/")))
    assert result.exit_code == 0, result.stderr
    assert "tree: 10 nodes in 3 levels, of which 6 are classes" in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_other_formats_give_the_model_of_json_lines(suffix, run, tree_model, make_corpus, unseen, tmp_path):
    data = tmp_path / f"docs.{suffix}"
    corpus = make_corpus()
    corpus.to_csv(data, index=False) if suffix == "csv" else corpus.to_parquet(data)
    out = tmp_path / "own.skops"
    run("fit", data, "--text", "body", "--target", "path", "--hierarchy", "auto", "--fixed", "--out", out)
    own, reference = (predicted(run("predict", model, tmp_path / "new.jsonl")) for model in (out, tree_model))
    pd.testing.assert_frame_equal(own, reference)


def test_file_of_links_gives_the_probabilities_of_paths(fit, run, tree_model, leaf_names, unseen, tmp_path):
    (tmp_path / "links.csv").write_text(LINKS)
    result = fit("--hierarchy", tmp_path / "links.csv", frame=leaf_names)
    assert result.exit_code == 0, result.stderr
    own = predicted(run("predict", tmp_path / "m.skops", tmp_path / "new.jsonl"))
    reference = predicted(run("predict", tree_model, tmp_path / "new.jsonl"))
    assert own["path"].tolist() == reference["path"].tolist()
    columns = {f"probability_{path.rpartition('/')[2]}": path for path in logikern.load_model(tree_model).classes_}
    for name, path in columns.items():
        # Two fits to the tolerance of the command line.
        np.testing.assert_allclose(own[name], reference[f"probability_{path}"], atol=1e-4)


def test_tabs_and_further_columns_in_the_file_of_links(fit, leaf_names, tmp_path):
    links = pd.read_csv(io.StringIO(LINKS)).assign(note="any")[["note", "parent", "child"]]
    links.to_csv(tmp_path / "links.tsv", sep="\t", index=False)
    assert "tree: 10 nodes" in fit("--hierarchy", tmp_path / "links.tsv", frame=leaf_names).stderr


def test_numbers_of_topics_are_those_of_the_file(fit, leaf_names, run, tmp_path):
    topics = sorted(leaf_names["path"].unique())
    frame = leaf_names.assign(path=leaf_names["path"].map({topic: number for number, topic in enumerate(topics)}))
    links = "child,parent\n" + "".join(f"{number},{100 + number % 2}\n" for number in range(6))
    (tmp_path / "links.csv").write_text(links)
    assert fit("--hierarchy", tmp_path / "links.csv", frame=frame).exit_code == 0
    assert predicted(run("predict", tmp_path / "m.skops", tmp_path / "docs.jsonl"))["path"][0] in (
        "100/0",
        "100/2",
        "100/4",
    )


def test_target_without_paths_is_fitted_flat_with_a_warning(fit, leaf_names, tmp_path):
    result = fit("--hierarchy", "auto", frame=leaf_names)
    assert result.exit_code == 0, result.stderr
    assert "warning: the target `path` has no paths such as" in result.stderr
    assert "tree_" not in vars(logikern.load_model(tmp_path / "m.skops")[-1])


def test_paths_without_hierarchy_are_pointed_out(fit):
    assert "`--hierarchy auto` would use their tree" in fit().stderr


def test_rows_of_inner_nodes_and_classes_without_rows_are_told(fit, make_corpus, tmp_path):
    frame = make_corpus(coarse=True)
    frame["path"] = frame["path"].str.rpartition("/")[2]
    (tmp_path / "links.csv").write_text(LINKS + "botany,science\n")
    told = fit("--hierarchy", tmp_path / "links.csv", frame=frame).stderr
    assert "7 rows name an inner node" in told
    assert "classes without rows of their own: `botany`" in told


@pytest.mark.parametrize("tying", ["level", "subtree"])
def test_tyings_of_trees_are_learned(tying, fit, tmp_path):
    result = fit("--hierarchy", "auto", "--tying", tying, "--cv", 3, fixed=False)
    assert result.exit_code == 0, result.stderr
    assert len(set(logikern.load_model(tmp_path / "m.skops")[-1].variances_.tolist())) > 1


def test_held_out_rows_are_scored_on_the_tree(fit, make_corpus):
    frame = make_corpus(n_texts=90, coarse=True)
    result = fit("--hierarchy", "auto", "--test-fraction", "0.3", "--variance", 1, frame=frame)
    assert result.exit_code == 0, result.stderr
    assert "taxonomic loss" in result.stdout and "27 rows" in result.stdout


def test_rare_classes_of_a_tree_can_be_held_out(fit, make_corpus):
    frame = make_corpus()
    frame.loc[len(frame)] = ["opera song melody", "art/opera"]
    result = fit("--hierarchy", "auto", "--test-fraction", "0.3", frame=frame)
    assert result.exit_code == 0, result.stderr


def test_table_columns_go_beside_text(fit, make_corpus, run, tmp_path):
    frame = make_corpus().assign(pages=range(72), language=["en", "de"] * 36)
    assert fit("--hierarchy", "auto", frame=frame).exit_code == 0
    inputs = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)["inputs"]
    assert inputs == {"numeric": ["pages"], "categorical": ["language"], "text": ["body"]}


def test_weights_of_classes_may_name_inner_nodes(fit, make_corpus):
    weights = ("--class-weight", "art/music=2,science=0.5")
    result = fit("--hierarchy", "auto", "--variance", 1, *weights, frame=make_corpus(coarse=True))
    assert result.exit_code == 0, result.stderr


# --- refusals ---

BAD_LINKS = {
    "circle": (
        LINKS + "sport,ball\nball,sport\n",
        "links.csv` runs in a circle of parents: 'sport' -> 'ball' -> 'sport'",
    ),
    "own parent": (LINKS + "sport,sport\n", "links.csv` makes 'sport' its own parent"),
    "two parents": (LINKS + "optics,biology\n", "links.csv` gives 'optics' two parents, 'physics' and 'biology'"),
    "no header": (
        LINKS.removeprefix("child,parent\n").replace("science,\n", "science,top\n", 1),
        "lacks `child`, `parent`",
    ),
    "semicolons": (LINKS.replace(",", ";"), "with a comma between them"),
    "nameless node": (LINKS + ",art\n", "links.csv` has no `child` in row 11"),
    "no rows": ("child,parent\n", "has a header but no rows"),
    "unknown topic": (LINKS.replace("optics,physics\n", "optic,physics\n"), "holds 'optics' in rows 1, 7"),
}


@pytest.mark.parametrize("name", BAD_LINKS)
def test_bad_file_of_links_is_refused(name, fit, leaf_names, tmp_path):
    content, fragment = BAD_LINKS[name]
    (tmp_path / "links.csv").write_text(content)
    result = fit("--hierarchy", tmp_path / "links.csv", frame=leaf_names)
    assert result.exit_code == 1
    assert fragment in result.stderr
    assert not (tmp_path / "m.skops").exists()


def test_unknown_topic_comes_with_near_nodes(fit, leaf_names, tmp_path):
    (tmp_path / "links.csv").write_text(LINKS.replace("optics,physics\n", "optic,physics\n"))
    told = fit("--hierarchy", tmp_path / "links.csv", frame=leaf_names).stderr
    assert f"`{tmp_path / 'links.csv'}` has no node of that name" in told and "`optic`" in told


def test_path_with_an_empty_step_is_refused(fit, make_corpus):
    frame = make_corpus()
    frame.loc[3, "path"] = "art//music"
    result = fit("--hierarchy", "auto", frame=frame)
    assert result.exit_code == 1
    assert "the target `path` must have paths with a name between any two '/'" in result.stderr


def test_missing_file_of_links_is_a_usage_error(fit):
    result = fit("--hierarchy", "nowhere.csv")
    assert (result.exit_code, "no file `nowhere.csv`" in " ".join(result.stderr.split())) == (2, True)


def test_tying_of_trees_without_a_tree_is_refused(fit):
    result = fit("--tying", "level")
    assert (result.exit_code, "`--tying level` needs a tree" in result.stderr) == (1, True)


def test_standard_input_needs_a_place_for_the_model(run):
    result = run("fit", "-", "--format", "jsonl", "--target", "path", input="{}")
    assert (result.exit_code, "pass `--out`" in " ".join(result.stderr.split())) == (2, True)


BAD_TEXTS = {
    "missing column": ("bdy", {}, "no column `bdy`, which `--text` names. Near matches: `body`"),
    "numbers": ("length", {"length": range(72)}, "column `length` holds numbers, not text"),
    "records": ("body", {"body": [{"words": ["a"]}] * 72}, "column `body` holds a record in row 1"),
    "no words": ("marks", {"marks": ["?!", "..."] * 36}, "column `marks` holds no words"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_text_column_is_refused(name, run, make_corpus, tmp_path):
    column, changes, fragment = BAD_TEXTS[name]
    make_corpus().assign(**changes).to_json(tmp_path / "docs.jsonl", orient="records", lines=True)
    result = run("fit", tmp_path / "docs.jsonl", "--text", column, "--target", "path", "--out", tmp_path / "m.skops")
    assert (result.exit_code, fragment in result.stderr) == (1, True), result.stderr


# --- predict ---


def test_predict_writes_class_path_and_its_probability(run, tree_model, unseen, tmp_path):
    output = predicted(run("predict", tree_model, tmp_path / "new.jsonl"))
    assert list(output.columns[:3]) == ["predicted", "path", "probability"]
    assert (output["predicted"] == output["path"]).all()
    np.testing.assert_allclose(output["probability"], output.filter(like="probability_").max(axis=1))


def test_decisions_are_those_of_the_library(run, tree_model, unseen, tmp_path):
    options = ("--loss", "taxonomic", "--allow-inner")
    output = predicted(run("predict", tree_model, tmp_path / "new.jsonl", *options))
    model = logikern.load_model(tree_model)
    points = model[:-1].transform(unseen[["body"]])
    decisions = model[-1].decide(points, loss="taxonomic", allow_inner=True)
    assert output["predicted"].tolist() == decisions.tolist()
    mass = pd.DataFrame(model[-1].predict_node_proba(points), columns=list(model[-1].tree_.labels))
    wanted = [mass.loc[row, node] for row, node in enumerate(decisions)]
    np.testing.assert_allclose(output["probability"], wanted)


def test_doubtful_rows_are_decided_for_inner_nodes(run, tree_model, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"body": "light cell isotope study"}\n{"body": "cell gene species"}\n')
    output = predicted(run("predict", tree_model, tmp_path / "new.jsonl", "--allow-inner"))
    assert output["predicted"][0] in ("science", "science/physics")
    assert output["predicted"][1] == "science/biology"


@pytest.mark.parametrize("options", [("--loss", "taxonomic"), ("--allow-inner",)])
def test_decisions_on_a_tree_need_a_tree(options, run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", model, tmp_path / "t.csv", *options)
    assert (result.exit_code, "needs a tree of the classes" in result.stderr) == (1, True)


def test_inner_nodes_have_no_parent_loss(run, tree_model, unseen, tmp_path):
    result = run("predict", tree_model, tmp_path / "new.jsonl", "--loss", "parent", "--allow-inner")
    assert (result.exit_code, "goes with `--loss taxonomic`" in " ".join(result.stderr.split())) == (2, True)


def test_missing_text_column_is_refused_at_predict(run, tree_model, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": "light"}\n')
    result = run("predict", tree_model, tmp_path / "new.jsonl")
    assert (result.exit_code, "`body`" in result.stderr) == (1, True)


# --- evaluate ---


@pytest.fixture
def scores(run, tree_model, unseen, tmp_path) -> dict:
    result = run("evaluate", tree_model, tmp_path / "new.jsonl", "--target", "path", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_scores_of_the_tree_are_those_of_the_library(scores, tree_model, unseen):
    model = logikern.load_model(tree_model)
    tree, proba = model[-1].tree_, model.predict_proba(unseen[["body"]])
    decisions = model.predict(unseen[["body"]])
    own = scores["tree"]
    assert own["taxonomic_loss"] == pytest.approx(library.taxonomic_loss(unseen["path"], decisions, tree))
    assert own["hierarchical_f1"] == pytest.approx(library.hierarchical_f1(unseen["path"], decisions, tree))
    assert own["log_loss"] == pytest.approx(library.node_log_loss(unseen["path"], proba, tree))
    levels = library.level_scores(unseen["path"], proba, tree)
    assert [level["accuracy"] for level in own["levels"]] == pytest.approx(levels.accuracy.tolist())


def test_rows_of_inner_nodes_count_on_the_tree_only(scores):
    assert (scores["rows"], scores["tree"]["rows"], scores["tree"]["inner_rows"]) == (54, 60, 6)


def test_confused_siblings_have_one_parent(scores):
    for pair in scores["tree"]["confused_siblings"]:
        above = {name.rpartition("/")[0] or None for name in (pair["first"], pair["second"])}
        assert above == {pair["parent"]}


@pytest.mark.parametrize(
    "fragment",
    ["taxonomic loss", "parent accuracy", "hierarchical F1", "mean reciprocal rank", "levels", "    noir "],
)
def test_table_for_people_shows(fragment, run, tree_model, unseen, tmp_path):
    shown = run("evaluate", tree_model, tmp_path / "new.jsonl", "--target", "path").stdout
    assert fragment in shown


def test_rows_that_all_name_inner_nodes_are_scored(run, tree_model, unseen, tmp_path):
    unseen.assign(path="science").to_json(tmp_path / "new.jsonl", orient="records", lines=True)
    for options in ((), ("--json",)):
        result = run("evaluate", tree_model, tmp_path / "new.jsonl", "--target", "path", *options)
        assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["tree"]["parent_accuracy"] is None


def test_unknown_node_is_refused_with_its_row(run, tree_model, unseen, tmp_path):
    unseen.loc[3, "path"] = "science/chemistry"
    unseen.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
    result = run("evaluate", tree_model, tmp_path / "new.jsonl", "--target", "path")
    assert (result.exit_code, "holds 'science/chemistry' in row 4" in result.stderr) == (1, True)


# --- info, and models from Python ---


def test_info_shows_the_tree_with_variances(run, tree_model):
    shown = run("info", tree_model).stdout
    assert "tree: 10 nodes, 6 of them classes" in shown
    assert [line.split()[0] for line in shown.splitlines()[-10:]][:4] == ["art", "film", "noir", "western"]


def test_info_gives_the_tree_to_scripts(run, tree_model):
    record = json.loads(run("info", tree_model, "--json").stdout)
    nodes = {entry["node"]: entry for entry in record["tree"]}
    assert nodes["art/film/noir"]["parent"] == "art/film" and nodes["art"]["parent"] is None
    assert all(entry["variance"] > 0 for entry in nodes.values())
    assert record["parameters"]["hierarchy"] == "10 nodes in 3 levels"


def test_model_without_tree_has_none(run, model):
    assert json.loads(run("info", model, "--json").stdout)["tree"] is None


def test_paths_that_are_tuples_are_written_as_text(run, table, tmp_path):
    kinds = {"apple": ("stone", "no"), "plum": ("stone", "yes"), "pear": ("soft",)}
    labels = [kinds[kind] for kind in table["kind"]]
    fitted = logikern.KernelLogisticClassifier(hierarchy="paths", criterion=None)
    fitted.fit(table[["width", "height"]], labels).save_model(tmp_path / "m.skops")
    table.assign(path=["/".join(label) for label in labels]).to_csv(tmp_path / "t.csv", index=False)
    output = predicted(run("predict", tmp_path / "m.skops", tmp_path / "t.csv"))
    assert {"probability_soft", "probability_stone/no", "probability_stone/yes"} < set(output.columns)
    assert set(output["path"]) <= {"soft", "stone/no", "stone/yes"}
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "t.csv", "--target", "path")
    assert result.exit_code == 0, result.stderr
    assert run("info", tmp_path / "m.skops", "--json").exit_code == 0
