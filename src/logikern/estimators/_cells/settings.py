"""Settings of a fit that is divided into neighbourhoods."""

from dataclasses import dataclass
from typing import Any

from logikern.estimators._inputs.arguments import check_whole

NAME = "neighbourhoods"


@dataclass(frozen=True)
class NeighbourhoodSettings:
    """How a fit to many rows is divided into neighbourhoods: `operator=NeighbourhoodSettings(size=5000)`.

    Parameters
    ----------
    size : int, default=2500
        Largest number of training rows in a neighbourhood; reduced if memory is short.
    landmarks : int, default=0
        Number of landmarks: rows that couple all neighbourhoods. Without landmarks, neighbourhoods are fitted
        separately, which takes less time and memory. For the same time, larger neighbourhoods lower the loss more
        than landmarks do.
    partitions : int, default=3
        Number of ways in which the rows are divided into neighbourhoods. Each gives a model, and the probabilities of
        these models are averaged.
    """

    size: int = 2500
    landmarks: int = 0
    partitions: int = 3


def is_divided(operator: Any) -> bool:
    """Whether the argument `operator` requests neighbourhoods."""
    return isinstance(operator, NeighbourhoodSettings) or (isinstance(operator, str) and operator == NAME)


def check_neighbourhoods(settings: NeighbourhoodSettings) -> None:
    """Raise unless all settings are integers in their range."""
    check_whole("size", settings.size, 2)
    check_whole("landmarks", settings.landmarks, 0)
    check_whole("partitions", settings.partitions, 1)
