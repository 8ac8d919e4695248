"""Clauses of abstracts without punctuation: the linear kernel against CRFsuite.

Abstracts of `wos` are cut into words, in lower case and without punctuation. The label of a word says whether it
begins a sentence (S), begins a clause after a comma, colon or semicolon (C), or continues (I). Features are the words
and their neighbours, pairs of words, and the first and last letters: sparse, as in the chunking of texts.

CRFsuite has one penalty c2 on all weights, which is a prior variance of 1 / (2 c2). At the same variance and without
our prior mean of transitions and weight of positions, both models have the same optimum. Then both choose their
penalties by the log loss of the same held-out abstracts: CRFsuite from a grid that is refined around its best value,
ours by its search. Stronger shrinkage raises the likelihood and lowers F1 here, so both must find the same optimum
before their F1 can be compared. F1 is that of whole clauses: first word, kind and last word must agree. The noise of
a difference is its standard deviation over bootstrap samples of the test abstracts.
"""

import argparse
import gzip
import importlib.util
import json
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from data import folder
from logikern import KernelSequenceClassifier
from report import Report, Row
from tuned import conduct, options

GRID = np.geomspace(0.03, 10.0, 8)  # of c2
N_REFINEMENTS = 2  # each tries the midpoints on both sides of the best value, and halves the spacing
PIECE = re.compile(r"[A-Za-z0-9][A-Za-z0-9'\-]*|[.?!](?=\s+[A-Z])|[,;:](?=\s)")
SAME_VARIANCE = 1.0
SIZES = {"train": 150, "test": 300}
N_DRAWS = 1000  # bootstrap samples of test texts


@dataclass(frozen=True, eq=False)
class Texts:
    """Features and labels of the words of each abstract."""

    X: list[list[dict[str, float]]]
    y: list[list[str]]

    def take(self, chosen: Any) -> "Texts":
        return Texts([self.X[text] for text in chosen], [self.y[text] for text in chosen])

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(labels) for labels in self.y])

    @property
    def n_words(self) -> int:
        return int(self.lengths.sum())


def cut(text: str) -> tuple[list[str], list[str]]:
    """Words in lower case, and how each begins."""
    words, labels, label = [], [], "S"
    for piece in PIECE.findall(text):
        if piece[0].isalnum():
            words.append(piece.lower())
            labels.append(label)
            label = "I"
        elif label != "S":
            label = "S" if piece in ".?!" else "C"
    return words, labels


def describe_word(words: list[str], place: int) -> dict[str, float]:
    """The features of one word."""
    around = ["", "", *words, "", ""][place : place + 5]
    own = around[2]
    names = [f"{step}:{word}" for step, word in zip((-2, -1, 0, 1, 2), around, strict=True)]
    names += [f"-1|0:{around[1]}|{own}", f"0|1:{own}|{around[3]}", f"first:{own[:2]}", f"last:{own[-3:]}"]
    names += [f"digit:{any(map(str.isdigit, own))}", "bias"]
    return dict.fromkeys(names, 1.0)


def read(n_texts: int) -> Texts:
    with gzip.open(folder() / "wos.jsonl.gz", "rt", encoding="utf-8") as stored:
        texts = [json.loads(line)["text"] for line in stored]
    chosen = np.random.default_rng(0).permutation(len(texts))
    pairs = [cut(texts[number]) for number in chosen[: 2 * n_texts]]
    usable = [(words, labels) for words, labels in pairs if len(words) > 20][:n_texts]
    X = [[describe_word(words, place) for place in range(len(words))] for words, _ in usable]
    return Texts(X, [labels for _, labels in usable])


def clauses(labels: Any) -> set[tuple[int, int, str]]:
    """First word, last word and kind of every clause; the first word of a text always begins one."""
    begins = [place for place, label in enumerate(labels) if label != "I" or place == 0]
    ends = [*begins[1:], len(labels)]
    return {(begin, end, str(labels[begin])) for begin, end in zip(begins, ends, strict=True)}


