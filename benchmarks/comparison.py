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
        ("large.py", "--rows", "20000", "60000", "100000", "500000", "--only", "logikern", "--again"),
        ("large.py",),
        ("large.py", "--rows", "500000", "--only", "lightgbm", "lightgbm_stopped", "extra_trees"),
    ),
    "large",
    30,
    packages=("lightgbm",),
    has_quick=False,
)
SEQUENCES = tuple(
    Part(name, (("sequences.py", "--part", part),), f"sequences_{part}", minutes)
    for name, part, minutes in (("sequences", "one", 5), ("sequences-new-words", "words", 5))
)
LABELS = Part("several-labels", (("multilabel.py",),), "multilabel", 15)
REGRESSION = Part("regression", (("regression.py",),), "regression", 4)
NOISE = Part("noise-inputs", (("noise_inputs.py",),), "noise_inputs", 2, packages=("optuna",))

OPENING = """
# Benchmarks

This page compares logikern with other methods that people might choose. It shows defeats as well as wins. It is
generated from the files in `benchmarks/results`; the last section lists the command, the date, the commit and the
machine for each result. Results that take hours to compute are from earlier commits.

    make bench                   run the outdated parts that take at most half an hour, and write this page
    make bench PART=large        run only one part (PART="large tables" for several parts)
    make bench AGAIN=1           also run the parts whose results are up to date
    make bench STORED=1          run nothing, and write this page from the stored results

A result is up to date if it was computed with the current code and settings. The data are not part of the repository;
they are read from the folder that the environment variable `LOGIKERN_DATA` names. The other methods, called peers,
need the packages in `benchmarks/requirements.txt`; a run skips the parts whose peers are not installed. The page
[reproduction](reproduction.md) compares logikern with the papers on which it is based.
"""

_PARTS = (TABLES, *GRIDS, PROCESS, *TREES, LARGE, *SEQUENCES, LABELS, REGRESSION, NOISE)
PAGE = Page(
    "benchmarks.md",
    "bench",
    OPENING,
    (
        Section("Summary", _PARTS[1:], tables.summary, needs_all=False),
        Section("Mixed tables", (TABLES,), tables.tables),
        Section("Comparison with an SVC grid search", GRIDS, tables.grids),
        Section("Gaussian process classifier", (PROCESS,), tables.processes),
        Section("Class trees", TREES, tables.trees),
        Section("Large data", (LARGE,), tables.large),
        Section("Sequences", SEQUENCES, tables.sequences),
        Section("Several labels per row", (LABELS,), tables.labels),
        Section("Regression", (REGRESSION,), tables.regression),
        Section("Mostly uninformative inputs", (NOISE,), tables.noise),
    ),
)


if __name__ == "__main__":
    page.main(PAGE, __doc__)
