"""Words of the pages for the short names in stored results.

A result keeps the names that its script gave to rows and columns, so that better words need no new measurement.
"""

import re
from collections.abc import Sequence

import page
from parts import Row

NAMES = {
    "ours": "logikern",
    "ours, as it comes": "logikern, defaults",
    "ours, default": "logikern, defaults",
    "ours, tying='shared'": 'logikern, `tying="shared"`',
    "support vectors": "SVM, calibrated",
    "letters alone": "classifier of single letters",
    "letters, counted transitions": "the same, decoded with transition frequencies",
    "sequences, default": "logikern, defaults",
    "sequences, search on all words": "logikern, search on all words",
    "sequences, maximum likelihood": "logikern, maximum likelihood",
    "sequences, words held out": "logikern, folds of different words",
    "sequences, window 3": "logikern, `window=3`",
    "sequences, words held out, window 3": "logikern, folds of different words, `window=3`",
    "the true probabilities": "true probabilities",
    "LightGBM tuned": "LightGBM, tuned",
    "set": "data",
    "taxo": "taxonomic loss",
    "taxo[0-1]": "taxonomic loss [0-1]",
    "acc %": "accuracy %",
    "prec %": "reciprocal rank %",
    "pacc %": "right parent %",
    "pacc[0-1] %": "right parent [0-1] %",
    "least": "minimum",
    "test loss there": "test loss at the minimum",
    "correlation with exact": "correlation with exact leave-one-out",
    "ours lower": "data sets where logikern has the lower log loss",
    "fewer errors": "data sets where logikern makes fewer errors",
    "sets": "data sets",
    "Brier": "Brier score",
    "wall seconds": "wall-clock seconds",
    "best of all": "data sets with the lowest log loss",
    "error": "root mean squared error",
    "Gaussian process takes": "speed-up over the Gaussian process",
    "seconds, ours : theirs": "seconds, logikern : peer",
    "ours / best peer": "logikern / best peer",
    "MB in fit": "MB during the fit",
    "times fewer": "parameter CG / kernel CG",
    "lambda / N": "λ / N",
}


def name(text: str) -> str:
    """A row or column as a page calls it."""
    if text in NAMES:
        return NAMES[text]
    text = re.sub(r"^error % at ([\d.]+ %)$", r"error %, \1 rejected", text)
    text = re.sub(r"^s to ", "seconds to ", text)
    return re.sub(r"\bours\b", "logikern", text)


def table(rows: Sequence[Row]) -> str:
    """Records as a table, in the words of the pages."""
    return page.table(
        [{name(key): name(cell) if isinstance(cell, str) else cell for key, cell in row.items()} for row in rows]
    )


def ratios(note: str) -> str:
    """What `tables.py --summary` says about the best peers, in sentences."""
    lines = []
    for line in note.splitlines():
        line = line.replace("- Ours has the lowest", "- logikern has the lowest").replace(" sets.", " data sets.")
        found = re.match(
            r"- Ours over the best peer of each set, (.+): geometric mean (\S+ \[.+\]), median (\S+), "
            r"above (\S+) on \d+ sets: (.+)\.$",
            line,
        )
        if found:
            losses, mean, median, bound, sets = found.groups()
            how = "unmodified losses" if losses == "losses as they are" else "losses below 0.001 raised to 0.001"
            line = (
                f"- With {how}, the ratio of logikern's log loss to the best peer's log loss has a geometric mean of "
                f"{mean} and a median of {median}. It exceeds {bound} on these data sets: {sets}."
            )
        lines.append(line)
    return "\n".join(lines)
