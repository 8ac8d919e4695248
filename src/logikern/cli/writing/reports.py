"""Reports of model files as HTML pages."""

from pathlib import Path
from typing import Any

import pandas as pd

from logikern.cli.reading.labelled import LabelledRows
from logikern.cli.session.messages import Messages
from logikern.estimators._report.contents import write_report
from logikern.model.persistence import NOTES, read_header, read_notes
from logikern.reporting.document import Origin


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
    try:
        write_report(model, X, known.labels, origin, out)
    except ImportError as error:
        raise ValueError(str(error)) from error
    messages.info(f"wrote {out} ({Path(out).stat().st_size / 1024:.0f} kB)")
