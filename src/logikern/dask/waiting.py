"""Waiting for the tasks of a cluster that may lose some or all of its workers."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed
from distributed.client import FutureCancelledError


@dataclass(frozen=True)
class WaitingPolicy:
    """How long to wait for a cluster, and how often to check it.

    Parameters
    ----------
    pause : float, default=0.02
        Seconds between checks for results.
    look : float, default=1.0
        Seconds between checks of the workers, each of which sends a short message to the scheduler.
    patience : float, default=30.0
        Seconds without any worker after which a fit fails. A nanny restarts a worker within five seconds.
    """

    pause: float = 0.02
    look: float = 1.0
    patience: float = 30.0


USUAL = WaitingPolicy()


class ClusterLostError(RuntimeError):
    """The cluster has no workers, or no scheduler, so the fit cannot continue."""


class Watch:
    """Checks the workers of a cluster from time to time."""

    def __init__(self, client: Client, policy: WaitingPolicy = USUAL) -> None:
        self.client, self.policy = client, policy
        self.looked = time.monotonic()
        self.alone_since: float | None = None  # when the last worker was found to be gone

    def check(self) -> None:
        """Raise if there has been no worker for too long, or no scheduler."""
        now = time.monotonic()
        if now - self.looked < self.policy.look:
            return
        self.looked = now
        if self._count_workers():
            self.alone_since = None
            return
        self.alone_since = now if self.alone_since is None else self.alone_since
        alone = time.monotonic() - self.alone_since
        if alone > self.policy.patience:
            raise ClusterLostError(
                f"The cluster has had no worker for {alone:.0f} s, so the fit cannot continue. Start workers, and "
                "fit again; with `checkpoint`, the search continues where it stopped."
            )

    def _count_workers(self) -> int:
        if self.client.status in ("closed", "closing"):
            raise ClusterLostError("The client was closed during the fit. Fit again with a client that stays open.")
        try:
            return len(self.client.nthreads())
        except (OSError, TimeoutError):  # the scheduler does not answer
            return 0


def fetch(wanted: Sequence[Future], watch: Watch) -> list[Any]:
    """Results of futures in order, as soon as all are available."""
    try:
        return _await(lambda: watch.client.gather(list(wanted)), watch)
    except KilledWorker as error:
        raise ClusterLostError(
            f"{error} If workers ran out of memory, use smaller neighbourhoods "
            "(operator=NeighbourhoodSettings(size=...)) or fewer threads per worker. If they die for other reasons, "
            "raise `distributed.scheduler.allowed-failures` in the configuration of the scheduler."
        ) from error
    except (FutureCancelledError, futures.CancelledError) as error:
        raise ClusterLostError(
            "The cluster dropped tasks of the fit: its scheduler was lost or restarted. Fit again."
        ) from error


def fetch_each(wanted: list[Future], watch: Watch) -> Iterator[tuple[Future, Any]]:
    """Futures with their results, in the order in which they finish."""
    finished = as_completed(wanted)
    n_left = len(wanted)
    while n_left:
        batch = finished.next_batch(block=False)
        if batch:
            yield from zip(batch, fetch(batch, watch), strict=True)
            n_left -= len(batch)
        else:
            time.sleep(watch.policy.pause)
            watch.check()


def _await(work: Callable[[], Any], watch: Watch) -> Any:
    """Wait for the result of a call that may block forever, as long as the cluster is alive."""
    answer: futures.Future = futures.Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    # A daemon, so that a call that never returns does not keep the interpreter alive.
    threading.Thread(target=run, daemon=True, name="logikern-dask").start()
    while True:
        try:
            return answer.result(timeout=watch.policy.look)
        except TimeoutError:
            if answer.done():
                raise
            watch.check()
