"""How many bytes a fit moves over the network."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Bytes sent between the processes of a cluster if no worker is lost."""

    gathered: float  # chunks of X to the process that calls `fit`, whose model holds them
    graphs: float  # cells, targets and weights of all rows, with the tasks
    between_workers: float  # chunks to idle workers, and encoded rows to the workers of their cells
    returned: float  # coefficients

    @property
    def total(self) -> float:
        return self.gathered + self.graphs + self.between_workers + self.returned


@dataclass(frozen=True)
class FitSize:
    """The numbers that determine the traffic of a fit.

    Parameters
    ----------
    n_rows, n_inputs, n_classes, n_partitions, n_workers : int
    row_bytes : float
        Bytes of a row of X as passed to `fit`.
    label_bytes : float, default=4.0
        Bytes of the target of a row: 4 for a label, 8 times the number of classes for a distribution; 8 more with
        weights.
    state_bytes : float, default=8.0
        Bytes of a coefficient.
    n_hops : int, default=1
        How often a row is sent before it is in its cell: 2 if there are many chunks and cells.
    """

    n_rows: int
    n_inputs: int
    n_classes: int
    n_partitions: int
    n_workers: int
    row_bytes: float
    label_bytes: float = 4.0
    state_bytes: float = 8.0
    n_hops: int = 1


def expected_traffic(size: FitSize) -> Traffic:
    """Bytes of a fit whose chunks and cells are on random workers: one piece in `n_workers` need not be sent."""
    n, n_fits = size.n_rows, size.n_rows * size.n_partitions
    leaves = 1.0 - 1.0 / max(1, size.n_workers)
    return Traffic(
        gathered=n * size.row_bytes,
        graphs=n_fits * (4.0 + size.label_bytes),
        between_workers=leaves * (n * size.row_bytes + 8.0 * size.n_hops * n_fits * size.n_inputs),
        returned=n_fits * size.n_classes * size.state_bytes,
    )
