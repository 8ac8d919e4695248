"""Reports on models of several labels and of sequences."""

import numpy as np
import pandas as pd
import pytest

import logikern
from logikern.decisions.intervals import bootstrap_means
from tests.reporting.pages import dangers, read_page

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

SCRIPT = "<script>alert('x')</script>"
N = 60


def pictures(seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.standard_normal((N, 2)), columns=["blue", SCRIPT])
    present = X.to_numpy() + 0.7 * random.logistic(size=(N, 2)) > 0
    return X, pd.DataFrame(present.astype(int), columns=["sea", f"sky{SCRIPT}"])


def tokens(seed=0):
    random = np.random.default_rng(seed)
    groups = np.repeat([f"s{number}" for number in range(12)], 5)
    tags = random.choice(["a", SCRIPT], N)
    X = pd.DataFrame({"x": random.standard_normal(N) + (tags == "a"), SCRIPT: random.standard_normal(N)})
    return X, tags, groups


@pytest.fixture(scope="module")
def labels():
    return logikern.KernelMultilabelClassifier(criterion=None, random_state=0).fit(*pictures())


@pytest.fixture(scope="module")
def tagger():
    X, tags, groups = tokens()
    return logikern.KernelSequenceClassifier(criterion=None, random_state=0).fit(X, tags, groups=groups)


@pytest.fixture(scope="module")
def labels_page(labels):
    return read_page(logikern.report(labels, *pictures(1)))


@pytest.fixture(scope="module")
def tagger_page(tagger):
    X, tags, groups = tokens(1)
    return read_page(logikern.report(tagger, X, tags, groups=groups))


def test_scores_of_label_sets_have_intervals(labels, labels_page):
    X, truth = pictures(1)
    [joint] = bootstrap_means(-labels.set_log_proba(X, truth)[:, None])
    assert f"joint log loss {joint.value:.4f} {joint.low:.4f} to {joint.high:.4f}" in labels_page.text
    subset = (labels.decide(X, "subset") != truth).any(axis=1).mean()
    assert f"subset error {100 * subset:.2f} %" in labels_page.text


def test_baseline_of_labels_has_their_shares(labels_page):
    truth = pictures(1)[1].to_numpy()
    shares = truth.mean(axis=0)
    expected = -np.log(np.where(truth == 1, shares, 1 - shares)).sum(axis=1).mean()
    assert f"{expected:.4f}" in labels_page.text and "each label independently" in labels_page.text


def test_reliability_of_labels_is_pooled(labels_page):
    assert "each pair of a row and a label is a case" in labels_page.text
    assert "60 rows with 2 labels" in labels_page.text


def test_labels_are_listed_without_a_confusion_matrix(labels_page):
    assert {"labels", "learned", "relevance", "losses", "cost", "reproduction"} <= set(labels_page.ids)
    assert "confusion" not in labels_page.ids and "suspects" not in labels_page.ids


def test_label_without_rows_has_no_recall(labels):
    X, truth = pictures(1)
    text = read_page(logikern.report(labels, X, truth * [1, 0])).text
    assert "None" not in text.partition("What was learned")[0]


def test_rows_without_labels_say_so(labels):
    X, truth = pictures(1)
    losses = read_page(logikern.report(labels, X, truth * 0)).text.partition("Largest losses The rows")[2]
    assert "(no label)" in losses


def test_words_are_those_of_label_sets(labels_page):
    text = labels_page.text.partition("Reliability")[2]
    assert "correct in 80 % of the cases" in text and "whose true label set got" in text
    assert "true class" not in text and "predicted class" not in text


def test_scores_of_rows_and_of_sequences_resample_sequences(tagger, tagger_page):
    X, tags, groups = tokens(1)
    own = tagger.predict_proba(X, groups=groups)[np.arange(N), np.searchsorted(tagger.classes_, tags)]
    [rows] = bootstrap_means(-np.log(own)[:, None], groups=groups)
    assert f"log loss {rows.value:.4f} {rows.low:.4f} to {rows.high:.4f}" in tagger_page.text
    [whole] = bootstrap_means(-tagger.log_likelihood(X, tags, groups=groups)[:, None])
    assert f"log loss of sequences {whole.value:.4f} {whole.low:.4f} to {whole.high:.4f}" in tagger_page.text


def test_error_of_rows_is_that_of_predicted_sequences(tagger, tagger_page):
    X, tags, groups = tokens(1)
    assert f"error {100 * (1 - tagger.score(X, tags, groups=groups)):.2f} %" in tagger_page.text


def test_sequences_have_confusion_and_relevance_but_no_suspects(tagger_page):
    assert {"confusion", "relevance", "losses", "cost"} <= set(tagger_page.ids)
    assert "suspects" not in tagger_page.ids and "12 sequences" in tagger_page.text
    assert "increase in log loss" in tagger_page.text


def test_order_of_rows_of_other_sequences_does_not_matter(tagger, tagger_page):
    X, tags, groups = tokens(1)
    order = np.argsort(np.arange(N) % 5, kind="stable")  # sequences interleaved
    page = read_page(logikern.report(tagger, X.iloc[order], tags[order], groups=groups[order]))
    for name in ("log loss of sequences", "error of sequences"):
        assert page.text.partition(name)[2].split()[0] == tagger_page.text.partition(name)[2].split()[0]


@pytest.mark.parametrize("name", ["labels_page", "tagger_page"])
def test_other_pages_run_nothing(name, request):
    assert dangers(request.getfixturevalue(name)) == []


def test_sequences_need_groups(tagger):
    X, tags, _ = tokens(1)
    with pytest.raises(ValueError, match="pass `groups`"):
        logikern.report(tagger, X, tags)


def test_groups_are_for_sequences(labels):
    with pytest.raises(ValueError, match="`groups` are for models of sequences"):
        logikern.report(labels, *pictures(1), groups=np.zeros(N))
