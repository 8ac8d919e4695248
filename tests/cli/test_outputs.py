"""Files are written whole or not at all."""

import json
import os
import stat

import pandas as pd
import pytest

from logikern.cli.writing.outputs import write_atomically, write_table


def test_failed_replacement_leaves_old_file_and_no_rest(tmp_path, monkeypatch):
    (tmp_path / "o.csv").write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(tmp_path / "o.csv", b"new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("o.csv", "old")]


def test_written_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    write_atomically(tmp_path / "o.csv", b"new")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "o.csv")}
    assert len(modes) == 1


@pytest.mark.parametrize("name", ["o.csv", "o.jsonl"])
def test_text_keeps_small_probabilities_exactly(name, tmp_path):
    values = [1 / 3, 1.2345678901234567e-30]
    write_table(pd.DataFrame({"p": values}), str(tmp_path / name))
    lines = (tmp_path / name).read_text().splitlines()
    written = lines[1:] if name == "o.csv" else [json.loads(line)["p"] for line in lines]
    assert [float(value) for value in written] == values