@dataclass(frozen=True, eq=False)
class Judged:
    """Predictions for test texts, text by text."""

    right: np.ndarray  # clauses found
    both: np.ndarray  # clauses predicted, plus those of the text
    wrong: np.ndarray  # labels
    log_likelihoods: np.ndarray

    def f1(self, texts: Any = slice(None)) -> float:
        return float(2 * self.right[texts].sum() / self.both[texts].sum())

    def mean_log_likelihood(self, n_words: np.ndarray, texts: Any = slice(None)) -> float:
        return float(self.log_likelihoods[texts].sum() / n_words[texts].sum())


def judge(predicted: Any, log_likelihoods: Any, test: Texts) -> Judged:
    pairs = [(clauses(own), clauses(labels)) for own, labels in zip(predicted, test.y, strict=True)]
    wrong = [int(np.sum(np.array(own) != np.array(labels))) for own, labels in zip(predicted, test.y, strict=True)]
    return Judged(
        np.array([len(own & right) for own, right in pairs]),
        np.array([len(own) + len(right) for own, right in pairs]),
        np.array(wrong),
        np.asarray(log_likelihoods),
    )


@dataclass(frozen=True, eq=False)
class Result:
    """A model and how good it is."""

    name: str
    judged: Judged
    hyperparameters: str
    seconds: float

    def row(self, test: Texts) -> Row:
        return {
            "model": self.name,
            "log likelihood per word": self.judged.mean_log_likelihood(test.lengths),
            "F1 of clauses": self.judged.f1(),
            "error %": 100 * self.judged.wrong.sum() / test.n_words,
            "hyperparameters": self.hyperparameters,
            "CPU seconds": self.seconds,
        }


def compare(report: Report, test: Texts, own: Result, other: Result) -> None:
    """Whether a model is as good as another, up to twice the noise of their difference."""
    random, n = np.random.default_rng(0), len(test.y)
    draws = [slice(None), *(random.integers(n, size=n) for _ in range(N_DRAWS))]
    lengths = test.lengths
    scores: dict[str, Callable[[Judged, Any], float]] = {
        "log likelihood per word": lambda judged, texts: judged.mean_log_likelihood(lengths, texts),
        "F1 of clauses": lambda judged, texts: judged.f1(texts),
    }
    for name, score in scores.items():
        gap, *others = (score(own.judged, texts) - score(other.judged, texts) for texts in draws)
        noise = float(np.std(others))
        seen = f"{gap:+.4f} with noise {noise:.4f}"
        report.verdict(f"{name}, {own.name} - {other.name}", "> -2 noise", seen, gap >= -2 * noise - 1e-4)


class Crfsuite:
    """CRFsuite's L-BFGS at one penalty; first and last words have a feature more, as our first and last labels."""

    def __init__(self, c2: float):
        self.c2 = c2

    def fit(self, texts: Texts) -> "Crfsuite":
        import pycrfsuite

        trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params({"c2": self.c2, "max_iterations": 2000, "epsilon": 1e-6, "period": 20, "delta": 1e-7})
        trainer.set_params({"feature.possible_states": True, "feature.possible_transitions": True})
        for words, labels in zip(texts.X, texts.y, strict=True):
            trainer.append(pycrfsuite.ItemSequence(self._with_ends(words)), labels)
        self.tagger = pycrfsuite.Tagger()
        with tempfile.TemporaryDirectory() as own:
            trainer.train(f"{own}/model")
            self.tagger.open(f"{own}/model")
        return self

    @staticmethod
    def _with_ends(words: list[dict[str, float]]) -> list[dict[str, float]]:
        own = [dict(word) for word in words]
        own[0]["begin"] = own[-1]["end"] = 1.0
        return own

    def predict(self, texts: Texts) -> tuple[list[list[str]], list[float]]:
        """Labels, and the log likelihood of the right ones, for each text."""
        import pycrfsuite

        predicted, found = [], []
        for words, labels in zip(texts.X, texts.y, strict=True):
            self.tagger.set(pycrfsuite.ItemSequence(self._with_ends(words)))
            predicted.append(self.tagger.tag())
            found.append(float(np.log(self.tagger.probability(labels))))
        return predicted, found


def clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return work(), time.process_time() - began


def tune_crfsuite(train: Texts, splits: list[Any]) -> Crfsuite:
    """The penalty with the best held-out log likelihood, fitted to all texts."""

    def judge_penalty(c2: float) -> float:
        fits = [(Crfsuite(c2).fit(train.take(kept)), train.take(held_out)) for kept, held_out in splits]
        return sum(sum(model.predict(held_out)[1]) for model, held_out in fits)

    totals, spacing = {c2: judge_penalty(c2) for c2 in GRID.tolist()}, float(GRID[1] / GRID[0])
    for _ in range(N_REFINEMENTS):
        spacing **= 0.5
        best = max(totals, key=totals.__getitem__)
        totals |= {c2: judge_penalty(c2) for c2 in (best / spacing, best * spacing)}
    return Crfsuite(max(totals, key=totals.__getitem__)).fit(train)


def own_result(name: str, train: Texts, test: Texts, **settings: Any) -> Result:
    model = KernelSequenceClassifier(kernel="linear", bias_variance=0.0, random_state=0, **settings)
    _, seconds = clocked(lambda: model.fit(train.X, train.y))
    found = model.specification_
    values = (*found.positions.variances, found.transition_variance, found.pseudocount, found.piecewise)
    told = "variances {:.3g}, {:.3g}, pseudocount {:.3g}, piecewise {:.3g}".format(*values)
    judged = judge(model.predict(test.X), model.log_likelihood(test.X, test.y), test)
    return Result(name, judged, told, seconds)


def crfsuite_result(name: str, test: Texts, work: Callable[[], Crfsuite]) -> Result:
    model, seconds = clocked(work)
    return Result(name, judge(*model.predict(test), test), f"c2 {model.c2:.3g}", seconds)


def run(report: Report, chosen: argparse.Namespace) -> None:
    if not (folder() / "wos.jsonl.gz").exists():
        report.progress("skipped: no wos.jsonl.gz in the folder of the benchmark data")
        return
    n_train, n_test = (12, 12) if chosen.quick else (SIZES["train"], SIZES["test"])
    texts = read(n_train + n_test)
    train, test = texts.take(range(n_train)), texts.take(range(n_train, n_train + n_test))
    report.say(f"{n_train} abstracts with {train.n_words} words for training, {test.n_words} words for testing.")
    splits = list(KFold(3, shuffle=True, random_state=0).split(np.arange(n_train)))
    plain = {"pseudocount": np.inf, "piecewise": 0.0}
    same = {"variance": SAME_VARIANCE, "transition_variance": SAME_VARIANCE, "criterion": None}
    results = [
        crfsuite_result("CRFsuite, c2 = 0.5", test, lambda: Crfsuite(0.5 / SAME_VARIANCE).fit(train)),
        own_result("ours, the same variance", train, test, **plain, **same),
        crfsuite_result("CRFsuite, c2 of a grid", test, lambda: tune_crfsuite(train, splits)),
        own_result("ours, maximum likelihood", train, test, cv=splits, search_size=train.n_words, **plain),
        own_result("ours, default", train, test, cv=splits, search_size=train.n_words),
    ]
    report.table("Clauses of abstracts", [own.row(test) for own in results])
    for own, other in ((1, 0), (3, 2), (4, 2)):
        compare(report, test, results[own], results[other])


def main() -> None:
    if importlib.util.find_spec("pycrfsuite") is None:
        print("skipped: CRFsuite is not installed (pip install python-crfsuite)")
        return
    conduct("chunking", options(__doc__).parse_args(), run)


if __name__ == "__main__":
    main()
