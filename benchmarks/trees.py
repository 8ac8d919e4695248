"""The sets whose classes are leaves of a tree, in their splits, and the scores of Seeger (2008), sec. 6.1.

Texts become tf-idf vectors of unit norm with a linear kernel, the weights of words learned on the training rows;
the X-ray images of imclef07a are standardised and have a Gaussian kernel.
"""

import argparse
import gzip
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from data import Split, folder
from logikern import KernelLogisticClassifier, decide_on_tree, mean_reciprocal_rank, parent_accuracy, taxonomic_loss
from logikern.structure.hierarchy import read_tree
from logikern.structure.taxonomy import distances, labels_of, nodes_of
from logikern.structure.tree import Tree
from report import Row

SETS = ("imclef07a", "wos", "cpc_D", "cpc_E", "wordnet")
# Splits that a benchmark takes unless it is told otherwise; of wordnet three are given, of wos and imclef07a one.
USUAL_SPLITS = {"imclef07a": 1, "wos": 3, "cpc_D": 3, "cpc_E": 3, "wordnet": 1}
# Of a quick version: the largest classes, and rows of them.
QUICK_CLASSES, QUICK_ROWS = 12, 240
SMALLEST_PROBABILITY = 1e-15
SCORES = ("log loss", "acc %", "prec %", "taxo", "taxo[0-1]", "pacc %", "pacc[0-1] %")
GAIN, GAIN_ERROR = "taxo gain", "+- gain"


@dataclass(frozen=True, eq=False)
class TreeSplit:
    """Training and test rows whose labels are leaves of a tree.

    Parameters
    ----------
    name : str
        Of the set.
    kernel : str
        That goes with the inputs.
    X, X_test : arrays or sparse matrices of shape (n, d) and (m, d)
    y, y_test : arrays of shape (n,) and (m,)
        Paths of leaves, all of which occur in `y` unless the tree is of another set.
    tree : Tree
    """

    name: str
    kernel: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    tree: Tree

    def head(self, n: int, seed: int = 0) -> "TreeSplit":
        """`n` training rows drawn at random, or all of them, and at most as many test rows."""
        random = np.random.default_rng(seed)
        train, test = (np.sort(random.permutation(len(y))[:n]) for y in (self.y, self.y_test))
        return grow(self.name, self.kernel, (self.X[train], self.y[train]), (self.X_test[test], self.y_test[test]))

    def largest(self, n_classes: int) -> "TreeSplit":
        """Only the rows of the classes that have most of them."""
        names, counts = np.unique(self.y, return_counts=True)
        kept = names[np.argsort(-counts, kind="stable")[:n_classes]]
        train, test = (np.flatnonzero(np.isin(y, kept)) for y in (self.y, self.y_test))
        return grow(self.name, self.kernel, (self.X[train], self.y[train]), (self.X_test[test], self.y_test[test]))

    def describe(self) -> str:
        rows = f"{len(self.y)} training and {len(self.y_test)} test rows"
        return f"{self.name}, {rows}, {self.tree.n_classes} leaves, {len(self.tree.labels)} nodes"

    def places(self, labels: np.ndarray) -> np.ndarray:
        """Numbers of the classes, places in `tree.classes`."""
        return np.searchsorted(self.tree.classes, labels)


def grow(name: str, kernel: str, train: tuple[Any, np.ndarray], test: tuple[Any, np.ndarray]) -> TreeSplit:
    """The tree of the classes that have training rows; test rows of others are left out."""
    known = np.isin(test[1], np.unique(train[1]))
    tree = read_tree(sorted(set(train[1].tolist())))
    return TreeSplit(name, kernel, *train, test[0][known], test[1][known], tree)


def splits(name: str, count: int | None = None, quick: bool = False) -> Iterator[TreeSplit]:
    """The first splits of a set, as many as there are at most."""
    read = {"imclef07a": _imclef07a, "wos": _wos, "wordnet": _wordnet, "cpc_D": _cpc, "cpc_E": _cpc}[name]
    for split in read(name, USUAL_SPLITS[name] if count is None else count):
        yield split.largest(QUICK_CLASSES).head(QUICK_ROWS) if quick else split


def _imclef07a(name: str, count: int) -> Iterator[TreeSplit]:
    with np.load(folder() / "imclef07a.npz", allow_pickle=False) as stored:
        X, labels, n = stored["X"].astype(float), stored["classes"][stored["y"]], int(stored["n_train"])
    for held_out in given_and_drawn(labels, np.arange(len(labels)) >= n, count):
        flat = Split(name, X[~held_out], labels[~held_out], X[held_out], labels[held_out]).standardised()
        yield grow(name, "gaussian", (flat.X, flat.y), (flat.X_test, flat.y_test))


