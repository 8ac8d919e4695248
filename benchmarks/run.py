"""Run the benchmarks, each in a process of its own, or list them.

python benchmarks/run.py                 all of them
python benchmarks/run.py --list          what there is
python benchmarks/run.py --only newton   one, or several: --only newton --only tiled
python benchmarks/run.py --quick         small versions, which write no results
"""

import argparse
import ast
import subprocess
import sys
from pathlib import Path

from data import require_folder

HERE = Path(__file__).resolve().parent
FIXED = (
    "newton",
    "where_time_goes",
    "scaling",
    "robustness",
    "precision",
    "tiled",
    "fast_sums",
    "memory",
    "peers",
    "defaults",
    "solvers",
    "smo",
    "l1_distances",
    "speed",
    "rough_fits",
    "startup",
)
THREADS = ("cores", "threads")
LEARNED = (
    "satimage_tyings",
    "against_grid",
    "cost_of_hyperparameters",
    "usps_subset",
    "noise_inputs",
    "kill_and_resume",
    "gaussian_process",
    "raetsch",
    "ripley_contours",
    "label_noise",
    "loo_satimage",
    "loo_or_cv",
    "kernel_gradient",
    "learning_curves",
    "temperature",
    "chunking",
    "sequences",
    "regression",
    "multilabel",
    "label_trees",
    "tables",
    "density",
    "large",
    "neighbourhoods",
)
TREES = ("hierarchies", "hierarchy_peers", "hierarchy_cost", "coarse_labels")
NAMES = FIXED + THREADS + LEARNED + TREES


def describe(name: str) -> str:
    """First line of the benchmark's docstring."""
    source = (HERE / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def run(name: str, quick: bool) -> int:
    """Exit code of one benchmark."""
    print(f"\n=== {name}: {describe(name)}\n", flush=True)
    command = [sys.executable, str(HERE / f"{name}.py"), *(["--quick"] if quick else [])]
    return subprocess.run(command, check=False).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print names and claims, run nothing")
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help="run this one")
    parser.add_argument("--quick", action="store_true", help="small versions; write no results")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name:24} {describe(name)}" for name in NAMES))
        return
    require_folder()
    failed = [name for name in options.only or NAMES if run(name, options.quick) != 0]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
