"""Reports of model files as HTML pages."""

from pathlib import Path
from typing import Any

import pandas as pd

from logikern.cli.reading.labelled import LabelledRows
from logikern.cli.session.exits import require_library
from logikern.cli.session.messages import Messages
from logikern.cli.writing.outputs import require_writable
from logikern.estimators._report.contents import write_report
from logikern.model.persistence import NOTES, read_header, read_notes
from logikern.reporting.document import Origin


def require_page(out: str) -> None:
    """Reject a page that cannot be written, before any work."""
    require_writable(out)
    for library in ("jinja2", "matplotlib"):
        require_library(library)


def write_page(model: Any, path: str, data: str, known: LabelledRows, out: str, messages: Messages) -> None:
    """Write a report on the model from the file `path`, with scores on labelled rows."""
    versions = {name: value for name, value in read_header(path).items() if name not in ("format", NOTES)}
    origin = Origin(
        target=known.target,
        data=Path(data).name,
        model=Path(path).name,
        command=read_notes(path).get("command"),
        versions=versions,
        first_row=1,
        rows=known.rows,
    )
    # Rows are numbered as in the file, so that they need no names.
    X = known.X.reset_index(drop=True) if isinstance(known.X, pd.DataFrame) else known.X
    write_report(model, X, known.labels, origin, out, known.sequences)
    messages.info(f"wrote {out} ({Path(out).stat().st_size / 1024:.0f} kB)")
