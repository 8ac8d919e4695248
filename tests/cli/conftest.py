"""A small table, a model fitted on it once, and a way to run commands."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from logikern.cli.main import app
from tests.cli.pictures import LABELS, pictures


def small_table(n_points: int = 60, seed: int = 0) -> pd.DataFrame:
    """Two numbers and a colour that separate three kinds well, but not entirely."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_points) % 3
    return pd.DataFrame(
        {
            "width": np.round(kind + 0.4 * rng.standard_normal(n_points), 3),
            "height": np.round(10.0 * (kind == 1) + 3.0 * rng.standard_normal(n_points), 3),
            "colour": np.array(["red", "green", "blue"])[(kind + (rng.random(n_points) < 0.2)) % 3],
            "kind": np.array(["apple", "pear", "plum"])[kind],
        }
    )


TOPICS = {
    "science": "study theory experiment measure",
    "science/physics": "energy field particle force",
    "science/physics/optics": "light lens laser beam",
    "science/physics/nuclear": "neutron reactor fission isotope",
    "science/biology": "cell gene species protein",
    "art": "artist style museum gallery",
    "art/music": "song band album melody",
    "art/film": "movie actor scene director",
    "art/film/noir": "detective shadow crime night",
    "art/film/western": "cowboy horse desert sheriff",
}
LEAVES = [path for path in TOPICS if not any(other.startswith(f"{path}/") for other in TOPICS)]


