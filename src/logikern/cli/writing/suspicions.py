"""Suspicious training rows of a model file as a table."""

import warnings
from typing import Any

import pandas as pd

from logikern.cli.preprocessing import final_step
from logikern.cli.reading.labelled import LabelledRows
from logikern.cli.reading.labels import joined
from logikern.cli.session.messages import Messages
from logikern.cli.session.wording import in_options
from logikern.cli.writing.outputs import beside
from logikern.estimators._fitted.recovery import find_rows, with_training


def suspicions_in(
    model: Any, known: LabelledRows | None, n_rows: int, keep: list[str], messages: Messages
) -> pd.DataFrame:
    """The most suspicious rows, numbered from 1, with the columns `keep` of DATA in front."""
    classifier = with_training(final_step(model))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = classifier.suspects(n_rows).reset_index(drop=True)
    for warning in caught:
        messages.warn(in_options(str(warning.message)))
    for name in ("label", "likely"):
        found[name] = [joined(label) for label in found[name]]
    if known is None:
        return found.assign(row=found["row"] + 1)
    inputs = known.X if final_step(model) is model else model[:-1].transform(known.X)
    places = known.rows[find_rows(classifier, inputs, known.labels)[found["row"]]]
    return beside(known.table.iloc[places], keep, found.assign(row=places + 1))
