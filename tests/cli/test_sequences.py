"""Sequences in the shell: fit, predict, evaluate and info, and what they refuse."""

import io
import json
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

import logikern
from logikern import KernelSequenceClassifier
from logikern.decisions.intervals import bootstrap_means
from logikern.model import persistence

FIXED = ("--target", "tag", "--sequence", "sentence", "--fixed")


@pytest.fixture
def tokens(make_tokens):
    return make_tokens()


@pytest.fixture
def unseen(make_tokens, tmp_path):
    frame = make_tokens(n_sentences=15, seed=1)
    frame.to_csv(tmp_path / "new.csv", index=False)
    return frame


@pytest.fixture
def fit_tokens(run, tokens, tmp_path):
    """Fit a table of tokens, with further arguments."""

    def invoke(*arguments, frame=tokens):
        frame.to_csv(tmp_path / "tokens.csv", index=False)
        return run("fit", tmp_path / "tokens.csv", "--out", tmp_path / "m.skops", *arguments)

    return invoke


def predicted(run, folder, *arguments):
    result = run("predict", folder / "m.skops", folder / "new.csv", *arguments)
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout))


def probabilities(frame):
    return frame.filter(like="probability_").to_numpy()


def test_shell_and_python_agree(fit_tokens, run, tokens, unseen, tmp_path):
    assert fit_tokens("--target", "tag", "--sequence", "sentence").exit_code == 0
    model = KernelSequenceClassifier(inputs="standard", random_state=0, on_interrupt="keep")
    model.fit(tokens[["word", "length"]], tokens["tag"], groups=tokens["sentence"])
    new, names = unseen[["word", "length"]], unseen["sentence"]
    found = predicted(run, tmp_path)
    np.testing.assert_allclose(probabilities(found), model.predict_proba(new, groups=names), atol=1e-12)
    assert found["predicted"].tolist() == model.predict(new, groups=names).tolist()
    assert list(found.columns[1:]) == ["probability_DET", "probability_NOUN", "probability_VERB"]


def test_rows_stay_in_the_order_of_the_table(fit_tokens, run, unseen, tmp_path):
    assert fit_tokens(*FIXED).exit_code == 0
    whole = predicted(run, tmp_path, "--keep", "sentence")
    order = np.argsort(unseen.groupby("sentence").cumcount(), kind="stable").to_numpy()  # sentences interleaved
    unseen.iloc[order].to_csv(tmp_path / "new.csv", index=False)
    mixed = predicted(run, tmp_path, "--keep", "sentence")
    assert mixed["sentence"].tolist() == unseen["sentence"].iloc[order].tolist()
    np.testing.assert_allclose(probabilities(mixed), probabilities(whole)[order], atol=1e-12)


def test_most_probable_sequence_is_predicted(fit_tokens, run, tokens, tmp_path):
    """Without inputs that tell labels apart, neighbours decide, and single rows would be wrong."""
    assert fit_tokens(*FIXED).exit_code == 0
    model = logikern.load_model(tmp_path / "m.skops")
    frame = tokens.assign(word="?", length=0.0)
    frame.to_csv(tmp_path / "new.csv", index=False)
    inputs = frame[["word", "length"]]
    assert predicted(run, tmp_path)["predicted"].tolist() == model.predict(inputs, groups=frame["sentence"]).tolist()
    best = model.log_likelihood(inputs, model.predict(inputs, groups=frame["sentence"]), groups=frame["sentence"])
    assert (best >= model.log_likelihood(inputs, tokens["tag"], groups=frame["sentence"]) - 1e-12).all()


def test_text_columns_become_a_pipeline(fit_tokens, run, unseen, tmp_path):
    result = fit_tokens(*FIXED, "--text", "word")
    assert result.exit_code == 0, result.stderr
    model = logikern.load_model(tmp_path / "m.skops")
    wanted = model.predict_proba(unseen[["word", "length"]], groups=unseen["sentence"])
    np.testing.assert_allclose(probabilities(predicted(run, tmp_path)), wanted, atol=1e-12)
    assert run("evaluate", tmp_path / "m.skops", tmp_path / "new.csv").exit_code == 0
    record = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)
    assert (
        record["inputs"] == {"numeric": ["length"], "text": ["word"]} and record["pipeline"][0] == "ColumnTransformer"
    )


