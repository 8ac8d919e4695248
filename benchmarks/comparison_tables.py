"""Sections of docs/benchmarks.md: ours beside what people would pick instead, from stored results."""

from dataclasses import dataclass
from statistics import mean

from page import figure, number, pick
from parts import Row, Stored
from wording import name as shown_name
from wording import ratios, table

# Columns of earlier versions of ours in the results of tables.py.
VERSIONS = ("after", "before")
LOSSES = ("log loss", "joint log loss")
# Task and peer of each part.
WORDS = {
    "sequences": ("handwritten words", "letters, counted transitions"),
    "sequences-new-words": ("unseen handwritten words", "letters alone"),
}
WORD_PEERS = {
    "letters alone": "logikern on single letters",
    "letters, counted transitions": "logikern on single letters, decoded with transition frequencies",
}
LARGE_NAMES = {
    "lightgbm": "LightGBM",
    "lightgbm_stopped": "LightGBM, 127 leaves, early stopping",
    "extra_trees": "ExtraTrees",
    "nystroem": "Nystroem, logistic regression",
    "hist_gradient_boosting": "HistGradientBoosting",
}


PUBLISHED_WORDS = (
    "Published errors on the same folds are about 21 % for a linear chain, and about 13 % for a max-margin Markov "
    "network (M3N) with a cubic kernel."
)


@dataclass(frozen=True)
class Duel:
    """One task: the score of ours and of the best peer, lower being better, and the seconds of both."""

    task: str
    score: str
    ours: float
    peer: str
    theirs: float
    our_seconds: float
    their_seconds: float

    def row(self) -> Row:
        best = min(self.ours, self.theirs)
        shown = [f"**{number(own, 4)}**" if own == best else number(own, 4) for own in (self.ours, self.theirs)]
        return {
            "task": self.task,
            "score": shown_name(self.score),
            "ours": shown[0],
            "best peer": shown[1],
            "name of the peer": shown_name(self.peer),
            "ratio, ours / peer": f"{self.ours / self.theirs:.2f}",
            "seconds, ours : peer": f"{number(self.our_seconds)} : {number(self.their_seconds)}",
        }


def duel(task: str, rows: list[Row], ours: str, score: str, named: str = "model", seconds: str = "seconds") -> Duel:
    """Ours, the row of that name, against the best of the rows that are not ours."""
    own = next(row for row in rows if row[named] == ours)
    peers = [row for row in rows if not str(row[named]).startswith(("ours", "logikern")) and row[score] != "-"]
    best = min(peers, key=lambda row: _value(row[score]))
    mine, theirs = _value(own[score]), _value(best[score])
    return Duel(task, score, mine, best[named], theirs, _value(own[seconds]), _value(best[seconds]))


def _value(cell: object) -> float:
    """A number, or the mean of "mean +- spread"."""
    return float(str(cell).partition(" ")[0])


def duels_of(stored: Stored) -> list[Duel]:
    """What a part contributes to the summary."""
    name = stored.part.name
    if name.startswith("grid-") or name == "gaussian-process":
        title, rows = _first(stored)
        task = f"{title.partition(',')[0]}, {'Gaussian process' if name == 'gaussian-process' else 'SVC grid'}"
        return [duel(task, rows, "ours, default", score) for score in ("log loss", "error %")]
    if name.startswith("tree-"):
        title, rows = _first(stored)
        rows = [row | {"error %": _error(row["acc %"])} for row in rows]
        task = f"{title.partition(',')[0]}, class tree"
        return [duel(task, rows, rows[0]["model"], score) for score in ("log loss", "taxo", "error %")]
    if name == "regression":
        return [duel("abalone, regression", stored.table("Means"), "ours, as it comes", "error")]
    if name in WORDS:
        return [_words(_words_table(stored), *WORDS[name])]
    if name == "several-labels":
        return [
            duel(task, stored.table(task), "ours, auto", score)
            for task in ("scene", "yeast_ml")
            for score in ("Hamming loss", "joint log loss", "subset error")
        ]
    if name == "large":
        rows = stored.table("covtype")
        sizes = sorted({row["rows"] for row in rows})
        return [own for size in sizes for own in _large_duels(size, [row for row in rows if row["rows"] == size])]
    return []


def _error(accuracy: object) -> object:
    return accuracy if accuracy == "-" else 100 - _value(accuracy)


