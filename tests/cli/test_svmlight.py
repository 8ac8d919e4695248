"""svmlight: sparse features straight to the kernel."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file


@pytest.fixture
def sparse_model(run, tmp_path):
    """A model of two classes from 40 rows with 12 features."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    features = sparse.random_array((40, 12), density=0.4, rng=rng, format="csr").toarray()
    features[:, 11] = labels + 0.1
    dump_svmlight_file(features, labels, str(tmp_path / "train.svm"), zero_based=False)
    result = run("fit", tmp_path / "train.svm", "--fixed", "--out", tmp_path / "m.skops")
    assert result.exit_code == 0, result.stderr
    return tmp_path / "m.skops"


def probabilities(result) -> np.ndarray:
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout)).filter(like="probability_").to_numpy()


def test_svmlight_is_fitted_and_evaluated_without_target(run, sparse_model, tmp_path):
    result = run("evaluate", sparse_model, tmp_path / "train.svm", "--json")
    assert json.loads(result.stdout)["error"] < 0.2


def test_labels_of_svmlight_are_integers(run, sparse_model):
    assert json.loads(run("info", sparse_model, "--json").stdout)["classes"] == [0, 1]


def test_narrow_svmlight_has_the_default_kernel(run, sparse_model):
    assert json.loads(run("info", sparse_model, "--json").stdout)["parameters"]["kernel"] == "auto"


def test_wide_svmlight_has_a_linear_kernel(run, tmp_path):
    lines = [f"{row % 2} {row % 7 + 1}:1 {2000 + row}:0.5\n" for row in range(30)]
    (tmp_path / "wide.svm").write_text("".join(lines))
    run("fit", tmp_path / "wide.svm", "--fixed", "--out", tmp_path / "m.skops")
    record = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)
    assert record["parameters"]["kernel"] == "linear"


def test_absent_last_features_are_zero(run, sparse_model, tmp_path):
    (tmp_path / "short.svm").write_text("0 1:0.5\n")
    (tmp_path / "full.svm").write_text("0 1:0.5 12:0\n")
    short = probabilities(run("predict", sparse_model, tmp_path / "short.svm"))
    np.testing.assert_array_equal(short, probabilities(run("predict", sparse_model, tmp_path / "full.svm")))


def test_surplus_features_are_ignored_and_counted(run, sparse_model, tmp_path):
    (tmp_path / "long.svm").write_text("0 1:0.5 14:3\n")
    (tmp_path / "short.svm").write_text("0 1:0.5\n")
    result = run("predict", sparse_model, tmp_path / "long.svm")
    assert "ignored the last 2 features" in result.stderr
    np.testing.assert_array_equal(
        probabilities(result), probabilities(run("predict", sparse_model, tmp_path / "short.svm"))
    )


def test_numbers_from_zero_are_read_on_request(run, sparse_model, tmp_path):
    (tmp_path / "one.svm").write_text("0 1:0.5 3:2\n")
    (tmp_path / "zero.svm").write_text("0 0:0.5 2:2\n")
    one = probabilities(run("predict", sparse_model, tmp_path / "one.svm"))
    zero = probabilities(run("predict", sparse_model, tmp_path / "zero.svm", "--zero-based"))
    np.testing.assert_array_equal(one, zero)


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        ("0 0:0.5 2:2\n", "pass `--zero-based`"),
        ("0 3:1 2:1\n", "not readable as svmlight"),
        ("zero 1:1\n", "not readable as svmlight"),
        ("0 1:one\n", "not readable as svmlight"),
        ("0 1:nan\n", "infinite or missing"),
        ("# nothing\n", "has no rows"),
        ("", "is empty"),
    ],
)
def test_bad_svmlight_is_refused(content, fragment, run, sparse_model, tmp_path):
    (tmp_path / "bad.svm").write_text(content)
    result = run("predict", sparse_model, tmp_path / "bad.svm")
    assert (result.exit_code, fragment in result.stderr) == (1, True), result.stderr


def test_svmlight_for_a_model_of_columns_is_refused(run, model, tmp_path):
    (tmp_path / "t.svm").write_text("0 1:1\n")
    result = run("predict", model, tmp_path / "t.svm")
    assert (result.exit_code, "has no column names" in result.stderr) == (1, True)


def test_table_with_as_many_columns_is_taken_by_a_model_without_names(run, sparse_model, tmp_path):
    (tmp_path / "one.svm").write_text("0 2:0.5 3:2\n")
    row = np.zeros((1, 12))
    row[0, [1, 2]] = 0.5, 2
    pd.DataFrame(row).to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_allclose(
        probabilities(run("predict", sparse_model, tmp_path / "t.csv")),
        probabilities(run("predict", sparse_model, tmp_path / "one.svm")),
        atol=1e-9,
    )


def test_table_with_other_columns_is_refused_by_a_model_without_names(run, sparse_model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", sparse_model, tmp_path / "t.csv")
    assert (result.exit_code, "needs 12 unnamed inputs" in result.stderr) == (1, True)


def test_column_options_with_svmlight_are_a_usage_error(run, tmp_path):
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n")
    result = run("fit", tmp_path / "t.svm", "--target", "y", "--out", tmp_path / "m.skops")
    assert (result.exit_code, "no column names" in result.stderr) == (2, True)
