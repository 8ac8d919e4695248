"""Tables become inputs: numbers, indicators and levels, the same for every library."""

import datetime
import decimal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from logikern.encoding import learn_encoder
from logikern.encoding.complaints import ColumnError
from logikern.encoding.encoder import require_inputs
from logikern.encoding.policy import EncodingPolicy

FRAME = pd.DataFrame(
    {
        "age": [30.0, None, 50.0, 41.0],
        "colour": ["red", "green", None, "red"],
        "smokes": [True, False, True, True],
        "city": pd.Categorical(["Ulm", "Bonn", "Ulm", "Bonn"], categories=["Bonn", "Jena", "Ulm"]),
        "height": [1.5, 1.6, 1.7, 1.8],
    }
)
INPUTS = np.array(
    [
        # age, smokes, height, age is missing, colour=green, red, missing, city=Bonn, Ulm
        [30.0, 1, 1.5, 0, 0, 1, 0, 0, 1],
        [41.0, 0, 1.6, 1, 1, 0, 0, 1, 0],
        [50.0, 1, 1.7, 0, 0, 0, 1, 0, 1],
        [41.0, 1, 1.8, 0, 0, 1, 0, 1, 0],
    ]
)
LIBRARIES = {
    "pandas": FRAME,
    "pandas nullable": FRAME.convert_dtypes(),
    "pandas arrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "pandas objects": FRAME.astype(object),
    "polars": pl.from_pandas(FRAME),
    "pyarrow": pa.Table.from_pandas(FRAME),
}


def encode(values, name="column", **settings):
    """Inputs of one column beside a number, without that number, and their names."""
    frame = pd.DataFrame({"beside": np.arange(len(values)) / 7, name: values})
    encoder = learn_encoder(frame, **settings)
    own = encoder.columns == 1
    return encoder.transform(frame)[:, own], [
        label for label, one in zip(encoder.input_names, own, strict=True) if one
    ]


def codes(texts):
    return np.unique(texts, return_inverse=True)[1]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_inputs(library):
    encoder = learn_encoder(LIBRARIES[library])
    np.testing.assert_array_equal(encoder.transform(LIBRARIES[library]), INPUTS)


@pytest.mark.parametrize("fitted", LIBRARIES)
@pytest.mark.parametrize("new", LIBRARIES)
def test_encoder_of_one_library_encodes_tables_of_another(fitted, new):
    np.testing.assert_array_equal(learn_encoder(LIBRARIES[fitted]).transform(LIBRARIES[new]), INPUTS)