def _words_table(stored: Stored) -> list[Row]:
    """Means over rotations of the folds, for the models that were fitted in each rotation."""
    _, rows = _first(stored)
    own: dict[str, list[Row]] = {}
    for row in rows:
        own.setdefault(row["model"], []).append(row)
    most, columns = max(map(len, own.values())), ("error %", "log loss", "seconds")
    return [
        {"model": model, **{column: mean(row[column] for row in some) for column in columns}}
        for model, some in own.items()
        if len(some) == most
    ]


def _words(table_rows: list[Row], task: str, peer: str) -> Duel:
    """The peer is ours too: letters classified one by one."""
    rows = {row["model"]: row for row in table_rows}
    ours, theirs = rows["sequences, default"], rows[peer]
    scores = ours["error %"], WORD_PEERS[peer], theirs["error %"]
    return Duel(task, "error %", *scores, ours["seconds"], theirs["seconds"])


def _large_duels(size: int, rows: list[Row]) -> list[Duel]:
    seed = min(row["seed"] for row in rows)
    own = [
        row | {"method": LARGE_NAMES.get(row["method"], row["method"]), "error %": 100 * row["error"]}
        for row in rows
        if row["seed"] == seed
    ]
    task = f"covtype, {size:,} rows"
    return [duel(task, own, "logikern", score, "method", "fit seconds") for score in ("log loss", "error %")]


def _first(stored: Stored) -> tuple[str, list[Row]]:
    """The first table, after what is not one."""
    return next(item for item in stored.content.items() if item[0] not in ("machine", "made", "notes"))


def summary(*found: Stored | None) -> list[str]:
    every = [own for stored in found if stored is not None for own in duels_of(stored)]
    every.sort(key=lambda own: own.ours / own.theirs)
    by_loss = [own for own in every if own.score in LOSSES]
    others = [own for own in every if own.score not in LOSSES]
    return [
        "Each row compares logikern with the best peer on one task. Lower scores are better, and the lower score is "
        "bold; equal scores are both bold. Rows are sorted from logikern's clearest win to its clearest defeat. The "
        "section of each task describes the settings of the peers. The summary does not include the 31 data sets of "
        "the next section.",
        f"In log loss, {_count(by_loss)}",
        table([own.row() for own in by_loss]),
        f"In error rate and other decision losses, {_count(others)}",
        table([own.row() for own in others]),
    ]


def _count(duels: list[Duel]) -> str:
    lost = sum(own.ours > own.theirs for own in duels)
    slower = sum(own.our_seconds > own.their_seconds for own in duels)
    return f"the best peer is better than logikern in {lost} of {len(duels)} rows; it is faster in {slower} rows."


def tables(stored: Stored) -> list[str]:
    own = next(row["method"] for row in stored.table("Every method"))

    def keep(row: Row) -> Row:
        return {("ours" if key == own else key): value for key, value in row.items() if key not in _others(own)}

    against = [row for row in stored.table("Ours against each peer") if row["peer"] not in VERSIONS]
    methods = [row for row in stored.table("Every method") if row["method"] not in _others(own)]
    for row in methods:
        row["method"] = "ours" if row["method"] == own else row["method"]
    return [
        "The benchmark uses 31 data sets: real tables with numbers, categories and missing values. They have 64 to "
        "3000 training rows, and three splits each (seeds 0, 1, 2; 70 % for training). logikern runs with default "
        "settings on the raw tables. Peers receive imputed, standardised and one-hot encoded inputs. *LightGBM, "
        "tuned* is the best of 24 settings by 3-fold log loss, and *SVC grid* is a 6 x 6 grid search with "
        "calibration; the other peers run with their default settings.",
        "Ratios are geometric means of logikern's log loss divided by the peer's log loss; a ratio below 1 means "
        "that logikern is better. The 95 % intervals come from resampling the data sets with replacement. In the "
        "second column of ratios, losses below 0.001 are raised to 0.001, because greater certainty has no practical "
        "use. Seconds are CPU seconds on one thread for one split of all data sets, including tuning. The first "
        "table compares logikern with each peer; *equal* counts ties.",
        table(against),
        table(methods),
        *map(ratios, stored.notes[1:]),
        "The next table shows the log loss on each data set, averaged over three splits; the lowest value is bold:",
        table([keep(row) for row in stored.table("Log loss by set")]),
        figure("tables.png", "Log loss of logikern divided by the log loss of each peer, by data set"),
    ]


def _others(own: str) -> tuple[str, ...]:
    return tuple(version for version in VERSIONS if version != own)


