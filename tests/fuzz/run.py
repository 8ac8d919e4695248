"""Run cases: one by its seed, or new ones for some minutes on all cores.

python -m tests.fuzz.run --seed 12345
python -m tests.fuzz.run --minutes 20 --first 1000000
"""

import argparse
import itertools
import multiprocessing
import os
import queue
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fuzz.families import FAMILIES, Report, family_of, run_case

# Forked workers would inherit threads of the BLAS.
_PROCESSES = multiprocessing.get_context("spawn")


class Worker:
    """A process that runs every so-many-th seed and says which one it is at, so that its death can be explained."""

    def __init__(self, first: int, stride: int, until: float, family: str | None):
        self.at, self.stride, self.until, self.family = first, stride, until, family
        self.reports: Any = _PROCESSES.Queue()
        self.process: Any = _PROCESSES.Process(
            target=_work, args=(first, stride, until, family, self.reports), daemon=True
        )
        self.process.start()

    def collect(self) -> Iterator[Report]:
        """Reports that have come; the last one is about the worker's own death, if it died."""
        alive = self.process.is_alive()
        while True:
            try:
                found = self.reports.get_nowait()
            except queue.Empty:
                break
            if isinstance(found, Report):
                yield found
            else:
                self.at = found
        if not alive and self.process.exitcode:
            told = f"the process died with exit code {self.process.exitcode}"
            yield Report(self.at, family_of(self.at), Counter(), (told,))

    def successor(self) -> "Worker | None":
        """One that goes on after a death; None while this one works, or where it is done."""
        if self.process.is_alive() or not self.process.exitcode:
            return None
        return Worker(self.at + self.stride, self.stride, self.until, self.family)


def _work(first: int, stride: int, until: float, family: str | None, reports: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends this one
    for seed in itertools.count(first, stride):
        if time.time() > until:
            return
        if family in (None, family_of(seed)):
            reports.put(seed)
            reports.put(run_case(seed))


def run_parallel(first: int, count: float, jobs: int, until: float, family: str | None) -> Iterator[Report]:
    """Reports as they come, until there are enough or time is over."""
    workers = [Worker(first + number, jobs, until, family) for number in range(jobs)]
    n_reports = 0
    try:
        while workers:
            time.sleep(0.2)
            for worker in workers:
                for report in worker.collect():
                    yield report
                    n_reports += 1
                    if n_reports >= count:
                        return
            finished = [worker for worker in workers if not worker.process.is_alive() and worker.reports.empty()]
            workers = [worker for worker in workers if worker not in finished]
            workers += [new for worker in finished if (new := worker.successor()) is not None]
    finally:
        for worker in workers:
            worker.process.terminate()


def tell(report: Report) -> None:
    """Print what failed in a case, and how to repeat it."""
    for failure in report.failures:
        print(f"FAILED {report.command}   ({report.family})\n    {failure}", flush=True)


def summarise(reports: Sequence[Report], seconds: float) -> None:
    """Counts by family, each with its slowest case, and by kind of check, and the seeds that failed."""
    cases = Counter(report.family for report in reports)
    counts = sum((report.counts for report in reports), Counter[str]())
    failed = sorted((report for report in reports if report.failures), key=lambda report: report.seed)
    print(f"\n{len(reports)} cases, {sum(counts.values())} checks in {seconds:.0f} seconds\n")
    for name in FAMILIES:
        own = [report for report in reports if report.family == name]
        slowest = max(own, key=lambda report: report.seconds, default=None)
        told = f"{slowest.seconds:6.1f} s at most, at seed {slowest.seed}" if slowest else ""
        print(f"{cases[name]:8d}  {name:24}{told}")
    print()
    for kind, count in sorted(counts.items()):
        print(f"{count:8d}  {kind}")
    print(f"\n{len(failed)} cases failed")
    for report in failed:
        print(f"{report.command}   ({report.family}: {report.failures[0][:150]})")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, action="append", help="run this case; may be repeated")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, help="run so many cases at most")
    parser.add_argument("--minutes", type=float, help="start no more cases after that")
    parser.add_argument("--family", choices=list(FAMILIES), help="only seeds of this family")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args(arguments)
    if not (options.seed or options.count or options.minutes):
        parser.error("say how long: --seed, --count or --minutes")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where a case failed."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a time limit from outside is told of as well
    began = time.time()
    until = began + 60 * (options.minutes or float("inf"))
    count = options.count or float("inf")
    found = (
        map(run_case, options.seed)
        if options.seed
        else run_parallel(options.first, count, options.jobs, until, options.family)
    )
    reports: list[Report] = []
    try:
        for report in found:
            reports.append(report)
            tell(report)
    except KeyboardInterrupt:
        print("\nInterrupted. So far:")
    summarise(reports, time.time() - began)
    return 1 if any(report.failures for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