def test_inputs_are_named_and_belong_to_columns():
    encoder = learn_encoder(FRAME)
    assert encoder.input_names == (
        *("age", "smokes", "height", "age is missing", "colour=green", "colour=red", "colour is missing"),
        *("city=Bonn", "city=Ulm"),
    )
    assert encoder.columns.tolist() == [0, 2, 4, 0, 1, 1, 1, 3, 3]
    assert encoder.is_level.tolist() == [False, True, False] + [True] * 6
    assert (encoder.n_columns, encoder.n_inputs) == (5, 9)
    assert encoder.column_names == tuple(FRAME.columns)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_array_of_numbers_passes_without_a_copy(dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    encoder = learn_encoder(X)
    assert encoder.transform(X) is X and encoder.keeps_columns


def test_sparse_matrix_passes_without_a_copy():
    X = sparse.random_array((20, 5), density=0.2, format="csr", rng=0)
    assert learn_encoder(X).transform(X) is X


def test_missing_numbers_of_an_array_are_medians_with_an_indicator():
    X = np.array([[1.0, np.nan], [2.0, 5.0], [9.0, 7.0]])
    encoder = learn_encoder(X)
    np.testing.assert_array_equal(encoder.transform(X), [[1, 6, 1], [2, 5, 0], [9, 7, 0]])
    assert encoder.input_names == ("x0", "x1", "x1 is missing")


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_number_missing_only_in_new_rows_is_the_median(form):
    encoder = learn_encoder(form([[1.0, 4.0], [2.0, 5.0], [9.0, 7.5]]))
    np.testing.assert_array_equal(encoder.transform(form([[np.nan, 4.0]])), [[2.0, 4.0]])


def test_column_without_any_value_is_constant_in_an_array():
    X = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    np.testing.assert_array_equal(learn_encoder(X).transform(X), [[0, 1], [0, 2]])


def test_sparse_nan_is_refused():
    X = sparse.csr_array([[np.nan, 0.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="Sparse `X` must not hold NaN"):
        learn_encoder(X)


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 2],
        [decimal.Decimal("3"), decimal.Decimal("1.0"), decimal.Decimal(2)],
        pd.array([3, 1, 2], dtype="Int8"),
        pd.Series([3, 1, 2], dtype="float64[pyarrow]"),
        np.array([3, 1, 2], dtype=np.float16),
        pd.Series([3, 1.0, np.int8(2)], dtype=object),
        ["3", "1.0", " 2e0"],
    ],
    ids=["int", "decimal", "nullable", "arrow", "half", "objects", "text"],
)
def test_numbers_of_any_type_are_numbers(values):
    inputs, names = encode(values)
    assert names == ["column"] and inputs[:, 0].tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-02", "2020-01-01", None]),
        pd.to_datetime(["2020-01-02", "2020-01-01", None]).tz_localize("UTC"),
        np.array(["2020-01-02", "2020-01-01", "NaT"], dtype="datetime64[D]"),
        [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), None],
        pd.Series([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), None], dtype=pd.ArrowDtype(pa.date32())),
    ],
    ids=["timestamps", "with a zone", "datetime64", "dates", "arrow"],
)
def test_dates_count_in_days_since_1970(values):
    inputs, names = encode(values)
    assert names == ["column", "column is missing"]
    np.testing.assert_array_equal(inputs, [[18263.0, 0], [18262.0, 0], [18262.5, 1]])


@pytest.mark.parametrize(
    "values", [pd.to_timedelta([36, 12], "h"), [datetime.timedelta(1.5), datetime.timedelta(0.5)]]
)
def test_durations_count_in_days(values):
    assert encode(values)[0][:, 0].tolist() == [1.5, 0.5]


def test_missing_truth_has_an_indicator():
    inputs, names = encode(pd.array([True, None, False, True], dtype="boolean"))
    assert names == ["column", "column is missing"]
    assert inputs.tolist() == [[1, 0], [1, 1], [0, 0], [1, 0]]


def test_constant_with_gaps_keeps_its_indicator():
    inputs, names = encode([7.0, None, 7.0])
    assert names == ["column", "column is missing"] and inputs[:, 1].tolist() == [0, 1, 0]


def test_unseen_level_is_all_zeros():
    encoder = learn_encoder(FRAME)
    new = encoder.transform(FRAME.assign(colour="mauve", city=None))
    assert not new[:, 4:].any()


def test_unseen_level_is_the_rest_where_there_is_one():
    frame = pd.DataFrame({"town": ["a"] * 3 + ["b"] * 3 + ["c"]})
    encoder = learn_encoder(frame, policy=EncodingPolicy(most_levels=2))
    assert encoder.input_names == ("town=a", "town=b", "town=(other levels)")
    new = encoder.transform(pd.DataFrame({"town": ["c", "nowhere", None, "a"]}))
    assert new.tolist() == [[0, 0, 1]] * 3 + [[1, 0, 0]]
    assert encoder.notes[0].tell("town").startswith("Column `town` has 3 levels")


def test_most_frequent_levels_are_kept_whatever_the_order_of_rows():
    names = np.repeat([f"n{place:03}" for place in range(300)], np.arange(300) % 7 + 1)
    kept = learn_encoder(pd.DataFrame({"n": names})).levels[0]
    other = learn_encoder(pd.DataFrame({"n": np.random.default_rng(0).permutation(names)})).levels[0]
    assert kept == other and len(kept.names) <= 100 and kept.has_rest
    counts = dict(zip(*np.unique(names, return_counts=True), strict=True))
    assert min(counts[name] for name in kept.names) > max(n for name, n in counts.items() if name not in kept.names)


