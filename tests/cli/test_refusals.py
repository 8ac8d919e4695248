"""Bad input gets exit code 1 and one sentence that says what is wrong; never a traceback."""

import pytest

ROWS = "1,a,u\n2,b,v\n3,a,u\n4,b,v\n"
HEADER = "x,c,y\n"

BAD_TABLES = {
    "empty file": ("", "is empty"),
    "blank lines only": ("\n\n \n", "is empty"),
    "header only": (HEADER, "has a header but no rows"),
    "row too long": (HEADER + ROWS + "5,a,u,9\n", "line 6 has 4 fields, but the header has 3"),
    "row too short": (HEADER + ROWS + "5,a\n", "line 6 has 2 fields, but the header has 3"),
    "every row longer than the header": ("x,y\n" + ROWS, "ragged: line 2 has 3 fields"),
    "open quote": (HEADER + ROWS + '5,"a,u\n', "Check the quotes"),
    "duplicate columns": ("x,x,y\n" + ROWS, "several columns called `x`"),
    "missing target column": ("x,c,Y\n" + ROWS, "no column `y`, which is named by `--target`. Did you mean `Y`?"),
    "two other separators": ("x;c|y\n1;a|u\n2;b|v\n", "--separator ';'"),
    "target all missing": (HEADER + "1,a,\n2,b,\n", "every value of the target `y` is missing"),
    "target sometimes missing": (HEADER + ROWS + "5,a,\n6,b,NA\n", "`y` is missing in rows 5, 6"),
    "one class": (HEADER + "1,a,u\n2,b,u\n", "only one class, 'u'"),
    "measured target": (
        "x,y\n" + "".join(f"{i},{i + 0.5}\n" for i in range(30)),
        "30 different fractional values",
    ),
    "mixed types": (
        HEADER + ROWS + "5,a,u\nfive,a,u\n",
        "mixes types: most values are numbers, but 1 are not",
    ),
    "infinite value": (HEADER + ROWS + "inf,a,u\n", "column `x` is infinite in row 5"),
    "dates": ("x,y\n2024-01-05,u\n2024-02-05,v\n", "column `x` holds dates"),
    "dates and times": ("x,y\n2024-01-05 10:00,u\n2024-02-05T11:00,v\n", "--ignore x"),
    "only constant columns": ("x,y\n1,u\n1,v\n1,u\n", "no column is left to learn from"),
    "only the target": ("y\nu\nv\n", "no column is left to learn from"),
    "zero bytes": ("x,y\n1,u\0\n2,v\n", "zero byte"),
    "wrong encoding": (HEADER.encode() + b"1,caf\xe9,u\n2,b,v\n", "byte 0xe9 at position 11, line 2"),
    "utf-16": ((HEADER + ROWS).encode("utf-16"), "--encoding utf-16"),
}


