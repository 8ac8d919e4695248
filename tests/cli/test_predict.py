"""What predict does with tables that differ from the one of the fit."""

import io

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def predict(run, model, tmp_path):
    """Predict a frame with the shared model."""

    def invoke(frame: pd.DataFrame, *arguments: object):
        frame.to_csv(tmp_path / "new.csv", index=False)
        return run("predict", model, tmp_path / "new.csv", *arguments)

    return invoke


def probabilities(result) -> np.ndarray:
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout)).filter(like="probability_").to_numpy()


def test_probabilities_sum_to_one(predict, table):
    np.testing.assert_allclose(probabilities(predict(table)).sum(axis=1), 1.0, atol=1e-9)


def test_predicted_class_is_the_most_probable(predict, table):
    output = pd.read_csv(io.StringIO(predict(table).stdout))
    classes = np.array(["apple", "pear", "plum"])
    assert (classes[output.filter(like="probability_").to_numpy().argmax(axis=1)] == output["predicted"]).all()


def test_order_of_columns_does_not_matter(predict, table):
    np.testing.assert_array_equal(probabilities(predict(table)), probabilities(predict(table[table.columns[::-1]])))


def test_target_is_not_needed(predict, table):
    bare = predict(table.drop(columns="kind"))
    np.testing.assert_array_equal(probabilities(bare), probabilities(predict(table)))


def test_extra_columns_are_ignored_and_named_once(predict, table):
    result = predict(table.assign(noise=1, more=2))
    assert result.exit_code == 0 and result.stderr.count("`noise`, `more`") == 1


def test_missing_columns_are_refused_by_name(predict, table):
    result = predict(table.drop(columns=["width", "colour"]))
    assert result.exit_code == 1
    assert "lacks 2 of the 3 columns that the model needs: `width`, `colour`" in result.stderr


def test_words_in_a_numeric_column_are_refused_with_row(predict, table):
    table["width"] = table["width"].astype(object)
    table.loc[4, "width"] = "wide"
    result = predict(table)
    assert result.exit_code == 1 and "must hold numbers, but holds 'wide' in row 5" in result.stderr


def test_numbers_in_a_categorical_column_are_unseen_levels(predict, table):
    result = predict(table.assign(colour=7))
    assert result.exit_code == 0 and "1 level unseen in the training data (`7`), in 60 rows" in result.stderr


def test_unseen_level_is_said_and_predicted(predict, table):
    table.loc[0, "colour"] = "mauve"
    result = predict(table)
    assert "unseen in the training data (`mauve`), in 1 row" in result.stderr
    assert np.isfinite(probabilities(result)).all()


def test_missing_values_are_imputed_and_counted(predict, table):
    table.loc[[0, 1], "height"] = np.nan
    result = predict(table)
    assert "imputed 2 missing numbers" in result.stderr and np.isfinite(probabilities(result)).all()


def test_missing_number_counts_as_the_median_of_the_fit(predict, table):
    gap, median = table.copy(), table.copy()
    gap.loc[0, "width"], median.loc[0, "width"] = np.nan, table["width"].median()
    np.testing.assert_allclose(probabilities(predict(gap)), probabilities(predict(median)), atol=1e-9)


def test_single_row_is_predicted(predict, table):
    np.testing.assert_allclose(probabilities(predict(table.iloc[[7]])), probabilities(predict(table))[[7]], atol=1e-9)


def test_kept_column_keeps_its_spelling(predict, table):
    output = predict(table.assign(code="007"), "--keep", "code").stdout
    assert output.splitlines()[1].startswith("007,")


def test_kept_column_must_not_hide_the_prediction(predict, table):
    result = predict(table.assign(predicted=1), "--keep", "predicted")
    assert (result.exit_code, "cannot be kept" in result.stderr) == (1, True)


def test_existing_output_survives_a_refusal(predict, table, tmp_path):
    (tmp_path / "o.csv").write_text("precious")
    predict(table.drop(columns="width"), "--out", tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "precious"


def test_quiet_says_nothing(predict, table, tmp_path):
    result = predict(table.assign(noise=1), "--quiet", "--out", tmp_path / "o.csv")
    assert result.output == ""


def test_column_kept_twice_is_kept_once(predict, table, tmp_path):
    out = tmp_path / "kept.jsonl"
    result = predict(table.assign(code="007"), "--keep", "code", "--keep", "code", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert list(pd.read_json(out, lines=True, dtype=False).columns).count("code") == 1