def small_corpus(n_texts: int = 72, seed: int = 0, coarse: bool = False) -> pd.DataFrame:
    """Texts of six topics in a tree, with words of all that lies above; with `coarse` some have an upper topic."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n_texts):
        steps = LEAVES[number % len(LEAVES)].split("/")
        above = ["/".join(steps[:length]) for length in range(1, len(steps) + 1)]
        pool = " ".join([TOPICS[path] for path in above] + ["this that with from about"]).split()
        rows.append((" ".join(rng.choice(pool, 12)), above[-2] if coarse and number % 11 == 0 else above[-1]))
    return pd.DataFrame(rows, columns=["body", "path"])


@pytest.fixture
def make_corpus():
    """The maker of small corpora."""
    return small_corpus


@pytest.fixture
def fit_texts(run, make_corpus, tmp_path):
    """Fit the small corpus, or another one, with further arguments."""

    def invoke(*arguments: object, frame: pd.DataFrame | None = None, fixed: bool = True):
        corpus = make_corpus() if frame is None else frame
        corpus.to_json(tmp_path / "docs.jsonl", orient="records", lines=True)
        out = ("--out", tmp_path / "m.skops", *(("--fixed",) if fixed else ()))
        return run("fit", tmp_path / "docs.jsonl", "--text", "body", "--target", "path", *out, *arguments)

    return invoke


@pytest.fixture
def leaf_names(make_corpus) -> pd.DataFrame:
    """The corpus with topics that are no paths."""
    corpus = make_corpus()
    return corpus.assign(path=corpus["path"].str.rpartition("/")[2])


@pytest.fixture
def unseen_texts(make_corpus, tmp_path) -> pd.DataFrame:
    frame = make_corpus(n_texts=60, seed=5, coarse=True)
    frame.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
    return frame


@pytest.fixture
def predict_texts(run):
    """What a model predicts of a file, as a table."""

    def invoke(*arguments: object) -> pd.DataFrame:
        result = run("predict", *arguments)
        assert result.exit_code == 0, result.stderr
        return pd.read_csv(io.StringIO(result.stdout))

    return invoke


@pytest.fixture(scope="session")
def tree_model(tmp_path_factory, run) -> Path:
    """A model of `path` from the small corpus."""
    folder = tmp_path_factory.mktemp("tree")
    small_corpus().to_json(folder / "docs.jsonl", orient="records", lines=True)
    out = folder / "docs.skops"
    options = ("--text", "body", "--target", "path", "--hierarchy", "auto", "--fixed", "--out", out)
    result = run("fit", folder / "docs.jsonl", *options)
    assert result.exit_code == 0, result.stderr
    return out


def small_sentences(n_sentences: int = 32, seed: int = 0, noise: float = 0.15) -> pd.DataFrame:
    """Words of small sentences with their tags; some words are of any kind."""
    rng = np.random.default_rng(seed)
    words = {"DET": ["the", "a", "every"], "NOUN": ["cat", "dog", "bird"], "VERB": ["sees", "likes", "hears"]}
    every = [word for own in words.values() for word in own]
    rows = []
    for number in range(n_sentences):
        for tag in ["DET", "NOUN", "VERB", "DET", "NOUN"][: rng.integers(2, 6)]:
            word = rng.choice(every if rng.random() < noise else words[tag])
            rows.append((f"s{number:02}", word, round(len(word) + 0.5 * rng.standard_normal(), 2), tag))
    return pd.DataFrame(rows, columns=["sentence", "word", "length", "tag"])


@pytest.fixture(scope="session")
def make_tokens():
    """The maker of small sentences."""
    return small_sentences


@pytest.fixture(scope="session")
def tag_model(tmp_path_factory, run) -> Path:
    """A model of `tag` from small sentences."""
    folder = tmp_path_factory.mktemp("tags")
    small_sentences().to_csv(folder / "tokens.csv", index=False)
    options = ("--sequence", "sentence", "--target", "tag", "--fixed", "--out", folder / "tags.skops")
    result = run("fit", folder / "tokens.csv", *options)
    assert result.exit_code == 0, result.stderr
    return folder / "tags.skops"


@pytest.fixture
def make_table():
    """The maker of small tables, for other sizes and seeds."""
    return small_table


@pytest.fixture
def table() -> pd.DataFrame:
    return small_table()


@pytest.fixture(scope="session")
def run():
    """Run `logikern` with these arguments; the result has exit_code, stdout and stderr."""

    def invoke(*arguments: object, input: str | bytes | None = None):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)

    return invoke


@pytest.fixture(scope="session")
def model(tmp_path_factory, run) -> Path:
    """A model of `kind` from the small table."""
    folder = tmp_path_factory.mktemp("model")
    small_table().to_csv(folder / "train.csv", index=False)
    result = run("fit", folder / "train.csv", "--target", "kind", "--fixed", "--out", folder / "model.skops")
    assert result.exit_code == 0, result.stderr
    return folder / "model.skops"


@pytest.fixture(scope="session")
def label_model(tmp_path_factory, run) -> Path:
    """A model of the labels of small pictures."""
    folder = tmp_path_factory.mktemp("pictures")
    pictures().to_csv(folder / "pictures.csv", index=False)
    named = [word for label in LABELS for word in ("--label", label)]
    result = run("fit", folder / "pictures.csv", *named, "--fixed", "--out", folder / "pictures.skops")
    assert result.exit_code == 0, result.stderr
    return folder / "pictures.skops"


@pytest.fixture(scope="session")
def number_model(tmp_path_factory, run) -> Path:
    """A model of `price`, three times the width, from the small table."""
    folder = tmp_path_factory.mktemp("numbers")
    small_table().assign(price=lambda table: 3.0 * table["width"]).to_csv(folder / "houses.csv", index=False)
    options = ("--target", "price", "--ignore", "kind", "--regression", "--fixed", "--out", folder / "houses.skops")
    result = run("fit", folder / "houses.csv", *options)
    assert result.exit_code == 0, result.stderr
    return folder / "houses.skops"


@pytest.fixture
def fit_csv(run, tmp_path):
    """Write text as CSV and fit on it."""

    def invoke(text: str | bytes, *arguments: object, name: str = "data.csv"):
        content = text.encode() if isinstance(text, str) else text
        (tmp_path / name).write_bytes(content)
        return run("fit", tmp_path / name, "--target", "y", "--fixed", "--out", tmp_path / "out.skops", *arguments)

    return invoke