def grids(*found: Stored) -> list[str]:
    rows = []
    for stored in found:
        title, own = _first(stored)
        for row in own:
            keys = ("model", "log loss", "error %", "seconds")
            rows.append({"set": title.partition(", ")[0], **pick(row, keys)})
    return [
        "Inputs are standardised, the splits are the original ones, and each model is run once (seed 0). The data "
        "sets have no class tree. The peer is an SVC with a Gaussian kernel. A 6 x 6 grid search chooses C and gamma "
        "by 5-fold accuracy, and a sigmoid calibrates the scores. On letter, the grid search uses 2000 rows. Seconds "
        "are wall-clock times of tuning and fitting on two cores.",
        table(rows),
    ]


def processes(stored: Stored) -> list[str]:
    _, rows = _first(stored)
    return [
        "The peer is scikit-learn's Gaussian process classifier, which uses the Laplace approximation and fits each "
        "class against the rest. The data set is segment (1500 rows, 7 classes):",
        table(rows),
    ]


def regression(stored: Stored) -> list[str]:
    return [
        "The data set is abalone, with 3000 training and 1177 test rows. Values are means over seeds 0, 1 and 2. The "
        "Gaussian process uses 1000 rows.",
        table(stored.table("Means")),
    ]


def trees(*found: Stored) -> list[str]:
    blocks = [
        "The classes are the leaves of a tree. The data are titles from the patent classification (cpc), abstracts "
        "of papers (wos), X-ray images (imclef07a) and definitions of nouns (wordnet). Values are means and standard "
        "deviations over splits. Every peer is tuned. H1 is the model with one variance per level of the tree. The "
        "[taxonomic loss](glossary.md#class-hierarchies) is computed for the decisions that minimise its expected "
        'value; lower is better. The column "right parent" shows the percentage of rows whose decision has the right '
        "parent. The library hiclass fits one local classifier per inner node. It is evaluated in two ways: with its "
        "own `predict_proba`, and with the probabilities of the local classifiers multiplied along each path.",
    ]
    for stored in found:
        title, rows = _first(stored)
        keys = ("model", "splits", "log loss", "acc %", "taxo", "pacc %", "seconds")
        name, _, facts = title.replace("mean over 1 split", "one split").partition(", ")
        blocks += [f"Results on {name} ({facts}):", table([pick(row, keys) for row in rows])]
    return blocks


def large(stored: Stored) -> list[str]:
    rows = []
    for row in stored.table("covtype"):
        rows.append(
            {
                "rows": f"{row['rows']:,}",
                "method": LARGE_NAMES.get(row["method"], row["method"]),
                "seed": row["seed"],
                "log loss": f"{row['log loss']:.4f} ± {row['+-']:.4f}",
                "error %": 100 * row["error"],
                "seconds": row["fit seconds"],
                "test rows per second": f"{row['test rows per second']:,.0f}",
                "peak GB": row["peak GB"],
            }
        )
    return [
        "The data set is covtype (54 inputs, 7 classes). Training rows are drawn at random, and there are 50,000 "
        "test rows; ± is the standard error over test rows. Every method runs alone on two cores, and the seconds "
        "include tuning.",
        table(rows),
    ]


def sequences(known: Stored, unseen: Stored) -> list[str]:
    return [
        "The task is to label the letters of handwritten words. Models are trained on one fold and tested on the "
        "nine other folds; values are means over three such folds. The peer is logikern's classifier of single "
        "letters, decoded with the transition frequencies of the training words. With a window, the model "
        "also uses the neighbours of each letter.",
        table(_words_table(known)),
        PUBLISHED_WORDS,
        "The data contain only 55 different words. If the test words do not occur in training, the learned "
        "transitions mislead the model, unless the search holds out all copies of a word together:",
        table(_words_table(unseen)),
    ]


def labels(stored: Stored) -> list[str]:
    blocks = [
        "Each row may have several labels. The splits are the usual ones. [Decisions](multilabel.md#decisions) and "
        "[scores](multilabel.md#scores) for several labels are described on their own page. Lower is better, except "
        "for F1."
    ]
    for name in ("scene", "yeast_ml"):
        blocks += [f"Results on {name}:", table(stored.table(name))]
    return blocks


def noise(stored: Stored) -> list[str]:
    return [
        "The data have 1000 rows with 5 informative inputs and 45 noise inputs. Values are means over five seeds. "
        "The methods tune the same classifier: logikern's search and Optuna learn a rate per input, in about the "
        "same time; the grid search uses one rate for all inputs.",
        table(stored.table("Means over seeds")),
    ]