def test_scores_are_those_of_python(fit_tokens, run, unseen, tmp_path):
    assert fit_tokens(*FIXED).exit_code == 0
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "new.csv", "--json")
    found, model = json.loads(result.stdout), logikern.load_model(tmp_path / "m.skops")
    inputs, tags, names = unseen[["word", "length"]], unseen["tag"].to_numpy(), unseen["sentence"]
    chances = model.predict_proba(inputs, groups=names)
    own = chances[np.arange(len(tags)), np.searchsorted(model.classes_, tags)]
    assert found["log_loss"] == pytest.approx(-np.log(own).mean())
    assert found["error"] == pytest.approx(1 - model.score(inputs, tags, groups=names))
    joint = model.log_likelihood(inputs, tags, groups=names)
    whole = found["sequences"]
    assert whole["sequences"] == 15 and whole["log_loss"] == pytest.approx(-joint.mean())
    assert whole["log_loss_per_row"] == pytest.approx(-joint.sum() / len(tags))
    wrong = unseen["sentence"][model.predict(inputs, groups=names) != tags]
    assert whole["error"] == pytest.approx(wrong.nunique() / 15)


def test_intervals_resample_whole_sequences(fit_tokens, run, unseen, tmp_path):
    assert fit_tokens(*FIXED).exit_code == 0
    found = json.loads(run("evaluate", tmp_path / "m.skops", tmp_path / "new.csv", "--json").stdout)
    model = logikern.load_model(tmp_path / "m.skops")
    inputs, tags, names = unseen[["word", "length"]], unseen["tag"].to_numpy(), unseen["sentence"].to_numpy()
    wrong = (model.predict(inputs, groups=names) != tags).astype(float)
    [expected] = bootstrap_means(wrong[:, None], groups=names)
    assert found["intervals"]["error"]["high"] == pytest.approx(expected.high)
    [joint] = bootstrap_means(-model.log_likelihood(inputs, tags, groups=names)[:, None])
    assert found["sequences"]["intervals"]["log_loss"]["high"] == pytest.approx(joint.high)


def test_evaluation_prints_whole_sequences(fit_tokens, run, unseen, tmp_path):
    assert fit_tokens(*FIXED).exit_code == 0
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "new.csv")
    assert result.exit_code == 0 and "15 whole sequences" in result.stdout


def test_fit_explains_the_model(fit_tokens, tmp_path):
    result = fit_tokens("--target", "tag", "--sequence", "sentence")
    told = " ".join(result.stderr.split())
    own = logikern.load_model(tmp_path / "m.skops").specification_
    assert "Final model: " in told and "Cost of the search: " in told
    assert f"Prior of the transition scores: variance {own.transition_variance:.3g};" in told


def test_info_shows_hyperparameters_and_transitions(fit_tokens, run, tmp_path):
    assert fit_tokens("--target", "tag", "--sequence", "sentence", "--cv", "2").exit_code == 0
    shown = run("info", tmp_path / "m.skops")
    assert shown.exit_code == 0 and "pseudocount" in shown.stdout and "transition scores" in shown.stdout
    record = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)
    model = logikern.load_model(tmp_path / "m.skops")
    assert record["fit"]["sequence"] == "sentence" and record["transitions"] == model.transition_.tolist()
    assert record["training_rows"] == model.n_training_rows_ and record["classes"] == ["DET", "NOUN", "VERB"]
    found = {row["name"]: row["value"] for row in record["hyperparameters"]}
    assert found["transition_variance"] == model.specification_.transition_variance


def test_sequences_have_weights(fit_tokens, run, tokens, unseen, tmp_path):
    weights = 1.0 + (tokens["sentence"] > "s10")
    assert fit_tokens(*FIXED, "--weight", "weight", frame=tokens.assign(weight=weights)).exit_code == 0
    model = KernelSequenceClassifier(inputs="standard", criterion=None)
    inputs, names = ["word", "length"], tokens["sentence"]
    model.fit(tokens[inputs], tokens["tag"], groups=names, sample_weight=weights)
    wanted = model.predict_proba(unseen[inputs], groups=unseen["sentence"])
    np.testing.assert_allclose(probabilities(predicted(run, tmp_path)), wanted, atol=1e-12)


def test_rows_see_their_neighbours(fit_tokens, run, unseen, tmp_path):
    assert fit_tokens(*FIXED, "--window", "1").exit_code == 0
    model = logikern.load_model(tmp_path / "m.skops")
    wanted = model.predict_proba(unseen[["word", "length"]], groups=unseen["sentence"])
    np.testing.assert_allclose(probabilities(predicted(run, tmp_path)), wanted, atol=1e-12)
    shown = run("info", tmp_path / "m.skops").stdout
    assert model.window == 1 and "window -1" in shown and "window +1" in shown


