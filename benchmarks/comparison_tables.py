"""Sections of docs/benchmarks.md: ours beside what people would pick instead, from stored results."""

from dataclasses import dataclass

from page import figure, number, pick, table
from parts import Row, Stored

# Columns of earlier versions of ours in the results of tables.py.
VERSIONS = ("after", "before")
LOSSES = ("log loss", "joint log loss")
# Title in the results, task, and the peer.
WORDS = (
    ("Trained on fold 0", "handwritten words", "letters, counted transitions"),
    ("Test words do not occur", "handwritten words that are new", "letters alone"),
)
LARGE_NAMES = {
    "lightgbm": "LightGBM",
    "lightgbm_stopped": "LightGBM, 127 leaves, early stopping",
    "extra_trees": "ExtraTrees",
    "nystroem": "Nystroem, logistic regression",
    "hist_gradient_boosting": "HistGradientBoosting",
}


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
        shown = [number(value, 4) for value in (self.ours, self.theirs)]
        best = 0 if self.ours < self.theirs else 1
        shown[best] = f"**{shown[best]}**"
        return {
            "task": self.task,
            "score": self.score,
            "ours": shown[0],
            "best peer": shown[1],
            "which": self.peer,
            "ours / peer": f"{self.ours / self.theirs:.2f}",
            "seconds, ours : peer": f"{number(self.our_seconds, 2)} : {number(self.their_seconds, 2)}",
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
        task = f"{title.partition(',')[0]}, tree of classes"
        return [duel(task, rows, rows[0]["model"], score) for score in ("log loss", "taxo", "error %")]
    if name == "regression":
        return [duel("abalone, regression", stored.table("Means"), "ours, as it comes", "error")]
    if name == "sequences":
        return [_words(stored, *names) for names in WORDS]
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


def _words(stored: Stored, title: str, task: str, peer: str) -> Duel:
    """The peer is ours too: letters classified one by one."""
    rows = {row["model"]: row for row in stored.table(title)}
    ours, theirs = rows["sequences, default"], rows[peer]
    scores = ours["error %"], f"our {peer}", theirs["error %"]
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
        "Each row is one task, with the best of its peers by the score named; lower scores are better, and the "
        "lower one is bold. Rows are sorted from the clearest win to the clearest loss. Every peer has the "
        "settings that the section of the task describes. The 31 tables of the next section are counted there.",
        f"Log loss: {_count(by_loss)}",
        table([own.row() for own in by_loss]),
        f"Errors and other losses of decisions: {_count(others)}",
        table([own.row() for own in others]),
    ]


def _count(duels: list[Duel]) -> str:
    lost = sum(own.ours >= own.theirs for own in duels)
    slower = sum(own.our_seconds > own.their_seconds for own in duels)
    return f"the best peer is ahead in {lost} of {len(duels)} rows, and takes less time in {slower}."


def tables(stored: Stored) -> list[str]:
    own = next(row["method"] for row in stored.table("Every method"))

    def keep(row: Row) -> Row:
        return {("ours" if key == own else key): value for key, value in row.items() if key not in _others(own)}

    against = [row for row in stored.table("Ours against each peer") if row["peer"] not in VERSIONS]
    methods = [row for row in stored.table("Every method") if row["method"] not in _others(own)]
    for row in methods:
        row["method"] = "ours" if row["method"] == own else row["method"]
    return [
        "31 real tables with numbers, categories and missing values, 92 to 3000 training rows, three splits each "
        "(seeds 0, 1, 2; 70 % for training). Ours has default settings and sees the raw table. Peers see imputed, "
        "standardised and one-hot encoded inputs. *LightGBM tuned* is the best of 24 settings by 3-fold log loss, "
        "*SVC grid* a 6 x 6 grid with calibration; the others have their defaults. Ratios are geometric means of "
        "our log loss divided by the peer's, with 95 % intervals from drawing tables with replacement; below 1, "
        "ours is better. Losses below 0.001 are also counted as 0.001, because such certainty is of no use. "
        "Seconds are CPU seconds of one thread for one split of all tables, tuning included.",
        table(against),
        table(methods),
        *stored.notes[1:],
        "Log loss by table, mean over three splits; the best is bold:",
        table([keep(row) for row in stored.table("Log loss by set")]),
        figure("tables.png", "Log loss of ours over that of each peer, by table"),
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
        "Standardised inputs and original splits, one run (seed 0). The peer is an SVC with a Gaussian kernel, C and "
        "gamma from a 6 x 6 grid by 5-fold accuracy, then sigmoid calibration. On letter its grid sees 2000 rows. "
        "Seconds are wall-clock times of tuning and fit on two cores.",
        table(rows),
    ]


def processes(stored: Stored) -> list[str]:
    _, rows = _first(stored)
    return [
        "scikit-learn's Gaussian process classifier on segment (1500 rows, 7 classes), one against the rest by the "
        "Laplace approximation:",
        table(rows),
    ]


def regression(stored: Stored) -> list[str]:
    return [
        "abalone, 3000 training and 1177 test rows, means over seeds 0, 1 and 2; "
        "error is the root mean square. The Gaussian process sees 1000 rows.",
        table(stored.table("Means")),
    ]


def trees(*found: Stored) -> list[str]:
    blocks = [
        "Classes that are leaves of a tree: patent titles (cpc), abstracts of papers (wos), X-ray images "
        "(imclef07a) and definitions of nouns (wordnet). Means and standard deviations over splits. Every peer is "
        "tuned. taxo is the taxonomic loss of the decisions that minimise it, lower is better; pacc the accuracy "
        "of the parent. hiclass is shown by its own `predict_proba` and with the probabilities of its local "
        "classifiers multiplied along paths.",
    ]
    for stored in found:
        title, rows = _first(stored)
        keys = ("model", "splits", "log loss", "acc %", "taxo", "pacc %", "seconds")
        blocks += [f"{title}:", table([pick(row, keys) for row in rows])]
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
        "covtype (54 inputs, 7 classes), rows drawn at random, 50,000 test rows; ± is the standard error "
        "over test rows. Every method runs alone on two cores, and its seconds include tuning.",
        table(rows),
    ]


def sequences(stored: Stored) -> list[str]:
    columns = ("model", "error %", "log loss", "seconds")
    first, second = (
        [pick(row, columns) for row in stored.table(title)]
        for title in ("Trained on fold 0", "Test words do not occur")
    )
    return [
        "Handwritten words, labels of letters. Trained on fold 0, tested on the nine others; the peer is our "
        "classifier of single letters, decoded with transitions that are counted on the training words.",
        table(first),
        *stored.notes[:1],
        "The set has only 55 different words. If test words do not occur in training, what "
        "was learned about words misleads, unless the search holds out whole words:",
        table(second),
    ]


def labels(stored: Stored) -> list[str]:
    blocks = ["Rows with several labels, at the usual splits; lower is better except for F1."]
    for name in ("scene", "yeast_ml"):
        blocks += [f"{name}:", table(stored.table(name))]
    return blocks


def noise(stored: Stored) -> list[str]:
    return [
        "1000 rows with 5 informative inputs and 45 of noise, means over five seeds. Our search and Optuna "
        "learn a rate per input in about the same time; the grid has one rate for all inputs.",
        table(stored.table("Means over seeds")),
    ]
