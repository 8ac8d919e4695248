"""Handwritten words: kernel conditional random fields, and a classifier of single letters with counted transitions.

The set has 6877 words of 26 letters in ten folds; the first letters of words were removed at its origin (Taskar et
al. 2003). There are three parts, each with a file of results:

one    models are fitted to one fold and tested on the nine others, as in that paper;
nine   models are fitted to nine folds and tested on the other one, as in later papers; to save time, their
       hyperparameters are learned once, on fold 0, which must be one of the nine;
words  only 55 different words occur, and each fold has nearly all of them, so neighbours may identify a word.
       Therefore half of the different words are for training (in fold 0), and words of the other half whose letters
       all occur in training are for testing (in the other folds). The search either holds out words at random, or
       all copies of a word together.

A rotation is the number of the single fold. Errors are per letter, and the log loss is that of the probabilities at
each letter. `joint` is the negative log probability of whole words, per letter.
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from data import folder
from logikern import KernelLogisticClassifier, KernelSequenceClassifier
from report import Report, Row
from tuned import conduct, options

WINDOW = 3  # neighbours on each side; chosen by the cross-validation of fold 0
WANTED = {"one": {0: 10.0, WINDOW: 10.0}, "nine": {0: 4.5, WINDOW: 2.7}}  # per cent of the letters
# A product with the matrix of nine folds takes two seconds, so the fit ends earlier than by default.
NINE = {"tol": 0.1}
COUNTED = 0.1  # added to all counts of transitions
FIRST_ONLY = {
    "sequences, search on all words": {"search_size": 5000},
    "sequences, maximum likelihood": {"piecewise": 0.0, "pseudocount": np.inf},
}


@dataclass(frozen=True, eq=False)
class Words:
    """Images of letters of each word, and the letters."""

    X: list[np.ndarray]
    y: list[np.ndarray]

    def take(self, chosen: np.ndarray) -> "Words":
        return Words([self.X[word] for word in chosen], [self.y[word] for word in chosen])


def read() -> tuple[Words, np.ndarray]:
    """All words and their folds."""
    with np.load(folder() / "ocr_letters.npz", allow_pickle=False) as stored:
        X = np.unpackbits(stored["bits"], axis=1).astype(float)
        y, cuts, folds = stored["y"].astype(int), stored["offsets"][1:-1], stored["fold"]
    return Words(np.split(X, cuts), np.split(y, cuts)), folds


def spell(words: Words) -> np.ndarray:
    """Each word as text."""
    return np.array(["-".join(map(str, letters)) for letters in words.y])


def by_word(words: Words) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that hold out all copies of a word together."""
    return list(GroupKFold(3).split(words.y, groups=spell(words)))