def given_and_drawn(labels: np.ndarray, given: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Test rows of the split that is given, then of others of its size, for which a part of each class is drawn."""
    for number in range(count):
        yield given if number == 0 else draw_part(labels, float(given.mean()), number)


def _wos(name: str, count: int) -> Iterator[TreeSplit]:
    with gzip.open(folder() / "wos.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    labels = np.array([row["path"] for row in rows])
    texts = np.array([row["text"] for row in rows], dtype=object)
    given = np.array([row["split"] == "valid" for row in rows])
    for held_out in given_and_drawn(labels, given, count):
        words = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english")
        X, X_test = words.fit_transform(texts[~held_out]), words.transform(texts[held_out])
        yield grow(name, "linear", (X, labels[~held_out]), (X_test, labels[held_out]))


def draw_part(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A part of each class, the last row of none: True where a row was drawn, (n,)."""
    random = np.random.default_rng(seed)
    chosen = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        # The fraction that is left is drawn as well, so that small classes have their turn now and then.
        count = int(share * len(rows) + random.random())
        chosen[rows[: min(count, len(rows) - 1)]] = True
    return chosen


def _cpc(name: str, count: int) -> Iterator[TreeSplit]:
    return _bags(name, "cpc_bow", count, name.removeprefix("cpc_") + "/")


def _wordnet(name: str, count: int) -> Iterator[TreeSplit]:
    return _bags(name, "wordnet_bow", count, "")


def _bags(name: str, file: str, count: int, prefix: str) -> Iterator[TreeSplit]:
    """Bags of words in the splits that are stored with them; of a section, only its own rows and their words."""
    with np.load(folder() / f"{file}.npz", allow_pickle=False) as stored:
        parts = stored["data"].astype(float), stored["indices"].astype(np.int32), stored["indptr"]
        counts = sparse.csr_matrix(parts, shape=tuple(stored["shape"]))
        labels = stored["classes"][stored["y"]]
        masks = np.unpackbits(stored["test_mask"], axis=1)[:, : len(labels)].astype(bool)
    own = np.char.startswith(labels, prefix)
    counts, labels, masks = counts[own], labels[own], masks[:, own]
    counts = counts[:, np.unique(counts.indices)]
    for held_out in masks[:count]:
        words = TfidfTransformer(sublinear_tf=True).fit(counts[~held_out])
        X, X_test = words.transform(counts[~held_out]), words.transform(counts[held_out])
        yield grow(name, "linear", (X, labels[~held_out]), (X_test, labels[held_out]))


def score_on_tree(log_probability: np.ndarray, labels: np.ndarray, tree: Tree) -> Row:
    """All scores of the paper's Table 1, and the log loss, of log probabilities (m, C).

    taxo and pacc are those of the decisions that expect the least of each loss, taxo[0-1] and pacc[0-1] those of
    the most probable class. What the first gain over the second has a standard error, from case to case.
    """
    probabilities = np.exp(log_probability)
    true = np.searchsorted(tree.classes, labels)
    likely = tree.classes[log_probability.argmax(axis=1)]
    near, of_parent = (
        labels_of(decide_on_tree(probabilities, tree, loss).decisions, tree) for loss in ("taxonomic", "parent")
    )
    values = (
        -float(log_probability[np.arange(len(true)), true].mean()),
        100 * float((likely == labels).mean()),
        100 * mean_reciprocal_rank(labels, log_probability, tree),
        taxonomic_loss(labels, near, tree),
        taxonomic_loss(labels, likely, tree),
        100 * parent_accuracy(labels, of_parent, tree),
        100 * parent_accuracy(labels, likely, tree),
    )
    nodes, near_nodes, likely_nodes = (nodes_of(own, tree) for own in (labels, near, likely))
    gains = distances(nodes, likely_nodes, tree) - distances(nodes, near_nodes, tree)
    error = float(gains.std() / np.sqrt(len(gains)))
    return dict(zip(SCORES, values, strict=True)) | {GAIN: float(gains.mean()), GAIN_ERROR: error}


def score_clipped(probabilities: np.ndarray, labels: np.ndarray, tree: Tree) -> Row:
    """The same of a peer's probabilities: rows renormalised, none below 1e-15, and how many of the truth were 0."""
    true = np.searchsorted(tree.classes, labels)
    n_zeros = int((probabilities[np.arange(len(true)), true] <= 0).sum())
    bounded = np.clip(probabilities, SMALLEST_PROBABILITY, None)
    bounded /= bounded.sum(axis=1, keepdims=True)
    share = float((probabilities <= 0).mean())
    return score_on_tree(np.log(bounded), labels, tree) | {"true at 0": n_zeros, "all at 0 %": 100 * share}


def fit_quietly(split: TreeSplit, **settings: Any) -> tuple[KernelLogisticClassifier, float]:
    """A fitted classifier and its seconds; what `fit` warns of is shown by the outcome instead."""
    model = KernelLogisticClassifier(split.kernel, random_state=0, **settings)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.X, split.y)
    return model, time.perf_counter() - began


def summarise(rows: Sequence[Row], keys: Sequence[str]) -> Row:
    """Mean of each column, with the standard deviation over splits where there are several."""
    values = {key: np.array([row[key] for row in rows], dtype=float) for key in keys}
    if len(rows) == 1:
        return {key: float(column[0]) for key, column in values.items()}
    return {key: f"{column.mean():.4g} +- {column.std(ddof=1):.2g}" for key, column in values.items()}


def mean_of(rows: Sequence[Row], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def add_set_options(parser: argparse.ArgumentParser) -> None:
    """Which sets, and how many splits of each."""
    parser.add_argument("--only", action="append", choices=SETS, help="this set; results get its name")
    parser.add_argument("--splits", type=int, metavar="K", help="of each set at most (3 of cpc and wos, 1 of others)")
