"""Tables out: the format by suffix, the file complete or not there at all."""

import gzip
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from logikern.cli.reading.cells import name_list
from logikern.cli.reading.hierarchy import path_text
from logikern.cli.reading.labels import joined
from logikern.cli.reading.sources import STANDARD, format_of
from logikern.decisions.tree_rules import decide_on_tree
from logikern.structure.tree import Tree


def labelled_probabilities(probabilities: np.ndarray, classes: np.ndarray) -> pd.DataFrame:
    """The most probable class of every row, and the probability of each class."""
    columns = {"predicted": classes[probabilities.argmax(axis=1)]}
    return pd.DataFrame(columns | _by_class(probabilities, classes))


def labelled_nodes(probabilities: np.ndarray, tree: Tree, loss: str, allow_inner: bool) -> pd.DataFrame:
    """The node decided for every row, the way to it and its probability, and the probability of each class."""
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
            f"the columns {name_list(taken)} cannot be kept: the prediction has columns of the same name. "
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
    """The format of an output file; refused before any work is done."""
    chosen = format_of(path)
    if chosen not in _WRITERS:
        raise ValueError(f"`{path}` would be {chosen}, but tables are written as {', '.join(_WRITERS)}.")
    return chosen


def require_writable(out: str) -> None:
    """Refuse a place that cannot be written, before the work rather than after it."""
    path = Path(out)
    if path.is_dir():
        raise ValueError(f"`{out}` is a folder, but the name of a file is wanted.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no folder `{path.parent}` to write `{path.name}` into. Create it first.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ValueError(f"the folder `{path.parent}` is not writable. Choose another place for the output.")


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` in one step, so that nobody ever sees half a file."""
    handle, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp makes the file private; an output gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _csv(frame: pd.DataFrame, separator: str = ",") -> bytes:
    return frame.to_csv(index=False, sep=separator, lineterminator="\n").encode()


def _json_lines(frame: pd.DataFrame) -> bytes:
    # Not `to_json`: it rounds to decimal places, and small probabilities would become zero.
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