def test_window_of_single_rows_is_refused(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--window", "1", "--out", tmp_path / "m.skops")
    assert result.exit_code == 2 and "`--window` needs `--sequence COL`" in result.stderr


def test_held_out_rows_are_whole_sequences(fit_tokens, tokens):
    result = fit_tokens(*FIXED, "--test-fraction", "0.25")
    assert result.exit_code == 0 and "held-out rows in 8 sequences" in result.stderr


def test_other_column_may_mark_sequences(fit_tokens, run, unseen, tmp_path):
    assert fit_tokens(*FIXED).exit_code == 0
    before = predicted(run, tmp_path)
    unseen.rename(columns={"sentence": "phrase"}).to_csv(tmp_path / "new.csv", index=False)
    pd.testing.assert_frame_equal(predicted(run, tmp_path, "--sequence", "phrase"), before)


def test_model_of_python_needs_the_column(run, tokens, unseen, tmp_path):
    model = KernelSequenceClassifier(criterion=None)
    model.fit(tokens[["length"]].to_numpy(), tokens["tag"], groups=tokens["sentence"]).save_model(
        tmp_path / "m.skops"
    )
    unseen[["length", "sentence"]].to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", tmp_path / "m.skops", tmp_path / "new.csv")
    assert result.exit_code == 2 and "pass `--sequence COL`" in result.stderr
    wanted = model.predict_proba(unseen[["length"]].to_numpy(), groups=unseen["sentence"])
    np.testing.assert_allclose(probabilities(predicted(run, tmp_path, "--sequence", "sentence")), wanted, atol=1e-12)


REFUSED = {
    "no such column": (("--sequence", "sentense"), {}, 1, "no column `sentense`, which is named by `--sequence`."),
    "gaps in the column": (
        ("--sequence", "sentence"),
        {"sentence": lambda frame: frame["sentence"].where(frame.index != 3)},
        1,
        "`sentence` is missing in row 4",
    ),
    "one label": (("--sequence", "sentence"), {"tag": "NOUN"}, 1, "has only one class, 'NOUN'"),
    "gaps in the target": (
        ("--sequence", "sentence"),
        {"tag": lambda frame: frame["tag"].where(frame.index != 1)},
        1,
        "`tag` is missing in row 2",
    ),
    "one sequence": (("--sequence", "sentence"), {"sentence": "s1"}, 1, "only one sequence, 's1'"),
    "two roles": (("--sequence", "tag"), {}, 2, "have two roles each"),
    "weights of rows": (
        ("--sequence", "sentence", "--weight", "weight", "--fixed"),
        {"weight": lambda frame: 1.0 + (frame.index == 1)},
        1,
        "must be the same for all rows of a sequence, but row 1",
    ),
    "groups": (("--sequence", "sentence", "--groups", "word"), {}, 2, "cannot be combined with `--groups`"),
    "dropped rows": (
        ("--sequence", "sentence", "--drop-missing-target"),
        {},
        2,
        "combined with `--drop-missing-target`",
    ),
    "a tree": (("--sequence", "sentence", "--hierarchy", "auto"), {}, 2, "cannot be combined with `--hierarchy`"),
    "several options": (
        ("--sequence", "sentence", "--no-ard", "--class-weight", "balanced", "--solver", "exact"),
        {},
        2,
        "cannot be combined with `--class-weight`, `--no-ard`, `--solver`",
    ),
    "tying of trees": (
        ("--sequence", "sentence", "--tying", "level"),
        {},
        2,
        "one of shared, scaled, separate",
    ),
    "leave-one-out": (
        ("--sequence", "sentence", "--criterion", "loo"),
        {},
        2,
        "must be cv, but is loo",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_fit_is_refused_before_work(name, fit_tokens, tokens, tmp_path):
    arguments, changes, code, fragment = REFUSED[name]
    result = fit_tokens("--target", "tag", *arguments, frame=tokens.assign(**changes))
    assert (result.exit_code, "final fit" in result.stderr) == (code, False), result.stderr
    assert fragment in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "m.skops").exists()


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"sentence": None}, "has no column `sentence`, which is named by the model file."),
        ({"word": None}, "lacks 1 of the 2 columns that the model needs: `word`"),
    ],
)
def test_missing_columns_are_named(changes, fragment, tag_model, run, unseen, tmp_path):
    unseen.drop(columns=list(changes)).to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", tag_model, tmp_path / "new.csv")
    assert result.exit_code == 1 and fragment in result.stderr


@pytest.mark.parametrize(
    ("column", "arguments", "origin"),
    [("nowhere", ("--keep", "nowhere"), "`--keep`"), ("phrase", ("--sequence", "phrase"), "`--sequence`")],
)
def test_missing_column_is_traced_to_the_option_that_names_it(column, arguments, origin, tag_model, run, tmp_path):
    (tmp_path / "new.csv").write_text("word,length,sentence\nhaus,4,a\n")
    result = run("predict", tag_model, tmp_path / "new.csv", *arguments)
    assert result.exit_code == 1 and f"no column `{column}`, which is named by {origin}." in result.stderr