def test_names_of_levels_do_not_decide_which_are_kept():
    names = np.repeat([f"n{place:03}" for place in range(300)], np.arange(300) % 7 + 1)
    renamed = {name: f"m{300 - place:03}" for place, name in enumerate(np.unique(names).tolist())}
    kept = learn_encoder(pd.DataFrame({"n": names})).levels[0]
    other = learn_encoder(pd.DataFrame({"n": [renamed[name] for name in names]})).levels[0]
    assert {renamed[name] for name in kept.names} == set(other.names)


def test_equally_frequent_levels_are_kept_up_to_the_bound():
    frame = pd.DataFrame({"n": [f"n{place:03}" for place in range(300)] * 2})
    assert len(learn_encoder(frame).levels[0].names) == 100


def test_levels_that_occur_once_share_an_input_in_large_tables():
    frame = pd.DataFrame({"n": ["common"] * 999 + ["rare"]})
    assert learn_encoder(frame).levels[0].names == ("common",)
    assert learn_encoder(frame[1:]).levels[0].names == ("common", "rare")


def test_many_levels_are_sparse_and_equal_to_dense():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{j}": random.choice([f"v{k}" for k in range(60)], 500) for j in range(5)})
    frame["x"] = random.standard_normal(500)
    encoder = learn_encoder(frame)
    found = encoder.transform(frame)
    assert sparse.issparse(found) and found.format == "csr"
    dense = learn_encoder(frame, policy=EncodingPolicy(sparse_width=10_000)).transform(frame)
    np.testing.assert_array_equal(found.toarray(), dense)


def test_dropped_columns_are_noted_and_still_accepted():
    frame = FRAME.assign(one=1, none=None, word="a", empty=np.nan)
    encoder = learn_encoder(frame)
    np.testing.assert_array_equal(encoder.transform(frame.assign(one=2, word="b", none=3.0)), INPUTS)
    assert [(note.place, note.cause) for note in encoder.dropped] == [
        (5, "constant"),
        (6, "empty"),
        (7, "constant"),
        (8, "empty"),
    ]


def test_table_without_anything_to_learn_from_is_refused_by_name():
    with pytest.raises(ValueError, match="No column of `X` is left to learn from. Column `a` is left out"):
        require_inputs(learn_encoder(pd.DataFrame({"a": ["y", "y"], "b": ["x", "x"]})))


def test_constant_numbers_alone_are_fitted_as_an_array_would_be():
    frame = pd.DataFrame({"a": [1.0, 1.0], "b": ["x", "x"], "c": [2, 2]})
    encoder = learn_encoder(frame)
    np.testing.assert_array_equal(encoder.transform(frame), [[1, 2], [1, 2]])
    assert "there is nothing to learn from" in encoder.notes[0].tell("a") and encoder.notes[0].warns


CHOICES = {
    "names": ["code"],
    "positions": [1],
    "mask": [False, True, False],
    "array": np.array(["code"]),
    "index": pd.Index(["code"]),
}


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_chosen_columns_are_categories(choice):
    frame = pd.DataFrame({"x": [1.0, 2.5, 3.0], "code": [7, 8, 7], "text": ["a", "b", "a"]})
    names = learn_encoder(frame, choice).input_names
    assert names == ("x", "code=7", "code=8", "text=a", "text=b")


def test_positions_choose_columns_of_an_array():
    X = np.array([[1.0, 7], [2.5, 8], [3.0, 7]])
    assert learn_encoder(X, [1]).input_names == ("x0", "x1=7", "x1=8")


