"""`logikern decide`, against sums over the probabilities that `predict` writes."""

import io

import numpy as np
import pandas as pd
import pytest

LABELS = ["apple", "pear", "plum"]
LOSSES = pd.DataFrame([[0, 1, 4], [2, 0, 1], [9, 3, 0]], index=LABELS, columns=LABELS)


@pytest.fixture
def data(make_table, tmp_path):
    make_table(n_points=90, seed=5).assign(id=range(90)).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path / "new.csv"


@pytest.fixture
def probabilities(run, model, data) -> np.ndarray:
    return pd.read_csv(io.StringIO(run("predict", model, data).stdout)).filter(like="probability_").to_numpy()


@pytest.fixture
def decided(run, model, data):
    """The table that the command prints."""

    def invoke(*arguments):
        result = run("decide", model, data, *arguments)
        assert result.exit_code == 0, result.stderr
        return pd.read_csv(io.StringIO(result.stdout))

    return invoke


def test_default_is_the_most_probable_class(decided, probabilities):
    found = decided()
    assert found["decision"].tolist() == [LABELS[place] for place in probabilities.argmax(axis=1)]
    np.testing.assert_allclose(found["expected_loss"], 1 - probabilities.max(axis=1))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_losses_are_matched_by_name(order, decided, probabilities, tmp_path):
    LOSSES.iloc[order, order[::-1]].to_csv(tmp_path / "losses.csv")
    found, expected = decided("--loss", tmp_path / "losses.csv"), probabilities @ LOSSES.to_numpy().T
    assert found["decision"].tolist() == [LABELS[place] for place in expected.argmin(axis=1)]
    np.testing.assert_allclose(found["expected_loss"], expected.min(axis=1))


def test_rows_are_rejected_above_the_cost(decided, probabilities):
    found = decided("--reject-cost", 0.2, "--reject-label", "ask")
    rejected = probabilities.max(axis=1) < 0.8
    assert 0 < rejected.sum() < 90 and ((found["decision"] == "ask") == rejected).all()
    assert (found["expected_loss"][rejected] == 0.2).all()


def test_decisions_need_not_be_classes(decided, probabilities, tmp_path):
    (tmp_path / "losses.csv").write_text("do;apple;pear;plum\nsell;0;0;5\nwait;1;1;1\n")
    found = decided("--loss", tmp_path / "losses.csv")
    assert found["decision"].tolist() == np.where(5 * probabilities[:, 2] <= 1, "sell", "wait").tolist()


def test_numbers_as_classes_can_be_rejected(run, make_table, tmp_path):
    frame = make_table().assign(kind=lambda own: own["kind"].map({"apple": 1, "pear": 2, "plum": 10}))
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    assert run("fit", tmp_path / "numbers.csv", "-t", "kind", "--fixed", "-o", tmp_path / "m.skops").exit_code == 0
    arguments = ("decide", tmp_path / "m.skops", tmp_path / "numbers.csv", "--out", tmp_path / "out.parquet")
    assert run(*arguments, "--reject-cost", 0.1).exit_code == 0
    assert set(pd.read_parquet(tmp_path / "out.parquet")["decision"]) == {"1", "2", "10", "rejected"}
    assert run(*arguments).exit_code == 0
    assert set(pd.read_parquet(tmp_path / "out.parquet")["decision"]) == {1, 2, 10}


def test_label_of_rejected_rows_must_not_be_a_class(run, model, data):
    result = run("decide", model, data, "--reject-cost", 0.1, "--reject-label", "plum")
    assert result.exit_code == 1 and "'plum' is one of them" in result.stderr
    assert run("decide", model, data, "--reject-label", "plum").exit_code == 0


def test_columns_are_kept(decided):
    assert decided("--keep", "id")["id"].tolist() == list(range(90))


def test_summary_counts_rejected_rows(run, model, data, tmp_path):
    said = run("decide", model, data, "--reject-cost", 0, "--out", tmp_path / "out.parquet").stderr
    assert "rejected 90 of 90 rows" in said and len(pd.read_parquet(tmp_path / "out.parquet")) == 90


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",apple,pear\napple,0,1\npear,1,0\n", "lacks `plum`"),
        (",apple,pear,plum,fig\napple,0,1,1,1\n", "names `fig`, unknown to the model"),
        (",apple,pear,plum\napple,0,one,1\n", "the row of 'apple' has 'one'"),
        (",apple,pear,plum\napple,0,1\n", "row 'apple' has a different length"),
        (",apple,pear,plum\n", "must have a header"),
        (",apple,pear,plum\napple,0,1,-1\n", "must be finite and non-negative"),
        (",apple,pear,plum\napple,0,1,1\napple,0,1,1\n", "names `apple` more than once"),
        (",apple,pear,plum,plum\napple,0,1,1,1\n", "names `plum` more than once"),
    ],
)
def test_invalid_losses_are_refused(text, message, run, model, data, tmp_path):
    (tmp_path / "losses.csv").write_text(text)
    result = run("decide", model, data, "--loss", tmp_path / "losses.csv")
    assert result.exit_code == 1 and message in result.stderr


def test_missing_file_is_a_usage_error(run, model, data):
    result = run("decide", model, data, "--loss", "none.csv")
    assert result.exit_code == 2 and "there is no file `none.csv`" in " ".join(result.stderr.split())


def test_negative_cost_is_refused(run, model, data):
    assert "non-negative" in run("decide", model, data, "--reject-cost", -1).stderr


def test_losses_of_trees_need_a_tree(run, model, data):
    assert "needs a class tree" in run("decide", model, data, "--loss", "taxonomic").stderr


def test_inner_nodes_are_those_of_predict(run, tree_model, unseen_texts, tmp_path):
    arguments = (tree_model, tmp_path / "new.jsonl", "--loss", "taxonomic", "--allow-inner")
    decided, predicted = (pd.read_csv(io.StringIO(run(name, *arguments).stdout)) for name in ("decide", "predict"))
    assert decided["decision"].tolist() == predicted["predicted"].tolist()
