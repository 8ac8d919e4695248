"""Classes that are the leaves of a tree: from raw text to decisions, scores and a picture of the tree."""

import json

import numpy as np
import pandas as pd
import pytest

import logikern
from logikern.decisions import tree_scores as library

# --- fit ---


def test_fit_from_raw_text_without_further_options(run, make_corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_corpus().to_json("docs.jsonl", orient="records", lines=True)
    result = run("fit", "docs.jsonl", "--text", "body", "--target", "path", "--hierarchy", "auto")
    assert result.exit_code == 0, result.stderr
    assert "tree: 10 nodes in 3 levels; 6 of the nodes are classes" in result.stderr
    assert "wrote docs.skops" in result.stderr
    model = logikern.load_model("docs.skops")
    assert (model[-1].kernel, len(model[-1].tree_.labels)) == ("linear", 10)


def test_lists_of_names_are_paths(fit_texts, make_corpus):
    corpus = make_corpus()
    result = fit_texts("--hierarchy", "auto", frame=corpus.assign(path=corpus["path"].str.split("/")))
    assert result.exit_code == 0, result.stderr
    assert "tree: 10 nodes in 3 levels; 6 of the nodes are classes" in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_other_formats_give_the_model_of_json_lines(
    suffix, run, predict_texts, tree_model, make_corpus, unseen_texts, tmp_path
):
    data = tmp_path / f"docs.{suffix}"
    corpus = make_corpus()
    corpus.to_csv(data, index=False) if suffix == "csv" else corpus.to_parquet(data)
    out = tmp_path / "own.skops"
    run("fit", data, "--text", "body", "--target", "path", "--hierarchy", "auto", "--fixed", "--out", out)
    own, reference = (predict_texts(model, tmp_path / "new.jsonl") for model in (out, tree_model))
    pd.testing.assert_frame_equal(own, reference)


def test_rows_of_a_node_with_one_class_are_told_as_rows_of_that_class(fit_texts, make_corpus, tmp_path, run):
    frame = make_corpus()
    frame["path"] = frame["path"].where(frame["path"] != "art/music", "art/music/opera")
    frame.loc[frame.index[frame["path"] == "art/music/opera"][:5], "path"] = "art/music"
    result = fit_texts("--hierarchy", "auto", frame=frame)
    assert "name an inner node" not in result.stderr
    assert "Rows labelled 'art/music' count as rows of 'art/music/opera'" in result.stderr
    frame.to_json(tmp_path / "docs.jsonl", orient="records", lines=True)
    scored = json.loads(run("evaluate", tmp_path / "m.skops", tmp_path / "docs.jsonl", "-t", "path", "--json").stdout)
    assert scored["tree"]["inner_rows"] == 0


def test_target_without_paths_is_fitted_flat_with_a_warning(fit_texts, leaf_names, tmp_path):
    result = fit_texts("--hierarchy", "auto", frame=leaf_names)
    assert result.exit_code == 0, result.stderr
    assert "warning: the target `path` has no paths such as" in result.stderr
    assert "tree_" not in vars(logikern.load_model(tmp_path / "m.skops")[-1])


def test_paths_without_hierarchy_are_pointed_out(fit_texts):
    assert "pass `--hierarchy auto` to use their tree" in fit_texts().stderr


@pytest.mark.parametrize("tying", ["level", "subtree"])
def test_tyings_of_trees_are_learned(tying, fit_texts, tmp_path):
    result = fit_texts("--hierarchy", "auto", "--tying", tying, "--cv", 3, fixed=False)
    assert result.exit_code == 0, result.stderr
    assert len(set(logikern.load_model(tmp_path / "m.skops")[-1].variances_.tolist())) > 1


def test_held_out_rows_are_scored_on_the_tree(fit_texts, make_corpus):
    frame = make_corpus(n_texts=90, coarse=True)
    result = fit_texts("--hierarchy", "auto", "--test-fraction", "0.3", "--variance", 1, frame=frame)
    assert result.exit_code == 0, result.stderr
    assert "taxonomic loss" in result.stdout and "27 rows" in result.stdout


def test_rare_classes_of_a_tree_can_be_held_out(fit_texts, make_corpus):
    frame = make_corpus()
    frame.loc[len(frame)] = ["opera song melody", "art/opera"]
    result = fit_texts("--hierarchy", "auto", "--test-fraction", "0.3", frame=frame)
    assert result.exit_code == 0, result.stderr


def test_table_columns_go_beside_text(fit_texts, make_corpus, run, tmp_path):
    frame = make_corpus().assign(pages=range(72), language=["en", "de"] * 36)
    assert fit_texts("--hierarchy", "auto", frame=frame).exit_code == 0
    inputs = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)["inputs"]
    assert inputs == {"numeric": ["pages"], "categorical": ["language"], "text": ["body"]}


