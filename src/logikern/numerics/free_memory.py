"""Memory available to this process: free on the machine, within the limits of its control groups."""

import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
# Assumed where the system does not say how much memory it has.
USUAL_MEMORY = 8e9


def available_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> float:
    """Bytes that can be allocated without swapping and without exceeding a control group's limit.

    Linux reports free memory in /proc/meminfo; elsewhere half of the physical memory is assumed. Containers and batch
    systems limit memory by control groups, versions 1 and 2: the tightest group on the path of this process counts.
    The arguments are the mount points of the two file systems.
    """
    return max(0.0, min(_free_on_machine(proc), *_free_in_groups(proc, cgroups), float("inf")))


def _free_on_machine(proc: Path) -> float:
    try:
        lines = (proc / "meminfo").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return float(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 0.5 * _physical_memory()


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return USUAL_MEMORY


def _free_in_groups(proc: Path, cgroups: Path) -> Iterator[float]:
    """Free memory in every group from the one of this process up to the mounted root.

    A container may see its own group mounted as the root while /proc names the path outside; folders that do not
    exist are therefore skipped.
    """
    for hierarchy, path in _memberships(proc):
        if hierarchy == "0":
            yield from _along(cgroups, path, "memory.max", "memory.current", "inactive_file")
        else:
            root = cgroups / "memory"
            yield from _along(root, path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _memberships(proc: Path) -> list[tuple[str, str]]:
    """Hierarchy and path of control groups that may limit memory: version 2 ("0") or version 1's memory group."""
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    parts = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    return [(number, path) for number, names, path in parts if number == "0" or "memory" in names.split(",")]


def _along(root: Path, path: str, limit: str, usage: str, cache: str) -> Iterator[float]:
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        if folder != root and root not in folder.parents:
            break
        allowed = _number(folder / limit)
        if allowed is None or allowed >= _physical_memory():
            continue  # no limit at all
        used = _number(folder / usage)
        if used is not None:
            # Inactive pages of files are reclaimed first.
            yield allowed - used + min(used, _field(folder / "memory.stat", cache))


def _number(file: Path) -> float | None:
    """The number in a file; None if it does not exist or says "max"."""
    try:
        return float(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _field(file: Path, name: str) -> float:
    try:
        rows = (line.split() for line in file.read_text(encoding="ascii").splitlines())
        return next((float(row[1]) for row in rows if row[:1] == [name]), 0.0)
    except (OSError, ValueError, IndexError):
        return 0.0
