"""Tables of predictions, written completely or not at all, in the format of the suffix."""

import gzip
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from logikern.cli.reading.cells import name_list
from logikern.cli.reading.hierarchy import path_text
from logikern.cli.reading.labels import joined
from logikern.cli.reading.sources import FORMATS, STANDARD, format_of
from logikern.cli.session.exits import require_library
from logikern.decisions.tree_rules import decide_on_tree
from logikern.model.persistence import write_atomically
from logikern.structure.tree import Tree


def labelled_probabilities(
    probabilities: np.ndarray, classes: np.ndarray, predicted: np.ndarray | None = None
) -> pd.DataFrame:
    """The given prediction of every row, or its most probable class, and the probability of each class."""
    columns = {"predicted": classes[probabilities.argmax(axis=1)] if predicted is None else predicted}
    return pd.DataFrame(columns | _by_class(probabilities, classes))


def numbers_with_deviations(values: np.ndarray, outputs: np.ndarray, deviations: np.ndarray) -> pd.DataFrame:
    """The prediction of every row, and the standard deviation of its error if it is known."""
    columns, suffixes = values.reshape(len(values), -1).T, [f"_{name}" for name in outputs]
    if values.ndim == 1:
        suffixes = [""]
    found = {f"predicted{suffix}": column for suffix, column in zip(suffixes, columns, strict=True)}
    known = {f"standard_deviation{suffix}": own for suffix, own in zip(suffixes, deviations, strict=True) if own > 0}
    return pd.DataFrame(found).assign(**known)


def labelled_nodes(probabilities: np.ndarray, tree: Tree, loss: str, allow_inner: bool) -> pd.DataFrame:
    """The decided node of every row with its path and probability, and the probability of each class."""
    nodes = decide_on_tree(probabilities, tree, loss, allow_inner).decisions
    names = {node: (joined(tree.labels[node]), path_text(node, tree)) for node in np.unique(nodes).tolist()}
    named = [names[node] for node in nodes.tolist()]
    columns = {
        "predicted": [name for name, _ in named],
        "path": [path for _, path in named],
        "probability": tree.node_sums(probabilities.T)[nodes, np.arange(len(nodes))],
    }
    return pd.DataFrame(columns | _by_class(probabilities, tree.classes))


def _by_class(probabilities: np.ndarray, classes: np.ndarray) -> dict[str, np.ndarray]:
    return {f"probability_{joined(label)}": probabilities[:, place] for place, label in enumerate(classes)}


def beside(table: pd.DataFrame, keep: list[str], predicted: pd.DataFrame) -> pd.DataFrame:
    """The kept columns of DATA in front of the prediction."""
    taken = [name for name in keep if name in predicted.columns]
    if taken:
        raise ValueError(
            f"the columns {name_list(taken)} cannot be kept, because the prediction has columns of the same name. "
            "Rename them."
        )
    return pd.concat([table[keep].reset_index(drop=True), predicted], axis=1)


def write_table(frame: pd.DataFrame, out: str) -> None:
    """Write `frame` to the file `out`, or as CSV to standard output for `-`."""
    if out == STANDARD:
        frame.to_csv(sys.stdout, index=False, lineterminator="\n")
        return
    path = Path(out)
    content = _WRITERS[output_format(path)](frame)
    write_atomically(path, gzip.compress(content) if path.suffix.lower() == ".gz" else content)


def output_format(path: Path) -> str:
    """The format of an output file; an unsupported format is an error."""
    written = [suffix for suffix, format in FORMATS.items() if format in _WRITERS]
    chosen = format_of(path, written, "Choose another name for the output.")
    if chosen not in _WRITERS:
        raise ValueError(f"`{path}` has the format {chosen}, but tables are written as {', '.join(_WRITERS)}.")
    return chosen


def require_table(out: str) -> None:
    """Reject a path that no table can be written to, before any work."""
    if out != STANDARD:
        require_writable(out)
        if output_format(Path(out)) == "parquet":
            require_library("pyarrow")


def require_writable(out: str) -> None:
    """Reject a path that cannot be written, before any work."""
    path = Path(out)
    if path.is_dir():
        raise ValueError(f"`{out}` is a folder, not a file.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no folder `{path.parent}` to write `{path.name}` into. Create it first.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ValueError(f"the folder `{path.parent}` is not writable. Choose another folder for the output.")


def _csv(frame: pd.DataFrame, separator: str = ",") -> bytes:
    return frame.to_csv(index=False, sep=separator, lineterminator="\n").encode()


def _json_lines(frame: pd.DataFrame) -> bytes:
    # Not `to_json`, which rounds small probabilities to zero.
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame.columns]
    records = (dict(zip(frame.columns, row, strict=True)) for row in zip(*columns, strict=True))
    return "".join(f"{json.dumps(record, ensure_ascii=False, default=str)}\n" for record in records).encode()


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


_WRITERS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "csv": _csv,
    "tsv": lambda frame: _csv(frame, "\t"),
    "parquet": _parquet,
    "jsonl": _json_lines,
}
