"""Reports of fitted models: what they say, and that nothing in them is active."""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import logikern
from logikern.estimators._report import contents
from logikern.reporting import page as layout
from tests.reporting.pages import dangers, read_page

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

SCRIPT, LINK, LONG = "<script>alert('x')</script>", "](javascript:alert(1))", "w" * 10_000
QUOTES = "{{ 7 * 7 }} {% raw %} \"' onmouseover=alert(1)"


def hostile_table(n_rows: int = 90, seed: int = 0) -> pd.DataFrame:
    """A table whose names, labels and cells try to get out of a page."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_rows) % 3
    frame = pd.DataFrame(
        {
            SCRIPT: kind + 0.5 * rng.normal(size=n_rows),
            f"a{LONG}": rng.normal(size=n_rows) + kind,
            QUOTES: np.array([SCRIPT, LINK, LONG])[(kind + (rng.random(n_rows) < 0.3)) % 3],
            "label": np.array([f"<img src=x onerror=alert(1)> {LINK}", f"{LONG}</style>", "$\\frac{\x00"])[kind],
        }
    )
    return frame.set_axis([f"<b>{row}</b>" for row in range(n_rows)])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = logikern.KernelLogisticClassifier("gaussian", inputs="raw", tying="shared", random_state=0)
    model.fit(X[::2], y[::2])
    return model, X[1::2], y[1::2]


@pytest.fixture(scope="module")
def iris_page(iris):
    return read_page(logikern.report(*iris))


@pytest.fixture(scope="module")
def hostile_page():
    table, new = hostile_table(), hostile_table(seed=1)
    model = logikern.KernelLogisticClassifier(criterion=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table.drop(columns="label"), table["label"])
        html = logikern.report(model, new.drop(columns="label"), new["label"])
    return html, read_page(html)


def test_explanation_cuts_long_names():
    table = hostile_table()
    model = logikern.KernelLogisticClassifier(criterion=None, rate=[0.1, 2.0, 0.1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table.drop(columns="label"), table["label"])
    told = " ".join(model.explain().split())
    assert "largest for awww" in told and len(told) < 2000


@pytest.fixture(scope="module")
def hostile_tree_page():
    rng = np.random.default_rng(0)
    labels = np.array([f"{SCRIPT}|{LINK}", f"{SCRIPT}|b", "<i onclick=x>|c", "<i onclick=x>|$d"])[np.arange(80) % 4]
    parents = {label: label.split("|")[0] for label in labels}
    X = (np.arange(80) % 4)[:, None] + 0.6 * rng.normal(size=(80, 2))
    model = logikern.KernelLogisticClassifier(criterion=None, hierarchy=parents).fit(X, labels)
    return read_page(logikern.report(model, X[:40] + 0.1, labels[:40]))


def test_hostile_text_is_inert(hostile_page):
    assert dangers(hostile_page[1]) == []
    assert hostile_page[1].misplaced == [] and hostile_page[1].open == []


def test_hostile_tree_is_inert(hostile_tree_page):
    assert dangers(hostile_tree_page) == [] and hostile_tree_page.misplaced == []
    assert "Depth 1 of the tree" in hostile_tree_page.text


def test_hostile_text_is_shown_as_text(hostile_page):
    assert SCRIPT in hostile_page[1].text and "{{ 7 * 7 }}" in hostile_page[1].text


def test_long_text_is_cut(hostile_page):
    html, page = hostile_page
    assert "w" * 100 not in html and "w…" in page.text and len(html) < 300_000


def test_unprintable_characters_are_replaced(hostile_page):
    assert "\x00" not in hostile_page[0]


def test_page_forbids_everything_active(iris_page):
    policies = [own for tag, own in iris_page.elements if own.get("http-equiv") == "Content-Security-Policy"]
    assert [own["content"] for own in policies] == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_page_is_inert_and_closed(iris_page):
    assert dangers(iris_page) == [] and iris_page.misplaced == [] and iris_page.open == []


def test_names_in_sentences_are_code(iris, monkeypatch):
    monkeypatch.setattr(contents, "INFLUENCE", replace(contents.INFLUENCE, largest_work=0.0))
    assert "Use <code>suspects</code> instead." in logikern.report(*iris)


def test_matrix_states_its_width_for_print(iris_page):
    (style,) = [own["style"] for _, own in iris_page.elements if own.get("class") == "matrix"]
    assert 16 < int(style.removeprefix("--width: ")) < 60


def test_rotated_headings_fit_across_a_printed_page(iris):
    model, X, y = iris
    page = logikern.report(model, X[:6], y[:6])
    # Three classes and the sum of each row; a heading is wider than a count of one digit.
    assert f'--width: {16 + 4 * 2.2:.0f}"' in page


def test_sentences_of_an_explanation_are_paragraphs(iris):
    lines = iris[0].explain().splitlines()
    html = logikern.report(*iris)
    assert f"<p>{lines[0]}</p>" in html and "<p>Result:</p>" in html


def test_columns_of_an_array_are_named_as_in_the_explanation():
    X, y = load_iris(return_X_y=True)
    model = logikern.KernelLogisticClassifier(criterion=None, rate=[0.1, 2.0, 0.1, 0.2]).fit(X, y)
    text = read_page(logikern.report(model, X, y)).text
    assert "largest for input 1" in text and " input 1 " in text.partition("Relevance of the columns")[2]


def test_links_lead_to_sections(iris_page):
    linked = [own["href"][1:] for tag, own in iris_page.elements if tag == "a"]
    assert len(linked) > 8 and set(linked) <= set(iris_page.ids) and len(set(iris_page.ids)) == len(iris_page.ids)


def test_page_has_the_scores_of_the_rows(iris, iris_page):
    model, X, y = iris
    proba = model.predict_proba(X)
    loss = -np.log(proba[np.arange(len(y)), y]).mean()
    assert f"log loss {loss:.4f} " in iris_page.text
    assert f"Brier score {logikern.brier_score(y, proba, model.classes_):.4f} " in iris_page.text
    assert f"error {100 * np.mean(model.predict(X) != y):.2f} % " in iris_page.text


def test_page_explains_the_model(iris, iris_page):
    assert " ".join(iris[0].explain().split()) in iris_page.text


def test_page_lists_the_suspects(iris, iris_page):
    section = iris_page.text.partition("Suspect training rows")[2]
    for row, index in zip(iris[0].suspects(20)["row"], iris[0].suspects(20).index, strict=True):
        assert f" {row} " in section and index == 2 * row


def test_page_of_a_model_file_has_the_same_suspects(iris, iris_page, tmp_path):
    iris[0].save_model(tmp_path / "iris.skops")
    again = read_page(logikern.report(logikern.load_model(tmp_path / "iris.skops"), *iris[1:]))
    sections = [page.text.partition("by leave-one-out.")[2].partition("Cost")[0] for page in (again, iris_page)]
    assert sections[0] == sections[1] and "row label probability likely loss" in sections[0]


def test_file_is_the_page(iris, tmp_path):
    html = logikern.report(*iris, out=tmp_path / "iris.html")
    assert (tmp_path / "iris.html").read_text() == html


def test_settings_are_shown(iris_page):
    assert "inputs='raw', kernel='gaussian', random_state=0, tying='shared')" in iris_page.text


def test_training_rows_are_recognised(iris, iris_page):
    X, y = load_iris(return_X_y=True, as_frame=True)
    page = read_page(logikern.report(iris[0], X[:20], y[:20]))
    assert "of the 20 rows have the same inputs as a training row" in page.text
    assert int(page.text.partition(" of the 20 rows")[0].split()[-1]) >= 10


def test_pipelines_and_searches_have_reports(iris):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), logikern.KernelLogisticClassifier(criterion=None))
    search = GridSearchCV(pipeline, {"kernellogisticclassifier__rate": [0.1, 1.0]}, cv=2).fit(X[::2], y[::2])
    for model in (search, search.best_estimator_):
        page = read_page(logikern.report(model, X[1::2], y[1::2]))
        assert dangers(page) == [] and "StandardScaler" in page.text


def test_polars_frames_have_reports():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = logikern.KernelLogisticClassifier(criterion=None).fit(pl.from_pandas(X), y)
    page = read_page(logikern.report(model, pl.from_pandas(X), y.to_numpy()))
    assert "petal length (cm)" in page.text.partition("Largest losses")[2]


def test_weighted_fit_of_a_file_says_why_it_has_no_suspects(iris, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = logikern.KernelLogisticClassifier(criterion=None)
    model.fit(X, y, sample_weight=np.linspace(0.5, 2.0, 150)).save_model(tmp_path / "weighted.skops")
    page = read_page(logikern.report(logikern.load_model(tmp_path / "weighted.skops"), X, y))
    assert "Not computed. Leave-one-out needs the training labels" in page.text


def test_one_vs_rest_has_a_report():
    X, y = load_iris(return_X_y=True)
    model = logikern.KernelLogisticClassifier(criterion=None, one_vs_rest=True).fit(X, y)
    assert "without one_vs_rest" in read_page(logikern.report(model, X, y)).text


def test_report_of_100_000_rows_is_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=100_000) > 0).astype(int)
    model = logikern.KernelLogisticClassifier(criterion=None).fit(X[:60], y[:60])
    assert len(logikern.report(model, X, y)) < 3_000_000


def test_unknown_labels_are_refused(iris):
    with pytest.raises(ValueError, match="holds 7. Drop such rows"):
        logikern.report(iris[0], iris[1], np.full(len(iris[2]), 7))


def test_regressors_are_refused():
    X, y = load_iris(return_X_y=True)
    model = logikern.KernelRegressor(criterion=None).fit(X, y)
    with pytest.raises(ValueError, match="must be a classifier"):
        logikern.report(model, X, y)


def test_missing_library_is_named(iris, monkeypatch):
    layout._template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match="logikern\\[report\\]"):
        logikern.report(*iris)
