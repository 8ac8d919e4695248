"""Tables as they come in practice, and worse: a right result, or an error that names the column and a remedy."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from logikern import KernelRegressor
from logikern.encoding.complaints import ColumnWarning
from tests.estimators.samples import fixed

N = 24
RANDOM = np.random.default_rng(0)
LABELS = np.arange(N) % 2
SIZE = RANDOM.normal(size=N) + LABELS


def table(values=None, name="c", **others):
    """A number beside a column with these values."""
    own = {} if values is None else {name: values}
    return pd.DataFrame({"size": SIZE, **own, **others})


def repeated(*values):
    """The values again and again, as objects."""
    series = np.empty(N, dtype=object)
    for row in range(N):
        series[row] = values[row % len(values)]
    return series


def dates(start="2020-01-01"):
    return pd.Series(pd.date_range(start, periods=N))


SEVEN = [f"v{row % 7}" for row in range(N)]
LONG = "n" * 10_000
# Name -> table, names of the inputs of the column `c`.
ACCEPTED = {
    "all missing, None": (table(None).assign(c=None), []),
    "all missing, NaN": (table(np.full(N, np.nan)), []),
    "all missing, NA": (table(pd.array([None] * N, dtype="Int64")), []),
    "all missing, NaT": (table(pd.to_datetime([None] * N)), []),
    "all missing, categories": (table(pd.Categorical([None] * N, categories=["a", "b"])), []),
    "all missing, null of arrow": (table(pd.Series([None] * N, dtype=pd.ArrowDtype(pa.null()))), []),
    "one number": (table(np.full(N, 7.0)), []),
    "one level": (table(["a"] * N), []),
    "one level and gaps": (table(repeated("a", None)), ["c=a", "c is missing"]),
    "one truth": (table([True] * N), []),
    "truths": (table(repeated(True, False)), ["c"]),
    "truths with gaps": (table(repeated(True, False, None)), ["c", "c is missing"]),
    "truths, nullable": (table(pd.array(repeated(True, False, None), dtype="boolean")), ["c", "c is missing"]),
    "truths, arrow": (table(pd.array(repeated(True, False, None), dtype="bool[pyarrow]")), ["c", "c is missing"]),
    "truths as text": (table(repeated("True", "FALSE")), ["c=false", "c=true"]),
    "NaN, None and NA are one level": (
        table(repeated("a", np.nan, "b", None, pd.NA)),
        ["c=a", "c=b", "c is missing"],
    ),
    "integers with gaps": (table(pd.array(repeated(1, 5, 2, None), dtype="Int64")), ["c", "c is missing"]),
    "numbers among NA": (table(repeated(1.5, pd.NA, 2)), ["c", "c is missing"]),
    "unsigned": (table(np.arange(N, dtype=np.uint64) * 7919 + 2**63), ["c"]),
    "decimals": (table(repeated(decimal.Decimal("0.1"), decimal.Decimal("2"), None)), ["c", "c is missing"]),
    "half precision": (table(np.arange(N, dtype=np.float16) % 5), ["c"]),
    "Python integers beyond 64 bits": (table(repeated(10**25, 3, 10**24)), ["c"]),
    "huge numbers, standardised": (table(SIZE * 1e300), ["c"]),
    "tiny numbers, standardised": (table(SIZE * 1e-300), ["c"]),
    "huge and tiny numbers": (table(SIZE * np.where(LABELS, 1e200, 1e-200)), ["c"]),
    "numbers at the limit, with gaps": (table(repeated(1.7e308, 1.6e308, None)), ["c", "c is missing"]),
    "negative zero": (table(repeated(0.0, -0.0, 1.0)), ["c"]),
    "zeros of both signs": (table(repeated(0.0, -0.0)), []),
    "negative zero as category": (table(pd.Categorical(repeated(0.0, 1.0))), ["c=0", "c=1"]),
    "sparse column": (table(pd.arrays.SparseArray(np.arange(N) % 3 * 1.0)), ["c"]),
    "empty strings": (table(repeated("", "a")), ["c=", "c=a"]),
    "empty string is not missing": (table(repeated("", None)), ["c=", "c is missing"]),
    "whitespace": (table(repeated("a", " a", "a ")), ["c= a", "c=a", "c=a "]),
    "upper and lower case": (table(repeated("a", "A")), ["c=A", "c=a"]),
    "bytes": (table(repeated(b"a", b"\xff")), ["c=\\xff", "c=a"]),
    "unicode": (table(repeated("größe", "大小", "🦄")), ["c=größe", "c=大小", "c=🦄"]),
    "zero bytes": (table(repeated("a\0", "a")), ["c=a", "c=a\0"]),
    "long levels": (table(repeated("x" * 5000, "y")), [f"c={'x' * 5000}", "c=y"]),
    "codes with leading zeros": (table(repeated("007", "08")), ["c=007", "c=08"]),
    "mostly text": (table(repeated("a", "b", 1)), ["c=1", "c=a", "c=b"]),
    "text of pandas": (table(pd.array(repeated("a", None), dtype="string")), ["c=a", "c is missing"]),
    "text of arrow": (table(pd.array(repeated("a", None), dtype="string[pyarrow]")), ["c=a", "c is missing"]),
    "dictionary of arrow": (
        table(pd.Series(repeated("a", "b"), dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))),
        ["c=a", "c=b"],
    ),
    "absent categories": (table(pd.Categorical(repeated("a", "b"), categories=list("abc"))), ["c=a", "c=b"]),
    "categories of numbers": (table(pd.Categorical(repeated(1, 2))), ["c=1", "c=2"]),
    "intervals": (table(pd.cut(np.arange(N), [-1, 9, 99])), ["c=(-1, 9]", "c=(9, 99]"]),
    "periods": (table(pd.PeriodIndex(repeated("2020-01", "2020-02"), freq="M")), ["c=2020-01", "c=2020-02"]),
    "timestamps": (table(dates()), ["c"]),
    "timestamps with a zone": (table(dates().dt.tz_localize("Europe/Berlin")), ["c"]),
    "timestamps with gaps": (table(dates().where(np.arange(N) != 3)), ["c", "c is missing"]),
    "dates": (table(repeated(datetime.date(2020, 1, 1), datetime.date(1066, 10, 14))), ["c"]),
    "durations": (table(pd.to_timedelta(np.arange(N) ** 2, "h")), ["c"]),
    "times of day": (table(repeated(datetime.time(6), datetime.time(18, 30), None)), ["c", "c is missing"]),
    "integer names": (table(SEVEN).set_axis([0, 1], axis=1), [f"1=v{level}" for level in range(7)]),
    "names of several levels": (
        table(repeated("a", "b")).set_axis(pd.MultiIndex.from_tuples([("x", "y"), ("x", "z")]), axis=1),
        ["x / z=a", "x / z=b"],
    ),
    "long names": (table(SIZE**2, name=LONG), [LONG]),
    "unicode names": (table(SIZE**2, name="größe 大小\n`{}` %s"), ["größe 大小\n`{}` %s"]),
    "empty name": (table(SIZE**2, name=""), [""]),
    "polars categories": (
        pl.DataFrame({"size": SIZE, "c": pl.Series([*repeated("b", "a", None)], dtype=pl.Categorical)}),
        ["c=a", "c=b", "c is missing"],
    ),
    "polars enumeration": (
        pl.DataFrame({"size": SIZE, "c": pl.Series([*repeated("b", "a")], dtype=pl.Enum(["z", "b", "a"]))}),
        ["c=a", "c=b"],
    ),
    "polars objects": (
        pl.DataFrame({"size": SIZE, "c": pl.Series([*repeated("b", 1, None)], dtype=pl.Object)}),
        ["c=1", "c=b", "c is missing"],
    ),
    "polars null": (pl.DataFrame({"size": SIZE, "c": [None] * N}), []),
    "table of arrow": (pa.table({"size": SIZE, "c": pa.array(repeated("a", None))}), ["c=a", "c is missing"]),
    "array of objects": (np.column_stack([SIZE.astype(object), repeated("a", "b")]), ["x1=a", "x1=b"]),
    "list of rows": ([[size, "ab"[row % 2]] for row, size in enumerate(SIZE)], ["x1=a", "x1=b"]),
    "array of text": (np.array([["1.5", "b"], ["2.5", "a"]] * (N // 2)), ["x1=a", "x1=b"]),
}
# Types that polars does not have: it would make numbers or records of them.
UNLIKE = ("negative zero as category", "categories of numbers", "intervals", "periods", "names of several levels")
BESIDE = ("size", "size is missing", "x0", "0", "x / y")


ALIKE = {name for name, (X, _) in ACCEPTED.items() if isinstance(X, pd.DataFrame)} - set(UNLIKE)


def fit(X, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        return fixed(**settings).fit(X, LABELS)


@pytest.mark.parametrize("case", ACCEPTED)
def test_table_is_encoded_fitted_and_predicted(case):
    X, expected = ACCEPTED[case]
    model = fit(X, inputs="standard")
    assert [name for name in model.encoder_.input_names if name not in BESIDE] == expected
    assert model.n_features_in_ == 2 and np.isfinite(model.predict_proba(X)).all()
    first = X.slice(0, 1) if isinstance(X, pa.Table) else X[:1]
    np.testing.assert_allclose(model.predict_proba(first), model.predict_proba(X)[:1], atol=1e-12)


@pytest.mark.parametrize("case", sorted(ALIKE))
def test_polars_agrees_with_pandas(case):
    X, _ = ACCEPTED[case]
    try:
        other = pl.from_pandas(X)
    except Exception as error:
        pytest.skip(f"polars has no such table: {error}")
    model, theirs = fit(X, inputs="standard"), fit(other, inputs="standard")
    assert theirs.encoder_.input_names == model.encoder_.input_names
    np.testing.assert_allclose(theirs.predict_proba(other), model.predict_proba(X), atol=1e-12)


# Name -> table, settings, words of the error.
REFUSED = {
    "no rows": (table()[:0], {}, "0 rows"),
    "no columns": (table()[[]], {}, "0 columns"),
    "nothing varies": (table()[[]].assign(a="y", b="x"), {}, "Column `a` is left out: all its values are equal"),
    "repeated names": (table().assign(c=1.0).set_axis(["c", "c"], axis=1), {}, "several columns called 'c'. Rename"),
    "names of mixed types": (table(SEVEN).set_axis(["size", 3], axis=1), {}, "convert them all to strings"),
    "lists": (table(repeated([1], [2, 3])), {}, "holds a list in row 0, .* `X` argument must be .* Split"),
    "tuples": (table(repeated("a", (1, 2))), {}, "Column `c` holds a list in row 1, .* Split"),
    "records": (table(repeated({"a": 1})), {}, "Column `c` holds a record in row 0, .* Split"),
    "lists of arrow": (pa.table({"size": SIZE, "c": [[1]] * N}), {}, "Column `c` holds lists.* Split"),
    "records of polars": (pl.DataFrame({"c": [{"a": 1}] * N}), {}, "Column `c` holds records.* Split"),
    "complex": (table(SIZE + 1j), {}, "Column `c` holds complex numbers. Use real and imaginary parts"),
    "complex objects": (table(repeated(1j, "a")), {}, "Column `c` holds complex numbers"),
    "infinite": (table(np.where(np.arange(N) == 5, -np.inf, SIZE)), {}, "Column `c` is infinite in row 5. Correct"),
    "infinite text": (table(repeated("1", "inf")), {}, "Column `c` is infinite in row 1. Correct"),
    "mostly numbers": (
        table(repeated(1, 2, "three")),
        {},
        "`c` mixes types.* 'three' in row 2. .*`categorical_features`",
    ),
    "mostly numbers as text": (table(repeated("1", "2", "?")), {}, "`c` mixes types: .* but 8 are not.* in row 2"),
    "written dates": (
        table([str(day.date()) for day in dates()]),
        {},
        "Column `c` holds dates as text. .*to_datetime",
    ),
    "dates and words": (table(repeated(datetime.date(2020, 1, 1), "soon")), {}, "`c` mixes dates .* 'soon' in row 1"),
    "text where none is allowed": (table(SEVEN), {"categorical_features": None}, "Column `c` .* holds 'v0'"),
    "category that is not there": (table(SEVEN), {"categorical_features": ["d"]}, "holds 'd'. `X` has the columns"),
    "position beyond the table": (table(SEVEN), {"categorical_features": [2]}, "positions below 2, but holds 2"),
    "huge numbers, not scaled": (table(SIZE * 1e300), {"inputs": "raw"}, "Scale the inputs"),
    "unknown scaling": (table(SEVEN), {"inputs": "robust"}, "`inputs` must be one of"),
    "not collected": (pl.LazyFrame({"size": SIZE}), {}, "LazyFrame.* Pass `X.collect"),
    "records of numpy": (np.zeros(N, dtype=[("a", float), ("b", float)]), {}, "Pass a table with named columns"),
    "series": (pd.Series(SIZE), {}, "Expected a? ?2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_table_is_refused_with_a_reason(case):
    X, settings, fragment = REFUSED[case]
    labels = LABELS[: len(X)] if hasattr(X, "__len__") else LABELS
    with pytest.raises((ValueError, TypeError), match=f"(?s){fragment}"):
        fixed(**settings).fit(X, labels)


TRAINED = table(SEVEN, smokes=repeated(True, False), when=dates(), code=np.arange(N) % 5)
# Name -> new table; the words of the error, or None if it is predicted.
NEW = {
    "unseen everything": (
        TRAINED.assign(c="w", size=1e6, smokes=None, when=pd.Timestamp("2099-01-01"), code=-9),
        None,
    ),
    "everything missing": (TRAINED.assign(c=None, size=None, smokes=None, when=None, code=None), None),
    "categories as numbers": (TRAINED.assign(c=7), None),
    "numbers as text": (TRAINED.assign(size=TRAINED["size"].astype(str)), None),
    "truths as text": (TRAINED.assign(smokes=TRAINED["smokes"].astype(str)), None),
    "truths as numbers": (TRAINED.assign(smokes=TRAINED["smokes"].astype(int)), None),
    "one row": (TRAINED[5:6], None),
    "other types": (TRAINED.convert_dtypes(dtype_backend="pyarrow"), None),
    "polars": (pl.from_pandas(TRAINED), None),
    "other index": (TRAINED.set_index(pd.Index(range(100, 100 + N))), None),
    "other order": (TRAINED[TRAINED.columns[::-1]], "must be in the same order"),
    "column too many": (TRAINED.assign(more=1), "unseen at fit time:\n- more"),
    "column missing": (TRAINED.drop(columns=["c", "size"]), "yet now missing:\n- c\n- size"),
    "renamed column": (TRAINED.rename(columns={"c": "d"}), "unseen at fit time:\n- d"),
    "no rows": (TRAINED[:0], r"0 sample\(s\)"),
    "text among numbers": (
        TRAINED.assign(size=repeated(1.0, "wide")),
        "`size` must hold numbers, but holds 'wide' in row 1",
    ),
    "dates among numbers": (
        TRAINED.assign(size=dates()),
        "`size` must hold numbers, but holds 2020-01-01 .* in row 0",
    ),
    "numbers for dates": (TRAINED.assign(when=3.0), "`when` must hold dates or durations, but holds 3.0 in row 0"),
    "numbers for truths": (TRAINED.assign(smokes=3), "`smokes` must hold true or false, but holds 3 in row 0"),
    "text for truths": (
        TRAINED.assign(smokes="often"),
        "`smokes` must hold true or false, but holds 'often' in row 0",
    ),
    "infinite": (TRAINED.assign(code=np.inf), "`code` is infinite in row 0"),
    "lists": (TRAINED.assign(size=repeated([1])), r"`size` must hold numbers, but holds \[1\] in row 0"),
}
MODEL = fit(TRAINED)


@pytest.mark.parametrize("case", NEW)
def test_new_rows_are_predicted_or_refused_by_name(case):
    X, fragment = NEW[case]
    if fragment is None:
        found = MODEL.predict_proba(X)
        assert np.isfinite(found).all() and len(found) == len(X)
    else:
        with pytest.raises(ValueError, match=fragment):
            MODEL.predict_proba(X)


@pytest.mark.parametrize("case", ["numbers as text", "truths as text", "truths as numbers", "other types", "polars"])
def test_type_of_new_columns_does_not_matter(case):
    np.testing.assert_allclose(MODEL.predict_proba(NEW[case][0]), MODEL.predict_proba(TRAINED), atol=1e-12)


def test_ten_thousand_levels_are_bounded():
    random = np.random.default_rng(0)
    towns = pd.DataFrame({"town": pd.Categorical(random.integers(0, 10_000, 20_000).astype(str))})
    model = KernelRegressor(criterion=None, solver="newton").fit(towns[:300], np.arange(300))
    assert 1 < model.encoder_.n_inputs <= 101
    assert np.isfinite(model.predict(towns[300:400])).all()


def test_column_that_is_constant_in_a_split_is_dropped_there():
    X = table(repeated("a", "b")).assign(d=np.where(np.arange(N) < 20, "x", "y"))
    model = fixed().fit(X[:20], LABELS[:20])
    assert [note.cause for note in model.encoder_.dropped] == ["constant"]
    assert np.isfinite(model.predict_proba(X[20:])).all()


WARNED = {
    "identifier": (
        [f"k{row}" for row in range(N)],
        "Column `c` is left out: almost all of its 24 values are distinct",
    ),
    "prose": ([f"word number {row} of a text" for row in range(N)], "TfidfVectorizer in a pipeline"),
    "constants alone": (None, "Column `size` is constant, and no other column varies"),
    "counter": (RANDOM.permutation(N), "Column `c` looks like an identifier"),
    "numbers as text": (RANDOM.normal(size=N).astype(str), "Column `c` holds numbers stored as text"),
}


@pytest.mark.parametrize("case", WARNED)
def test_column_that_is_hardly_meant_is_warned_of_at_the_caller(case):
    values, fragment = WARNED[case]
    X = table(values) if values is not None else table().assign(size=1.0)
    with pytest.warns(ColumnWarning, match=fragment) as caught:
        fixed().fit(X, LABELS)
    assert caught[0].filename == __file__
