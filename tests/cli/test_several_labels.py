"""Rows with any number of labels on the command line."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from logikern import KernelMultilabelClassifier, joint_log_loss, load_model
from tests.cli.pictures import LABELS, pictures

NAMED = [word for label in LABELS for word in ("--label", label)]


@pytest.fixture(scope="module")
def files(tmp_path_factory, run):
    """Training and test rows, and a model."""
    folder = tmp_path_factory.mktemp("labels")
    pictures().to_csv(folder / "train.csv", index=False)
    pictures(30, 1).to_csv(folder / "test.csv", index=False)
    result = run("fit", folder / "train.csv", *NAMED, "--fixed", "--out", folder / "m.skops")
    assert result.exit_code == 0, result.stderr
    assert "fit on 60 rows, 3 labels" in result.stderr
    return folder


def table_of(result):
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout), keep_default_na=False)


def in_python(frame=None):
    own = pictures() if frame is None else frame
    settings = {"criterion": None, "inputs": "standard", "random_state": 0, "on_interrupt": "keep"}
    return KernelMultilabelClassifier(**settings).fit(own.drop(columns=LABELS), own[LABELS])


def test_predictions_are_those_of_python(files, run):
    found = table_of(run("predict", files / "m.skops", files / "test.csv", "--keep", "place"))
    assert found.columns.tolist() == ["place", "predicted", *(f"probability_{label}" for label in LABELS)]
    test = pictures(30, 1).drop(columns=LABELS)
    proba = in_python().predict_proba(test)
    np.testing.assert_allclose(found.iloc[:, 2:], proba, rtol=1e-12)
    expected = [";".join(np.array(LABELS)[own]) for own in proba > 0.5]
    assert found["predicted"].tolist() == expected and "" in expected


@pytest.mark.parametrize("loss", ["hamming", "subset", "f1"])
def test_loss_of_labels_may_be_chosen(loss, files, run):
    found = table_of(run("predict", files / "m.skops", files / "test.csv", "--loss", loss))
    decided = in_python().decide(pictures(30, 1).drop(columns=LABELS), loss) == 1
    assert found["predicted"].tolist() == [";".join(np.array(LABELS)[own]) for own in decided]


def test_scores_are_those_of_python(files, run):
    result = run("evaluate", files / "m.skops", files / "test.csv", "--json")
    assert result.exit_code == 0, result.stderr
    found, test, model = json.loads(result.stdout), pictures(30, 1), in_python()
    inputs, truth = test.drop(columns=LABELS), test[LABELS].to_numpy()
    assert found["rows"] == 30
    np.testing.assert_allclose(found["joint_log_loss"], -model.set_log_proba(inputs, truth).mean(), rtol=1e-12)
    np.testing.assert_allclose(found["hamming_loss"], (model.predict(inputs) != truth).mean(), rtol=1e-12)
    wrong = (model.decide(inputs, "subset") != truth).any(axis=1)
    np.testing.assert_allclose(found["subset_error"], wrong.mean(), rtol=1e-12)
    decided = model.decide(inputs, "f1")
    sizes = decided.sum(axis=1) + truth.sum(axis=1)
    f1 = [2 * both / size if size else 1.0 for both, size in zip((decided * truth).sum(axis=1), sizes, strict=True)]
    np.testing.assert_allclose(found["f1"], np.mean(f1), rtol=1e-12)
    for name, interval in found["intervals"].items():
        assert interval["low"] < found[name] < interval["high"]
    shares = np.tile(truth.mean(axis=0), (30, 1))
    np.testing.assert_allclose(found["baseline_joint_log_loss"], joint_log_loss(truth, shares), rtol=1e-12)
    sea = found["per_label"][0]
    assert (sea["label"], sea["rows"]) == ("sea", int(truth[:, 0].sum()))
    np.testing.assert_allclose(sea["mean_probability"], model.predict_proba(inputs)[:, 0].mean(), rtol=1e-12)


def test_scores_are_shown_as_tables(files, run):
    result = run("evaluate", files / "m.skops", files / "test.csv")
    for word in ("joint log loss", "Hamming loss", "subset error", "mean F1 per row", *LABELS):
        assert word in result.stdout


def test_info_names_labels_and_structure(files, run):
    shown = run("info", files / "m.skops")
    assert shown.exit_code == 0 and "KernelMultilabelClassifier" in shown.stdout
    record = json.loads(run("info", files / "m.skops", "--json").stdout)
    assert record["classes"] == LABELS and record["label_sets"] == 8
    assert record["structure"] == load_model(files / "m.skops").structure_ and record["training_rows"] == 60
    assert json.loads(record["fit"]["labels"]) == LABELS


@pytest.mark.parametrize(
    "command, told",
    [
        (("decide",), "`logikern decide` needs a single-label classifier"),
        (("suspects",), "`logikern suspects` needs a single-label classifier"),
        (("evaluate", "--target", "sea"), "remove `--target`"),
        (("predict", "--loss", "taxonomic"), "one of these losses: hamming, subset, f1"),
        (("predict", "--allow-inner"), "one of these losses: hamming, subset, f1"),
    ],
)
def test_what_several_labels_do_not_support_is_said(command, told, files, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(command[0], files / "m.skops", files / "test.csv", *command[1:])
    assert result.exit_code in (1, 2) and told in " ".join(result.stderr.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


def test_losses_of_labels_need_labels(model, run, table, tmp_path):
    table.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", model, tmp_path / "new.csv", "--loss", "f1")
    assert result.exit_code == 1 and "needs a multilabel model" in result.stderr


SPELLINGS = {
    "no and yes": ["no", "yes"],
    "truth": ["False", "True"],
    "decimal": ["0.0", "1.0"],
    "capitals": ["NO", "Yes"],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_labels_may_be_spelled_in_several_ways(name, files, run, tmp_path):
    own = pictures()
    own[LABELS] = np.array(SPELLINGS[name])[own[LABELS].to_numpy()]
    own.to_csv(tmp_path / "train.csv", index=False)
    result = run("fit", tmp_path / "train.csv", *NAMED, "--fixed", "--out", tmp_path / "m.skops")
    assert result.exit_code == 0, result.stderr
    inputs = pictures(30, 1).drop(columns=LABELS)
    expected = load_model(files / "m.skops").predict_proba(inputs)
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").predict_proba(inputs), expected)


def with_cell(row, column, value):
    frame = pictures().astype({column: object})
    frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize(
    "frame, arguments, told",
    [
        (pictures(), (*NAMED, "--target", "place"), "pass only one of them"),
        (with_cell(4, "sky", 2), NAMED, "the label `sky` must hold 0 or 1, no or yes, or false or true, but has '2'"),
        (with_cell(4, "sky", "maybe"), NAMED, "'maybe' in row 5"),
        (with_cell(4, "sky", None), NAMED, "`sky` is missing in row 5"),
        (pictures(), ("--label", "moon"), "moon"),
        (pictures(), ("--label", "sea", "--label", "sea"), "two roles"),
        (pictures(), (*NAMED, "--regression"), "with `--regression` or `--sequence`"),
        (pictures(), (*NAMED, "--class-weight", "balanced"), "cannot be combined with `--class-weight`"),
        (pictures(), (*NAMED, "--tying", "leaf"), "needs a class tree"),
        (pictures(), (*NAMED, "--solver", "smo"), "`--solver` must be one of"),
        (pictures().assign(sea=1, sky=0, city=1), NAMED, "each label has one class only"),
    ],
    ids=["both", "two", "maybe", "missing", "unknown", "twice", "numbers", "weights", "tying", "solver", "constant"],
)
def test_wrong_labels_are_refused(frame, arguments, told, run, tmp_path):
    frame.to_csv(tmp_path / "train.csv", index=False)
    result = run("fit", tmp_path / "train.csv", *arguments, "--fixed", "--out", tmp_path / "m.skops")
    assert result.exit_code in (1, 2)
    assert told in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "m.skops").exists()


def test_rows_without_a_label_may_be_dropped(run, tmp_path):
    with_cell(4, "sky", None).to_csv(tmp_path / "train.csv", index=False)
    result = run(
        "fit", tmp_path / "train.csv", *NAMED, "--drop-missing-target", "--fixed", "--out", tmp_path / "m.skops"
    )
    assert result.exit_code == 0 and "fit on 59 rows" in result.stderr
    assert "dropped 1 row with a missing value in a label column" in result.stderr
    scored = run("evaluate", tmp_path / "m.skops", tmp_path / "train.csv", "--drop-missing-target", "--json")
    assert json.loads(scored.stdout)["rows"] == 59


def test_labels_of_text_are_learned_and_held_out(run, tmp_path):
    own = pictures(90)
    words = {"sea": "water wave sand", "sky": "cloud blue sun", "city": "house street car"}
    own["text"] = [
        " ".join(words[label] for label in LABELS if row[label]) + " picture of a day" for _, row in own.iterrows()
    ]
    own[["text", *LABELS]].to_csv(tmp_path / "train.csv", index=False)
    options = ("--text", "text", "--test-fraction", "0.3", "--cv", "2", "--out", tmp_path / "m.skops")
    result = run("fit", tmp_path / "train.csv", *NAMED, *options)
    assert result.exit_code == 0, result.stderr
    assert "structure of the labels" in result.stderr.lower() and "joint log loss" in result.stdout
    found = table_of(run("predict", tmp_path / "m.skops", tmp_path / "train.csv"))
    assert found["predicted"].tolist() == [";".join(np.array(LABELS)[row == 1]) for row in own[LABELS].to_numpy()]


PATHS = {"sea": "nature/sea", "sky": "nature/sky", "city": "city"}


@pytest.mark.parametrize("hierarchy", ["auto", "file"])
def test_labels_may_be_nodes_of_a_tree(hierarchy, run, tmp_path):
    if hierarchy == "auto":
        names, given = PATHS, "auto"
    else:
        names, given = {label: label for label in LABELS}, tmp_path / "tree.csv"
        given.write_text("child,parent\nsea,nature\nsky,nature\ncity,\n")
    pictures().rename(columns=names).to_csv(tmp_path / "train.csv", index=False)
    labels = [word for label in LABELS for word in ("--label", names[label])]
    result = run(
        "fit", tmp_path / "train.csv", *labels, "--hierarchy", given, "--fixed", "--out", tmp_path / "m.skops"
    )
    assert result.exit_code == 0, result.stderr
    assert "tree: 4 labels in 2 levels" in result.stderr
    found = table_of(run("predict", tmp_path / "m.skops", tmp_path / "train.csv"))
    assert (found[f"probability_{names['sea']}"] <= found["probability_nature"]).all()
    assert all("nature" in own.split(";") for own in found["predicted"] if names["sea"] in own)
    scored = run("evaluate", tmp_path / "m.skops", tmp_path / "train.csv", "--json")
    assert scored.exit_code == 0, scored.stderr
    assert [own["label"] for own in json.loads(scored.stdout)["per_label"]] == [
        "city",
        "nature",
        *sorted(PATHS[x] if hierarchy == "auto" else x for x in ("sea", "sky")),
    ]
    assert run("info", tmp_path / "m.skops").exit_code == 0


@pytest.mark.parametrize(
    "content, told",
    [
        ("child,parent\nsea,nature\ncity,\n", "the label `sky` is not a node"),
        ("child,parent\nsea,nature\nsky,nature\ncity,\nmoon,nature\n", "the leaf 'moon', but no `--label` names it"),
    ],
)
def test_tree_of_other_labels_is_refused(content, told, run, tmp_path):
    (tmp_path / "tree.csv").write_text(content)
    pictures().to_csv(tmp_path / "train.csv", index=False)
    options = ("--hierarchy", tmp_path / "tree.csv", "--fixed", "--out", tmp_path / "m.skops")
    result = run("fit", tmp_path / "train.csv", *NAMED, *options)
    assert result.exit_code == 1 and told in " ".join(result.stderr.split())


def test_model_of_python_is_evaluated_by_the_names_of_its_labels(run, tmp_path):
    in_python().save_model(tmp_path / "m.skops")
    pictures(30, 1).to_csv(tmp_path / "test.csv", index=False)
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "test.csv", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["rows"] == 30
    pictures(30, 1).drop(columns="sky").to_csv(tmp_path / "test.csv", index=False)
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "test.csv")
    assert result.exit_code == 1 and "sky" in result.stderr


def test_wrong_values_are_counted_by_value(run, tmp_path):
    table = pictures().assign(sea=["p0", "p0", *["p1"] * (len(pictures()) - 2)])
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", *NAMED, "--out", tmp_path / "m.skops")
    told = " ".join(result.stderr.replace("│", " ").split())
    assert f"'p0' in rows 1, 2, and other values in {len(table) - 2} rows" in told


def test_fit_explains_the_model_and_names_labels(files, run, tmp_path):
    result = run("fit", files / "test.csv", *NAMED, "--cv", "2", "--out", tmp_path / "m.skops")
    told = result.stderr
    assert result.exit_code == 0 and "Structure of the labels: " in told and "Final model: " in told
    assert (
        "classes" not in told.partition("hyperparameters\n")[2] and "labels" in told.partition("hyperparameters")[2]
    )


def test_report_has_the_scores_of_evaluate(files, run, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    result = run("evaluate", files / "m.skops", files / "test.csv", "--report", page, "--json")
    assert result.exit_code == 0, result.stderr
    assert f"{json.loads(result.stdout)['joint_log_loss']:.4f}" in page.read_text()
    assert run("report", files / "m.skops", files / "test.csv", "--out", page).exit_code == 0