def test_sequence_model_needs_a_table(tag_model, run, tmp_path):
    (tmp_path / "new.svm").write_text("1 1:2\n")
    result = run("predict", tag_model, tmp_path / "new.svm")
    assert result.exit_code == 1 and "needs the column `sentence`, but" in result.stderr
    assert "Pass a table." in result.stderr


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_gaps_in_the_sequence_column_are_refused(command, tag_model, run, unseen, tmp_path):
    unseen.assign(sentence=unseen["sentence"].where(unseen.index != 2)).to_csv(tmp_path / "new.csv", index=False)
    result = run(command, tag_model, tmp_path / "new.csv")
    assert result.exit_code == 1 and "`sentence` is missing in row 3" in result.stderr


def test_unknown_labels_are_refused(tag_model, run, unseen, tmp_path):
    unseen.assign(tag=unseen["tag"].where(unseen.index != 2, "ADV")).to_csv(tmp_path / "new.csv", index=False)
    result = run("evaluate", tag_model, tmp_path / "new.csv")
    assert result.exit_code == 1 and "holds 'ADV' in row 3, but the model knows" in result.stderr


def test_rows_are_not_dropped_from_sequences(tag_model, run, unseen, tmp_path):
    result = run("evaluate", tag_model, tmp_path / "new.csv", "--drop-missing-target")
    assert result.exit_code == 2 and "would break up sequences" in result.stderr


@pytest.mark.parametrize("command", ["decide", "suspects"])
def test_other_commands_say_that_they_need_single_rows(command, tag_model, run, tmp_path):
    # The table does not exist: the model is refused before it is read.
    result = run(command, tag_model, tmp_path / "none.csv")
    assert result.exit_code == 1 and f"`logikern {command}` needs a single-label classifier" in result.stderr
    assert "contains a sequence classifier" in result.stderr


def test_sequences_of_single_rows_are_refused(model, run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    for command in ("predict", "evaluate"):
        result = run(command, model, tmp_path / "t.csv", "--sequence", "colour")
        told = " ".join(result.stderr.replace("│", " ").split())
        assert result.exit_code == 2 and "classifies rows independently" in told


def test_sequences_in_svmlight_are_refused(run, tmp_path):
    (tmp_path / "t.svm").write_text("1 1:2\n0 2:1\n")
    result = run("fit", tmp_path / "t.svm", "--sequence", "s", "--out", tmp_path / "m.skops")
    assert result.exit_code == 2 and "svmlight has no column names" in result.stderr


def start(folder, *arguments):
    command = [sys.executable, "-m", "logikern", "fit", "tokens.csv", "--target", "tag", "--sequence", "sentence"]
    # A shell lets jobs in the background ignore Ctrl-C, and they pass this on.
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    arguments = [*command, "-o", "m.skops", *arguments]
    return subprocess.Popen(arguments, cwd=folder, stderr=subprocess.PIPE, text=True, preexec_fn=listen)


def read_until(process, fragment):
    for line in process.stderr:
        if fragment in line:
            return
    raise AssertionError(f"the fit ended without saying {fragment!r}")


@pytest.fixture
def slow(make_tokens, tmp_path):
    """A folder with a table on which a search takes some seconds."""
    make_tokens(n_sentences=200, noise=0.35).to_csv(tmp_path / "tokens.csv", index=False)
    return tmp_path


def test_interrupted_search_writes_its_best_model(slow, run):
    with start(slow) as process:
        read_until(process, "evaluation 1:")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 3, said
    assert "Ctrl-C again to abort" in said and "warning: The search for hyperparameters ended early" in said
    assert json.loads(run("info", slow / "m.skops", "--json").stdout)["stopped_early"] == "it was interrupted"


def test_killed_search_resumes_to_the_same_model(slow, run):
    with start(slow, "--checkpoint", "search") as process:
        read_until(process, "evaluation 2:")
        process.kill()
        process.communicate(timeout=60)
    arguments = ("fit", slow / "tokens.csv", "--target", "tag", "--sequence", "sentence", "-o", slow / "m.skops")
    models = []
    for more in (("--checkpoint", slow / "fit.search"), ()):
        assert run(*arguments, *more).exit_code == 0
        models.append(persistence.load_model(slow / "m.skops"))
    assert models[0].specification_ == models[1].specification_
    assert np.array_equal(models[0].transition_, models[1].transition_)


def test_report_has_the_scores_of_evaluate(tag_model, run, unseen, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    result = run("evaluate", tag_model, tmp_path / "new.csv", "--report", page, "--json")
    assert result.exit_code == 0, result.stderr
    assert f"{json.loads(result.stdout)['sequences']['log_loss']:.4f}" in page.read_text()
    assert run("report", tag_model, tmp_path / "new.csv", "--out", page).exit_code == 0
    assert "15 sequences" in page.read_text()
