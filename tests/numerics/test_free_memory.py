"""Free memory on a machine that is a tree of files."""

import pytest

from logikern.numerics.free_memory import available_memory

FREE = 4_000_000  # kB
MACHINE = f"MemTotal: 8000000 kB\nMemFree: 100 kB\nMemAvailable: {FREE} kB\n"
UNLIMITED_V1 = 9223372036854771712


@pytest.fixture
def machine(tmp_path):
    """Available memory with such files below /proc/self/cgroup's hierarchy and /sys/fs/cgroup."""

    def measure(membership, groups, meminfo=MACHINE):
        files = {"proc/meminfo": meminfo, "proc/self/cgroup": membership}
        for folder, (limit, usage, stat) in groups.items():
            version = 1 if folder.split("/")[0] == "memory" else 2
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            names = names if version == 1 else ("memory.max", "memory.current")
            files |= {f"sys/{folder}/{name}": f"{value}\n" for name, value in zip(names, (limit, usage), strict=True)}
            files[f"sys/{folder}/memory.stat"] = f"anon 5\n{stat}\n"
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return available_memory(tmp_path / "proc", tmp_path / "sys")

    return measure


def test_without_groups_the_machine_counts(machine):
    assert machine("", {}) == FREE * 1024


def test_limit_of_version_2_counts(machine):
    assert machine("0::/job\n", {"job": (1_000_000, 300_000, "inactive_file 0")}) == 700_000


def test_limit_of_version_1_counts(machine):
    groups = {"memory/job": (1_000_000, 300_000, "total_inactive_file 0")}
    assert machine("9:cpu,cpuacct:/\n4:hugetlb,memory:/job\n0::/\n", groups) == 700_000


@pytest.mark.parametrize("folder, cache", [("job", "inactive_file"), ("memory/job", "total_inactive_file")])
def test_idle_pages_of_files_count_as_free(machine, folder, cache):
    membership = "0::/job\n" if folder == "job" else "4:memory:/job\n"
    assert machine(membership, {folder: (1_000_000, 900_000, f"{cache} 250000")}) == 350_000


def test_tightest_group_on_the_path_counts(machine):
    groups = {
        "slice/job/step": ("max", 100, ""),
        "slice/job": (5_000_000, 1_000_000, ""),
        "slice": (4_000_000, 3_500_000, ""),
        "elsewhere": (10, 0, ""),
    }
    assert machine("0::/slice/job/step\n", groups) == 500_000


def test_groups_without_a_limit_do_not_count(machine):
    groups = {"job": ("max", 100, ""), "memory/job": (UNLIMITED_V1, 100, "")}
    assert machine("4:memory:/job\n0::/job\n", groups) == FREE * 1024


@pytest.mark.parametrize("membership, folder", [("0::/outside/path\n", "."), ("4:memory:/outside\n", "memory")])
def test_group_that_a_container_sees_as_the_root_counts(machine, membership, folder):
    assert machine(membership, {folder: (1_000_000, 200_000, "")}) == 800_000


def test_machine_with_less_than_the_group_counts(machine):
    assert machine("0::/job\n", {"job": (10**12, 0, "")}) == FREE * 1024


def test_group_beyond_its_limit_has_nothing_left(machine):
    assert machine("0::/job\n", {"job": (1_000, 5_000, "")}) == 0.0


@pytest.mark.parametrize("text", ["", "no numbers at all\n", "MemAvailable: much\n"])
def test_machine_that_does_not_say_is_believed_to_have_some(machine, text):
    assert machine("", {}, meminfo=text) > 1e7


def test_this_machine_has_memory():
    assert 1e7 < available_memory() < 1e15