def test_weights_of_classes_may_name_inner_nodes(fit_texts, make_corpus):
    weights = ("--class-weight", "art/music=2,science=0.5")
    result = fit_texts("--hierarchy", "auto", "--variance", 1, *weights, frame=make_corpus(coarse=True))
    assert result.exit_code == 0, result.stderr


# --- refusals ---


def test_path_with_an_empty_step_is_refused(fit_texts, make_corpus):
    frame = make_corpus()
    frame.loc[3, "path"] = "art//music"
    result = fit_texts("--hierarchy", "auto", frame=frame)
    assert result.exit_code == 1
    assert "the target `path` must have paths without empty names" in result.stderr


def test_tying_of_trees_without_a_tree_is_refused(fit_texts):
    result = fit_texts("--tying", "level")
    assert (result.exit_code, "`--tying level` needs a class tree" in result.stderr) == (1, True)


def test_standard_input_needs_a_place_for_the_model(run):
    result = run("fit", "-", "--format", "jsonl", "--target", "path", input="{}")
    assert (result.exit_code, "as `--out`" in " ".join(result.stderr.split())) == (2, True)


BAD_TEXTS = {
    "missing column": ("bdy", {}, "no column `bdy`, which is named by `--text`. Did you mean `body`?"),
    "numbers": ("length", {"length": range(72)}, "column `length` holds numbers, not text"),
    "records": ("body", {"body": [{"words": ["a"]}] * 72}, "column `body` holds a record in row 1"),
    "no words": ("marks", {"marks": ["?!", "..."] * 36}, "column `marks` has no words"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_text_column_is_refused(name, run, make_corpus, tmp_path):
    column, changes, fragment = BAD_TEXTS[name]
    make_corpus().assign(**changes).to_json(tmp_path / "docs.jsonl", orient="records", lines=True)
    result = run("fit", tmp_path / "docs.jsonl", "--text", column, "--target", "path", "--out", tmp_path / "m.skops")
    assert (result.exit_code, fragment in result.stderr) == (1, True), result.stderr


# --- predict ---


def test_predict_writes_class_path_and_its_probability(predict_texts, tree_model, unseen_texts, tmp_path):
    output = predict_texts(tree_model, tmp_path / "new.jsonl")
    assert list(output.columns[:3]) == ["predicted", "path", "probability"]
    assert (output["predicted"] == output["path"]).all()
    np.testing.assert_allclose(output["probability"], output.filter(like="probability_").max(axis=1))


def test_decisions_are_those_of_the_library(predict_texts, tree_model, unseen_texts, tmp_path):
    options = ("--loss", "taxonomic", "--allow-inner")
    output = predict_texts(tree_model, tmp_path / "new.jsonl", *options)
    model = logikern.load_model(tree_model)
    points = model[:-1].transform(unseen_texts[["body"]])
    decisions = model[-1].decide(points, loss="taxonomic", allow_inner=True)
    assert output["predicted"].tolist() == decisions.tolist()
    mass = pd.DataFrame(model[-1].predict_node_proba(points), columns=list(model[-1].tree_.labels))
    wanted = [mass.loc[row, node] for row, node in enumerate(decisions)]
    np.testing.assert_allclose(output["probability"], wanted)


def test_doubtful_rows_are_decided_for_inner_nodes(predict_texts, tree_model, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"body": "light cell isotope study"}\n{"body": "cell gene species"}\n')
    output = predict_texts(tree_model, tmp_path / "new.jsonl", "--allow-inner")
    assert output["predicted"][0] in ("science", "science/physics")
    assert output["predicted"][1] == "science/biology"


@pytest.mark.parametrize("options", [("--loss", "taxonomic"), ("--allow-inner",)])
def test_decisions_on_a_tree_need_a_tree(options, run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", model, tmp_path / "t.csv", *options)
    assert (result.exit_code, "needs a class tree" in result.stderr) == (1, True)


def test_inner_nodes_have_no_parent_loss(run, tree_model, unseen_texts, tmp_path):
    result = run("predict", tree_model, tmp_path / "new.jsonl", "--loss", "parent", "--allow-inner")
    assert (result.exit_code, "needs `--loss taxonomic`" in " ".join(result.stderr.split())) == (2, True)


def test_missing_text_column_is_refused_at_predict(run, tree_model, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": "light"}\n')
    result = run("predict", tree_model, tmp_path / "new.jsonl")
    assert (result.exit_code, "`body`" in result.stderr) == (1, True)


# --- evaluate ---


@pytest.fixture
def scores(run, tree_model, unseen_texts, tmp_path) -> dict:
    result = run("evaluate", tree_model, tmp_path / "new.jsonl", "--target", "path", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_scores_of_the_tree_are_those_of_the_library(scores, tree_model, unseen_texts):
    model = logikern.load_model(tree_model)
    tree, proba = model[-1].tree_, model.predict_proba(unseen_texts[["body"]])
    decisions = model.predict(unseen_texts[["body"]])
    own = scores["tree"]
    assert own["taxonomic_loss"] == pytest.approx(library.taxonomic_loss(unseen_texts["path"], decisions, tree))
    assert own["hierarchical_f1"] == pytest.approx(library.hierarchical_f1(unseen_texts["path"], decisions, tree))
    assert own["log_loss"] == pytest.approx(library.node_log_loss(unseen_texts["path"], proba, tree))
    levels = library.level_scores(unseen_texts["path"], proba, tree)
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
def test_table_for_people_shows(fragment, run, tree_model, unseen_texts, tmp_path):
    shown = run("evaluate", tree_model, tmp_path / "new.jsonl", "--target", "path").stdout
    assert fragment in shown


def test_rows_that_all_name_inner_nodes_are_scored(run, tree_model, unseen_texts, tmp_path):
    unseen_texts.assign(path="science").to_json(tmp_path / "new.jsonl", orient="records", lines=True)
    for options in ((), ("--json",)):
        result = run("evaluate", tree_model, tmp_path / "new.jsonl", "--target", "path", *options)
        assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["tree"]["parent_accuracy"] is None


def test_unknown_node_is_refused_with_its_row(run, tree_model, unseen_texts, tmp_path):
    unseen_texts.loc[3, "path"] = "science/chemistry"
    unseen_texts.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
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


def test_paths_that_are_tuples_are_written_as_text(run, predict_texts, table, tmp_path):
    kinds = {"apple": ("stone", "no"), "plum": ("stone", "yes"), "pear": ("soft",)}
    labels = [kinds[kind] for kind in table["kind"]]
    fitted = logikern.KernelLogisticClassifier(hierarchy="paths", criterion=None)
    fitted.fit(table[["width", "height"]], labels).save_model(tmp_path / "m.skops")
    table.assign(path=["/".join(label) for label in labels]).to_csv(tmp_path / "t.csv", index=False)
    output = predict_texts(tmp_path / "m.skops", tmp_path / "t.csv")
    assert {"probability_soft", "probability_stone/no", "probability_stone/yes"} < set(output.columns)
    assert set(output["path"]) <= {"soft", "stone/no", "stone/yes"}
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "t.csv", "--target", "path")
    assert result.exit_code == 0, result.stderr
    assert run("info", tmp_path / "m.skops", "--json").exit_code == 0
