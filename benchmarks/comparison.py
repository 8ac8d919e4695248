"""docs/benchmarks.md: ours against what people would pick instead, from stored results.

python benchmarks/comparison.py                  run what is not current, then write the page
python benchmarks/comparison.py --part large     one part, or several: --part large --part tables
python benchmarks/comparison.py --stored         only write the page
python benchmarks/comparison.py --list           parts, whether their results are current, and minutes

benchmarks/run.py runs benchmarks of all kinds, also those of which no page is made.
"""

import comparison_tables as tables
import page
from page import Page, Section
from parts import Part

TABLES = Part(
    "tables",
    (
        ("tables.py", "--methods", "ours", "--again"),
        ("tables.py",),
        ("tables.py", "--figure"),
        ("tables.py", "--summary"),
    ),
    "tables",
    30,
    figures=("tables.png",),
    has_quick=False,
)
GRIDS = tuple(
    Part(f"grid-{name}", (("against_grid.py", "--only", name),), f"against_grid_{name}", minutes)
    for name, minutes in (("satimage", 4), ("segment", 1), ("usps", 10), ("letter", 4))
)
PROCESS = Part("gaussian-process", (("gaussian_process.py",),), "gaussian_process", 3)
TREES = tuple(
    Part(
        f"tree-{name.lower().replace('_', '-')}",
        (("hierarchy_peers.py", "--only", name, "--splits", "3"),),
        f"hierarchy_peers_{name}",
        minutes,
        packages=("hiclass",),
    )
    for name, minutes in (("cpc_D", 5), ("cpc_E", 10), ("wos", 10), ("imclef07a", 60), ("wordnet", 400))
)
LARGE = Part(
    "large",
    (
        ("large.py",),
        ("large.py", "--rows", "500000", "--only", "logikern", "lightgbm", "lightgbm_stopped", "extra_trees"),
    ),
    "large",
    60,
    packages=("lightgbm",),
    has_quick=False,
)
SEQUENCES = Part("sequences", (("sequences.py",),), "sequences", 10)
LABELS = Part("several-labels", (("multilabel.py",),), "multilabel", 15)
REGRESSION = Part("regression", (("regression.py",),), "regression", 4)
NOISE = Part("noise-inputs", (("noise_inputs.py",),), "noise_inputs", 2, packages=("optuna",))

OPENING = """
# Benchmarks

This page compares logikern with what people would pick instead. It shows losses as well as wins. It is generated from
the files in `benchmarks/results`; the last section names the command, the date, the commit and the machine of each
result. Results that take hours are from earlier commits.

    make bench                   run the parts that are not current, then write this page
    make bench PART=large        one part alone (PART="large tables" for several)
    make bench AGAIN=1           run also what is current
    make bench STORED=1          run nothing, write this page from the stored results

A part is current if its result was made by the present code with the present settings. The data are read from the
folder `LOGIKERN_DATA` and are not part of the repository. Peers are the packages in `benchmarks/requirements.txt`;
parts whose peers are not installed are left out of a run. The tables on [reproduction](reproduction.md) compare
logikern with the papers that it builds on.
"""

_PARTS = (TABLES, *GRIDS, PROCESS, *TREES, LARGE, SEQUENCES, LABELS, REGRESSION, NOISE)
PAGE = Page(
    "benchmarks.md",
    "bench",
    OPENING,
    (
        Section("Summary", _PARTS[1:], tables.summary, needs_all=False),
        Section("Mixed tables", (TABLES,), tables.tables),
        Section("Flat sets against an SVC grid", GRIDS, tables.grids),
        Section("Gaussian process classifier", (PROCESS,), tables.processes),
        Section("Trees of classes", TREES, tables.trees),
        Section("Large data", (LARGE,), tables.large),
        Section("Sequences", (SEQUENCES,), tables.sequences),
        Section("Several labels per row", (LABELS,), tables.labels),
        Section("Regression", (REGRESSION,), tables.regression),
        Section("Inputs that are mostly noise", (NOISE,), tables.noise),
    ),
)


if __name__ == "__main__":
    page.main(PAGE, __doc__)
