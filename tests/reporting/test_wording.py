"""Text from users' data, and the parts of an explanation."""

import pytest
from sklearn.datasets import load_iris

import logikern
from logikern.reporting.wording import Part, cut_apart, cut_path, parts, printable


@pytest.mark.parametrize("mark", ["\u061c", "\u200b", "\u200f", "\u202e", "\u2060", "\u2066", "\ufeff", "\x1b"])
def test_invisible_marks_are_replaced(mark):
    assert printable(f"a{mark}b") == "a\ufffdb"


def test_joiners_and_accents_are_letters():
    assert printable("a\u0301 \u0646\u200c\u0627 \U0001f469\u200d\U0001f52c") == (
        "a\u0301 \u0646\u200c\u0627 \U0001f469\u200d\U0001f52c"
    )


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("Biochemistry/Cell biology", "Biochemist…/Cell biology"),
        ("Electrical and Computer Engineering/Electricity", "Electrical…/Electricity"),
        (("Medical Science", "Psychology", "Anxiety"), "Medical Science…/Anxiety"),
        ("a/b", "a/b"),
        ("http://example.org/" + "w" * 30, "http://exam…wwwwwwwwwwww"),
        ("many words " * 90, "many words …s many words"),
        ("w" * 30 + "/", "wwwwwwwwwww…wwwwwwwwwww/"),
    ],
)
def test_long_paths_keep_their_last_step(path, shown):
    assert cut_path(path, 24) == shown and len(shown) <= 24


def test_paths_that_look_the_same_are_told_apart():
    assert cut_apart(["w" * 30 + "/x", "w" * 40 + "/x"], 10) == ["wwwwwww…/x", "wwwwwww…/x (2)"]


def test_sentences_are_on_one_line_again():
    text = "Result:\n  A sentence\n    of two lines.\n  Another.\n\nAlone."
    assert parts(text) == [
        Part(("Result:", "A sentence of two lines.", "Another."), False),
        Part(("Alone.",), False),
    ]


def test_tables_keep_their_lines():
    text = "Compared:\n  model  value\n  b          1  better\n                with x"
    assert parts(text) == [Part(("Compared:", "model  value", "b          1  better", "              with x"), True)]


def test_parts_of_an_explanation_have_one_table():
    X, y = load_iris(return_X_y=True)
    text = logikern.KernelLogisticClassifier(random_state=0).fit(X, y).explain()
    found = parts(text)
    assert [part.lines[0] for part in found if part.is_table] == ["Models compared, on 150 rows:"]
    assert " ".join(" ".join(part.lines) for part in found).split() == text.split()
    (terms,) = [part.lines[1:] for part in found if part.lines[0] == "Terms:"]
    assert all(": " in line and line.endswith(".") for line in terms)
