"""The commands of docs/command-line.md run as they stand there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from logikern.cli.reading.sources import FORMATS
from tests.cli.pictures import pictures

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL) for line in block.splitlines()]


@pytest.fixture
def folder(
    make_table,
    make_corpus,
    make_tokens,
    model,
    tree_model,
    number_model,
    tag_model,
    label_model,
    tmp_path,
    monkeypatch,
):
    """The files that the page speaks of."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(model, "fruit.skops")
    fruit = make_table().assign(id=range(100, 160))
    fruit.drop(columns="id").to_csv("fruit.csv", index=False)
    fruit.to_csv("new.csv", index=False)
    fruit.to_csv("test.csv", index=False)
    Path("old.csv").write_bytes(fruit.replace("plum", "prüne").to_csv(index=False, sep=";").encode("latin-1"))
    prices = fruit[["width", "kind"]].to_csv(index=False, sep=";", decimal=",")
    Path("prices.csv").write_text(prices)
    Path("words.svm").write_text("".join(f"{row % 2} {row % 2 + 1}:1 {row % 5 + 3}:2\n" for row in range(20)))
    fruit.assign(importance=1.5).to_csv("weighted.csv", index=False)
    fruit.assign(kind=fruit["kind"].where(fruit["id"] > 102)).to_csv("gaps.csv", index=False)
    reviews = fruit[["id"]].assign(stars=fruit["id"] % 3, review=fruit["kind"] + " was good")
    reviews.to_json("reviews.jsonl", orient="records", lines=True)
    fruit.assign(tree=fruit["id"] % 12).to_csv("trees.csv", index=False)
    Path("costs.csv").write_text(",apple,pear,plum\napple,0,1,5\npear,1,0,1\nplum,1,1,0\n")
    shutil.copy(number_model, "houses.skops")
    shutil.copy(number_model.with_suffix(".csv"), "houses.csv")
    shutil.copy(tree_model, "docs.skops")
    docs = make_corpus()
    for name in ("docs.jsonl", "new.jsonl"):
        docs.to_json(name, orient="records", lines=True)
    topics = docs.assign(topic=docs["path"].str.rpartition("/")[2]).drop(columns="path")
    topics.to_json("topics.jsonl", orient="records", lines=True)
    Path("links.csv").write_text(
        "child,parent\nphysics,\noptics,physics\nnuclear,physics\nbiology,\nmusic,\nfilm,\nnoir,film\nwestern,film\n"
    )
    paths = {"sea": "nature/sea", "sky": "nature/sky"}
    for name in ("pictures", "new-pictures"):
        pictures().to_csv(f"{name}.csv", index=False)
    pictures().rename(columns=paths).to_csv("nature.csv", index=False)
    shutil.copy(label_model, "pictures.skops")
    shutil.copy(tag_model, "tags.skops")
    make_tokens().to_csv("tokens.csv", index=False)
    make_tokens(n_sentences=10, seed=1).to_csv("new_tokens.csv", index=False)
    return tmp_path


def arguments_of(command: str) -> tuple[list[str], str | None]:
    """The arguments after `logikern`, and the file that is standard input."""
    words = shlex.split(command)
    source = words[words.index("<") + 1] if "<" in words else None
    ends = [words.index(sign) for sign in ("<", ">") if sign in words]
    return words[1 : min(ends, default=len(words))], source


@pytest.mark.parametrize("command", COMMANDS)
def test_command_of_the_page_runs(command, folder, run):
    arguments, source = arguments_of(command)
    result = run(*arguments, input=Path(source).read_text() if source else None)
    assert result.exit_code == 0, result.stderr


def test_page_has_commands():
    assert len(COMMANDS) > 10


@pytest.mark.parametrize("suffix", FORMATS)
def test_page_lists_every_suffix(suffix):
    assert f"`{suffix}`" in PAGE