def halves(words: Words, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Words of fold 0 with one half of the vocabulary, and of the other folds with the other half."""
    spelled = spell(words)
    vocabulary = np.random.default_rng(0).permutation(np.unique(spelled))
    seen = np.isin(spelled, vocabulary[: len(vocabulary) // 2])
    train = np.flatnonzero((folds == 0) & seen)
    letters = np.unique(np.concatenate([words.y[word] for word in train]))
    familiar = np.array([bool(np.isin(own, letters).all()) for own in words.y])
    return train, np.flatnonzero((folds > 0) & ~seen & familiar)


def describe(name: str, predicted: Any, marginals: Any, test: Words, joint: float, seconds: float) -> Row:
    letters, chances = np.concatenate(test.y), np.concatenate(marginals)
    own = np.maximum(chances[np.arange(len(letters)), letters], 1e-300)
    return {
        "model": name,
        "error %": 100 * float(np.mean(np.concatenate(predicted) != letters)),
        "error %, best at each position": 100 * float(np.mean(chances.argmax(axis=1) != letters)),
        "log loss": -float(np.mean(np.log(own))),
        "joint": joint,
        "seconds": seconds,
    }


def with_all_letters(rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Columns for all 26 letters."""
    full = np.zeros((len(rows), 26))
    full[:, classes] = rows
    return full


def sequence_row(name: str, train: Words, test: Words, settings: dict[str, Any]) -> Row:
    began, cpu_began = time.perf_counter(), time.process_time()
    model = KernelSequenceClassifier(random_state=0, verbose=2, **settings).fit(train.X, train.y)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    marginals = [with_all_letters(rows, model.classes_) for rows in model.predict_marginals(test.X)]
    joint = -float(model.log_likelihood(test.X, test.y).sum()) / sum(map(len, test.y))
    return {
        **describe(name, model.predict(test.X), marginals, test, joint, seconds),
        "CPU seconds": cpu_seconds,
        "criterion": model.criterion_value_,
        "weights of neighbours": " ".join(f"{weight:.2g}" for weight in model.specification_.window),
    }


def counted(labels: list[np.ndarray], classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log P(j | i) / P(j) and log P(first = j) / P(j) of the training words."""
    size = len(classes)
    pairs, first, share = np.full((size, size), COUNTED), np.full(size, COUNTED), np.full(size, COUNTED)
    for word in labels:
        letters = np.searchsorted(classes, word)
        np.add.at(pairs, (letters[:-1], letters[1:]), 1)
        first[letters[0]] += 1
        np.add.at(share, letters, 1)
    share /= share.sum()
    return np.log(pairs / pairs.sum(axis=1, keepdims=True) / share), np.log(first / first.sum() / share)


def decode(log_chances: np.ndarray, pairs: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The best letters of a word."""
    reached, came = log_chances[0] + first, []
    for row in log_chances[1:]:
        both = reached[:, None] + pairs
        came.append(both.argmax(axis=0))
        reached = both.max(axis=0) + row
    letters = [int(reached.argmax())]
    for back in came[::-1]:
        letters.append(int(back[letters[-1]]))
    return np.array(letters[::-1])


def letter_rows(train: Words, test: Words) -> list[Row]:
    """The classifier of single letters, and its probabilities decoded with counted transitions."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelLogisticClassifier(kernel="gaussian", inputs="raw", tying="shared", random_state=0)
        model.fit(np.concatenate(train.X), np.concatenate(train.y))
    seconds = time.perf_counter() - began
    cuts = np.cumsum([len(letters) for letters in test.y])[:-1]
    chances = np.split(model.predict_proba(np.concatenate(test.X)), cuts)
    marginals = [with_all_letters(rows, model.classes_) for rows in chances]
    pairs, first = counted(train.y, model.classes_)
    decoded = [model.classes_[decode(np.log(np.maximum(rows, 1e-300)), pairs, first)] for rows in chances]
    letters = describe(
        "letters alone",
        [model.classes_[rows.argmax(axis=1)] for rows in chances],
        marginals,
        test,
        float("nan"),
        seconds,
    )
    row = describe("letters, counted transitions", decoded, marginals, test, float("nan"), seconds)
    unknown = {"error %, best at each position": float("nan"), "log loss": float("nan")}
    return [{**letters, "joint": letters["log loss"]}, {**row, **unknown}]


def window_name(window: int) -> str:
    return f"sequences, window {window}" if window else "sequences, default"


def run_folds(report: Report, chosen: argparse.Namespace, words: Words, folds: np.ndarray) -> None:
    """Train on one fold or on nine, for each rotation."""
    rows: list[Row] = []
    first = shorten(words.take(np.flatnonzero(folds == 0)), chosen.quick)
    learned = {window: learn(first, window) for window in chosen.windows if chosen.part == "nine"}
    for rotation in chosen.rotations or DEFAULT_ROTATIONS[chosen.part]:
        alone = folds == rotation
        kept = alone if chosen.part == "one" else ~alone
        train, test = (shorten(words.take(np.flatnonzero(own)), chosen.quick) for own in (kept, ~kept))
        settings = {window_name(window): {"window": window} for window in chosen.windows}
        if chosen.part == "one":
            rows += [{"rotation": rotation, **row} for row in letter_rows(train, test)]
            settings.update(FIRST_ONLY if rotation == 0 else {})
        for name, own in settings.items():
            given = learned[own["window"]] if chosen.part == "nine" else own
            rows.append({"rotation": rotation, **sequence_row(name, train, test, given)})
            report.progress(str(rows[-1]))
    report.table(TITLES[chosen.part], columns_of_all(rows))
    for window in chosen.windows:
        errors = [float(row["error %"]) for row in rows if row["model"] == window_name(window)]
        wanted, mean = WANTED[chosen.part].get(window, 10.0), float(np.mean(errors))
        claim = f"error per letter, mean of {len(errors)} rotations, {window_name(window)}"
        report.verdict(claim, f"< {wanted:g} %", f"{mean:.2f} %", mean < wanted)


def learn(words: Words, window: int) -> dict[str, Any]:
    """Settings with the hyperparameters that a search on some words finds."""
    found = KernelSequenceClassifier(random_state=0, verbose=1, window=window).fit(words.X, words.y).specification_
    return {
        "criterion": None,
        "rate": found.positions.kernels[0].rate,
        "variance": found.positions.variances[0],
        "transition_variance": found.transition_variance,
        "pseudocount": found.pseudocount,
        "piecewise": found.piecewise,
        "window": found.window,
        **NINE,
    }


DEFAULT_ROTATIONS = {"one": (0, 1, 2), "nine": (9, 8, 7)}
TITLES = {"one": "Trained on one fold, tested on nine folds", "nine": "Trained on nine folds, tested on one fold"}


def columns_of_all(rows: list[Row]) -> list[Row]:
    """The same columns in all rows."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name, "-") for name in names} for row in rows]


def shorten(words: Words, quick: bool) -> Words:
    return words.take(np.random.default_rng(0).permutation(len(words.y))[:120]) if quick else words


def run_words(report: Report, chosen: argparse.Namespace, words: Words, folds: np.ndarray) -> None:
    """Words of the test do not occur in training."""
    train, test = (shorten(words.take(rows), chosen.quick) for rows in halves(words, folds))
    rows = letter_rows(train, test)
    rows += [sequence_row("sequences, default", train, test, {})]
    for window in chosen.windows:
        name = "words held out" + (f", window {window}" if window else "")
        rows += [sequence_row(f"sequences, {name}", train, test, {"cv": by_word(train), "window": window})]
    report.table("Test words do not occur in training", columns_of_all(rows))
    alone, held_out = float(rows[0]["log loss"]), float(rows[3]["log loss"])
    claim = "log loss of new words, with words held out in the search, against letters alone"
    report.verdict(claim, f"< {alone:.3f}", f"{held_out:.3f}", held_out < alone)


def run(report: Report, chosen: argparse.Namespace) -> None:
    if not (folder() / "ocr_letters.npz").exists():
        report.progress("skipped: no ocr_letters.npz in the folder of the benchmark data")
        return
    part = run_words if chosen.part == "words" else run_folds
    part(report, chosen, *read())


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--part", choices=["one", "nine", "words"], default="one")
    parser.add_argument("--rotations", type=int, nargs="+", help="single folds")
    parser.add_argument("--windows", type=int, nargs="+", default=[0, WINDOW], help="neighbours on each side")
    parser.add_argument("--name", help="of the file of results; by default that of the part")
    chosen = parser.parse_args()
    conduct(chosen.name or f"sequences_{chosen.part}", chosen, run)


if __name__ == "__main__":
    main()