@pytest.mark.parametrize(("content", "fragment"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_table_is_refused_in_one_sentence(content, fragment, fit_csv, tmp_path):
    result = fit_csv(content)
    assert result.exit_code == 1
    assert fragment in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "out.skops").exists()


BAD_FILES = {
    "not JSON": ("t.jsonl", b'{"x": 1, "y": "u"}\n{"x": 2,\n', "line 2 of"),
    "not an object": ("t.jsonl", b"[1, 2]\n", "is of type list, but JSON lines must have one object per line"),
    "nested value": ("t.jsonl", b'{"x": [1], "y": "u"}\n{"x": 2, "y": "v"}\n', "in row 1. Every value must be"),
    "repeated key": ("t.jsonl", b'{"x": 1, "x": 2, "y": "u"}\n', "several columns called `x`"),
    "not Parquet": ("t.parquet", b"PAR1 but not really", "not a readable Parquet file"),
    "empty Parquet": ("t.parquet", b"", "not a readable Parquet file"),
    "not gzip": ("t.csv.gz", b"x,y\n1,u\n2,v\n", "is not a complete gzip file"),
    "truncated gzip": ("t.csv.gz", b"\x1f\x8b\x08\x00\x00\x00", "is not a complete gzip file"),
    "compressed Parquet": ("t.parquet.gz", b"", "is compressed Parquet"),
    "unknown suffix": ("t.xlsx", b"", "must have one of .csv"),
    "no suffix": ("table", b"x,y\n1,u\n", "it has no suffix"),
}


@pytest.mark.parametrize(("name", "content", "fragment"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_file_is_refused_in_one_sentence(name, content, fragment, fit_csv):
    result = fit_csv(content, name=name)
    assert (result.exit_code, fragment in result.stderr) == (1, True), result.stderr
    assert "Traceback" not in result.output


def test_missing_file_is_refused(run, tmp_path):
    result = run("fit", tmp_path / "none.csv", "--target", "y", "--out", tmp_path / "m.skops")
    assert (result.exit_code, "there is no file" in result.stderr) == (1, True)


def test_folder_as_data_is_refused(run, model, tmp_path):
    (tmp_path / "d.csv").mkdir()
    result = run("predict", model, tmp_path / "d.csv")
    assert (result.exit_code, "is a folder" in result.stderr) == (1, True)


BAD_MODELS = {
    "text": b"this is no model",
    "empty": b"",
    "table": b"x,y\n1,2\n",
    "pickle": b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94.",
}


@pytest.mark.parametrize("command", ["predict", "evaluate", "info"])
@pytest.mark.parametrize("content", BAD_MODELS.values(), ids=BAD_MODELS)
def test_what_is_no_model_is_refused(command, content, run, table, tmp_path):
    (tmp_path / "m.skops").write_bytes(content)
    table.to_csv(tmp_path / "t.csv", index=False)
    more = {"predict": [tmp_path / "t.csv"], "evaluate": [tmp_path / "t.csv", "--target", "kind"], "info": []}
    result = run(command, tmp_path / "m.skops", *more[command])
    assert result.exit_code == 1
    assert "m.skops" in result.stderr and "Traceback" not in result.output


def test_truncated_model_is_refused(run, model, tmp_path):
    (tmp_path / "m.skops").write_bytes(model.read_bytes()[:-200])
    result = run("info", tmp_path / "m.skops")
    assert (result.exit_code, "Traceback" in result.output) == (1, False)


def test_missing_model_is_refused(run, tmp_path):
    result = run("info", tmp_path / "none.skops")
    assert (result.exit_code, "there is no model file" in result.stderr) == (1, True)


@pytest.mark.parametrize("option", ["--text", "--categorical", "--ignore", "--weight"])
def test_unknown_column_in_an_option_is_refused_by_the_option_name(option, fit_csv):
    result = fit_csv(HEADER + ROWS, option, "nowhere")
    assert result.exit_code == 1 and f"`nowhere`, which is named by `{option}`" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--text", "y"], "two roles"),
        (["--test-fraction", "1.5"], "between 0 and 1"),
        (["--encoding", "klingon"], "unknown encoding"),
        (["--separator", ";;"], "one character"),
        (["--tying", "sideways"], "--tying"),
        (["--no-such-option"], "--no-such-option"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_wrong_usage_has_exit_code_two(arguments, fragment, fit_csv):
    result = fit_csv(HEADER + ROWS, *arguments)
    assert result.exit_code == 2 and fragment in result.stderr


def test_split_that_loses_a_class_is_refused(fit_csv):
    result = fit_csv(HEADER + ROWS + "5,a,w\n", "--test-fraction", "0.4")
    assert (result.exit_code, "cannot put every class" in result.stderr) == (1, True)


@pytest.mark.parametrize("weight", ["-1", "inf", "", "heavy"])
def test_bad_weight_is_refused_with_its_row(weight, fit_csv):
    result = fit_csv(f"x,w,y\n1,1,u\n2,1,v\n3,{weight},u\n4,1,v\n5,1,v\n", "--weight", "w")
    assert result.exit_code == 1 and "in row 3" in result.stderr


def test_weights_that_are_all_zero_are_refused(fit_csv):
    result = fit_csv("x,w,y\n1,0,u\n2,0,v\n3,0,u\n", "--weight", "w")
    assert (result.exit_code, "every weight" in result.stderr) == (1, True)


@pytest.mark.parametrize("bad", ["z=2", "v=-1", "v=much", "v"])
def test_bad_class_weight_is_refused_by_its_part(bad, fit_csv):
    result = fit_csv(HEADER + ROWS, "--class-weight", f"u=1,{bad}")
    assert result.exit_code == 1 and f"{bad!r}" in result.stderr


def test_output_into_a_missing_folder_is_refused_before_the_fit(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--out", tmp_path / "no" / "m.skops")
    assert result.exit_code == 1 and "there is no folder" in result.stderr and "fit on" not in result.stderr


def test_output_with_unknown_suffix_is_refused(run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", model, tmp_path / "t.csv", "--out", tmp_path / "o.xlsx")
    assert result.exit_code == 1 and "must have one of" in result.stderr
    assert "--format" not in result.stderr and ".svm" not in result.stderr  # which are for inputs only


def test_output_as_svmlight_is_refused(run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", model, tmp_path / "t.csv", "--out", tmp_path / "o.svm")
    assert result.exit_code == 1 and "tables are written as csv" in result.stderr