@pytest.mark.parametrize(
    ("choice", "fragment"),
    [
        ("code", "Pass a list, even for one column"),
        (["kode"], "holds 'kode'"),
        ([3], "positions below 3, but holds 3"),
        ([-1], "holds -1"),
        ([True, False], "one boolean for each of the 3 columns"),
        ([1.5], "a list of names or positions"),
    ],
)
def test_wrong_choice_is_refused(choice, fragment):
    with pytest.raises(ValueError, match=fragment):
        learn_encoder(pd.DataFrame({"x": [1, 2], "code": [7, 8], "text": ["a", "b"]}), choice)


def test_text_is_refused_where_no_column_may_be_a_category():
    with pytest.raises(
        ColumnError, match="Column `colour` is not categorical, so it must hold numbers, but it holds 'red'"
    ):
        learn_encoder(FRAME, None)


def test_numbers_as_text_are_noted():
    encoder = learn_encoder(pd.DataFrame({"x": ["1", "2", "3"]}))
    assert "holds numbers stored as text" in encoder.notes[0].tell("x") and encoder.notes[0].warns


def test_codes_with_leading_zeros_are_categories():
    assert encode(["01", "02", "01"])[1] == ["column=01", "column=02"]


def test_levels_are_spelled_alike_in_every_type():
    spelled = [encode(values, categorical_features=["column"])[1] for values in ([1, 2], [1.0, 2.0], ["1", "2"])]
    assert spelled[0] == spelled[1] == spelled[2] == ["column=1", "column=2"]


def test_text_in_which_nearly_all_values_differ_is_left_out():
    encoder = learn_encoder(pd.DataFrame({"x": np.arange(30) / 7, "name": [f"k{place}" for place in range(30)]}))
    assert encoder.input_names == ("x",)
    assert encoder.notes[0].warns and "looks like an identifier or prose" in encoder.notes[0].tell("name")


def test_chosen_identifier_is_used():
    frame = pd.DataFrame({"name": [f"k{place}" for place in range(30)]})
    assert learn_encoder(frame, ["name"]).n_inputs == learn_encoder(frame.astype("category")).n_inputs == 30


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("shuffled", np.random.default_rng(0).permutation(30)),
        ("some", np.random.default_rng(0).permutation(50)[:30]),
        ("customer_id", np.arange(30) * 7),
        ("Id", np.arange(30.0) * 7),
    ],
)
def test_numbers_of_rows_are_noted(name, values):
    encoder = learn_encoder(pd.DataFrame({name: values}))
    assert "looks like an identifier: its 30 whole numbers are all distinct" in encoder.notes[0].tell(name)
    assert encoder.n_inputs == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("__index_level_0__", np.arange(30)),
        ("__index_level_1__", np.repeat(["a", "b"], 15)),
        ("Unnamed: 0", np.random.default_rng(0).permutation(30)),
        ("", np.arange(30)),
    ],
)
def test_index_of_pandas_is_left_out(name, values):
    encoder = learn_encoder(pd.DataFrame({name: values, "width": np.arange(30) % 7}))
    assert encoder.input_names == ("width",)
    assert encoder.notes[0].warns and "index of a pandas frame" in encoder.notes[0].tell(name)


def test_unnamed_measurements_are_used():
    assert learn_encoder(pd.DataFrame({"Unnamed: 0": np.linspace(0, 1, 30)})).n_inputs == 1


def test_measurements_are_not_noted():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"width": random.standard_normal(30), "age": np.arange(30) % 13, "pay": 997 * np.arange(30)})
    assert learn_encoder(frame).notes == ()


def test_tables_need_neither_pandas_nor_pyarrow():
    program = """
import sys
sys.modules.update(dict.fromkeys(("pandas", "pyarrow")))
import polars
from logikern import KernelLogisticClassifier
table = polars.DataFrame({"size": [1.0, None, 3.0, 4.0], "colour": ["red", "blue", "red", None]})
print(KernelLogisticClassifier(criterion=None).fit(table, [0, 1, 0, 1]).predict_proba(table).shape)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "(4, 2)"


def test_same_rows_in_another_order_give_the_same_encoder():
    order = [2, 0, 3, 1]
    np.testing.assert_array_equal(learn_encoder(FRAME.iloc[order]).transform(FRAME), INPUTS)
