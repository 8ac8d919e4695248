"""The file from which a search is resumed: whose it is, and its use by one search at a time."""

import contextlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from logikern.criteria.base import Criterion
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.noise import ProfiledNoise
from logikern.estimators._fingerprint import fingerprint
from logikern.estimators._inputs.data import TrainingData
from logikern.numerics.outcome import Array
from logikern.selection.journal import Journal, opened
from logikern.selection.search import Arena

# Settings without consequence for the answers in a checkpoint. Memory decides where products are computed, never
# which are asked for; `cv` and `random_state` are known by what they drew.
UNTOLD = ("checkpoint", "verbose", "n_jobs", "max_time", "max_iter", "memory_limit", "tol", "cv", "random_state")


def identify(estimator: Any, data: TrainingData, groups: Array | None) -> str:
    """The fingerprint of data and settings; empty if no checkpoint is kept."""
    if estimator.checkpoint is None:
        return ""
    told = {name: value for name, value in estimator.get_params(deep=False).items() if name not in UNTOLD}
    told["hierarchy"] = data.tree  # in whatever form it was given
    told |= {"X": data.points, "y": data.targets, "sample_weight": data.weights, "groups": groups}
    return fingerprint("settings", {name: fingerprint(name, value) for name, value in told.items()})


def open_journal(estimator: Any, identity: str, seed: int, arenas: list[Arena]) -> AbstractContextManager[Journal]:
    """The checkpoint's journal, for one search alone; that of a search with other folds is refused."""
    if estimator.checkpoint is None:
        return contextlib.nullcontext(Journal())
    partitions = [(arena.n_points, _partition(arena.criterion)) for arena in arenas]
    return opened(Path(estimator.checkpoint), fingerprint("cv", [identity, seed, partitions]))


def _partition(criterion: Criterion) -> Any:
    """What a criterion holds out."""
    if isinstance(criterion, ProfiledNoise):
        return _partition(criterion.inner)
    return criterion.folds if isinstance(criterion, CrossValidation) else criterion.groups
