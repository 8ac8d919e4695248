"""The rules of docs/architecture.md, checked on the source itself."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "logikern"
LAYERS = (
    "numerics",
    "kernels",
    "operators",
    "structure",
    "likelihoods",
    "fitting",
    "criteria",
    "selection",
    "encoding",
    "model",
    "decisions",
    "reporting",
    "estimators",
    "sequences",
    "cli",
    "dask",
)
LONGEST_FILE = 400  # lines


@dataclass(frozen=True)
class Library:
    """From which layer up a library may be imported, and from which one at module level."""

    first: str
    at_module_level: str | None = None

    def allows(self, layer: str, deferred: bool) -> bool:
        lowest = self.first if deferred else self.at_module_level
        return lowest is not None and LAYERS.index(layer) >= LAYERS.index(lowest)


# `cli` is imported by its console script alone, never by `import logikern` (checked below), so its files may
# name the libraries of its extra at the top; matplotlib is too slow even there.
LIBRARIES = {
    "numpy": Library("numerics", at_module_level="numerics"),
    "scipy": Library("numerics", at_module_level="numerics"),
    "numba": Library("numerics"),
    "finufft": Library("operators"),
    "sklearn": Library("model", at_module_level="model"),
    "skops": Library("model", at_module_level="model"),
    "joblib": Library("model", at_module_level="model"),
    "threadpoolctl": Library("numerics", at_module_level="numerics"),
    "jinja2": Library("reporting"),
    "matplotlib": Library("reporting"),
    "narwhals": Library("encoding", at_module_level="cli"),
    "pandas": Library("reporting", at_module_level="cli"),
    "pyarrow": Library("reporting", at_module_level="cli"),
    "rich": Library("reporting", at_module_level="cli"),
    "typer": Library("cli", at_module_level="cli"),
    "dask": Library("dask", at_module_level="dask"),
    "distributed": Library("dask", at_module_level="dask"),
}
SLOW_OR_OPTIONAL = (
    "dask",
    "distributed",
    "finufft",
    "jinja2",
    "matplotlib",
    "narwhals",
    "numba",
    "pandas",
    "pyarrow",
    "rich",
    "typer",
)


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    deferred: bool  # inside a function, or for type checkers only


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def find_imports(node: ast.AST, package: str, deferred: bool = False) -> Iterator[Import]:
    """Imports below a node; `package` is the dotted package that relative imports start from."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, deferred)
        elif isinstance(child, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - child.level + 1] if child.level else []
            source = ".".join([*parents, *([child.module] if child.module else [])])
            # `from logikern import kernels` names a layer only in its last word.
            names = [f"{source}.{alias.name}" for alias in child.names] if source == "logikern" else [source]
            for name in names:
                yield Import(name, child.lineno, deferred)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or is_type_checking(child)
            yield from find_imports(child, package, deferred or inside)


def judge_import(found: Import, layer: str) -> str | None:
    """What is wrong with an import in a file of the layer, if anything."""
    top, _, rest = found.module.partition(".")
    if top == "logikern":
        target = rest.partition(".")[0]
        if target == "__version__":
            return None
        # A public name, imported from the package itself, comes from the doors.
        if target not in LAYERS:
            target = "estimators"
        if LAYERS.index(target) > LAYERS.index(layer):
            return f"`{layer}` may not import `{found.module}`, which belongs to a later layer"
        return None
    if top in sys.stdlib_module_names:
        return None
    library = LIBRARIES.get(top)
    if library is None:
        return f"`{top}` is no dependency of logikern"
    if library.allows(layer, found.deferred):
        return None
    if library.allows(layer, deferred=True):
        return f"`{top}` must be imported inside the function that uses it"
    return f"`{layer}` may not import `{top}`: it is allowed from `{library.first}` up"


def judge_source(source: str, layer: str, package: str) -> list[str]:
    """Violations in the source of one file, each as 'line: sentence'."""
    tree = ast.parse(source)
    judged = ((found.line, judge_import(found, layer)) for found in find_imports(tree, package))
    violations = [f"{line}: {sentence}" for line, sentence in judged if sentence]
    if layer != "cli":
        violations += [
            f"{node.lineno}: `print` below `cli`"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        ]
    return violations


def judge_length(source: str) -> str | None:
    lines = source.count("\n")
    return f"{lines} lines, at most {LONGEST_FILE} wanted" if lines > LONGEST_FILE else None


def read_table(text: str) -> dict[str, set[str]]:
    """Layer -> file names, from the rows of the table in docs/architecture.md."""
    rows = re.findall(r"^\|\s*`(\w+)`\s*\|[^|]*\|([^|]*)\|\s*$", text, re.MULTILINE)
    return {layer: set(re.findall(r"`([\w/]+)`", files)) for layer, files in rows}


def compare_table(table: dict[str, set[str]], existing: dict[str, set[str]]) -> list[str]:
    """Differences between the table and the files of each layer, one sentence each."""
    differences = []
    for layer in sorted(table.keys() | existing.keys()):
        named, found = table.get(layer, set()), existing.get(layer, set())
        differences += [f"{layer}/{file}.py is in the table but does not exist" for file in sorted(named - found)]
        differences += [f"{layer}/{file}.py exists but is not in the table" for file in sorted(found - named)]
    return differences


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def layered_files() -> list[Path]:
    return [file for file in source_files() if file.parent != PACKAGE]


def existing_files() -> dict[str, set[str]]:
    existing: dict[str, set[str]] = {}
    for file in layered_files():
        if file.name != "__init__.py":
            inside = file.relative_to(PACKAGE)
            existing.setdefault(inside.parts[0], set()).add("/".join(inside.with_suffix("").parts[1:]))
    return existing


def test_every_file_belongs_to_a_layer():
    strays = [
        str(file.relative_to(ROOT))
        for file in source_files()
        if file.relative_to(PACKAGE).parts[0] not in (*LAYERS, "__init__.py", "__main__.py")
    ]
    assert not strays, f"outside the layers of docs/architecture.md: {strays}"


@pytest.mark.parametrize("file", layered_files(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_file_keeps_to_its_layer(file):
    parts = file.relative_to(PACKAGE).parts
    package = ".".join(["logikern", *parts[:-1]])
    violations = judge_source(file.read_text(encoding="utf-8"), parts[0], package)
    assert not violations, "\n".join(f"{file.relative_to(ROOT)}:{violation}" for violation in violations)


def test_no_file_is_longer_than_400_lines():
    folders = ("src", "tests", "benchmarks", "docs")
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]
    lengths = {str(file.relative_to(ROOT)): judge_length(file.read_text(encoding="utf-8")) for file in files}
    assert not {file: sentence for file, sentence in lengths.items() if sentence}


def test_architecture_table_names_the_files_that_exist():
    table = read_table((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert table, "docs/architecture.md has no table of layers"
    differences = compare_table(table, existing_files())
    assert not differences, "\n" + "\n".join(differences)


def test_architecture_table_lists_layers_in_order():
    table = read_table((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert list(table) == [layer for layer in LAYERS if layer in table]


@pytest.mark.parametrize(
    "use", ["", "for name in logikern.__all__: getattr(logikern, name)"], ids=["import", "every public name"]
)
def test_import_leaves_slow_and_optional_libraries_alone(use):
    # scikit-learn itself loads some of them where they are installed: that is not ours to judge.
    loaded = "import sys, sklearn.callback, sklearn.model_selection, skops.io\nbefore = set(sys.modules)\n"
    theirs = loaded if use else ""
    found = f"set({SLOW_OR_OPTIONAL!r}) & set(sys.modules) - before"
    program = f"import sys\nbefore = set()\n{theirs}import logikern\n{use}\nprint(*sorted({found}))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


@pytest.mark.parametrize(
    ("layer", "source", "complaint"),
    [
        ("kernels", "from logikern.fitting.newton.iterative import Newton", "later layer"),
        ("kernels", "import logikern.operators.dense", "later layer"),
        ("kernels", "from logikern import operators", "later layer"),
        ("kernels", "from ..operators import dense", "later layer"),
        ("kernels", "from .. import operators", "later layer"),
        ("model", "from logikern import KernelLogisticClassifier", "later layer"),
        ("model", "def save():\n    from logikern.cli import main", "later layer"),
        ("fitting", "import sklearn", "allowed from `model` up"),
        ("fitting", "def fit():\n    from sklearn.utils import check_array", "allowed from `model` up"),
        ("numerics", "import numba", "inside the function"),
        ("numerics", "try:\n    import numba\nexcept ImportError:\n    pass", "inside the function"),
        ("decisions", "import pandas as pd", "allowed from `reporting` up"),
        ("reporting", "from matplotlib import pyplot", "inside the function"),
        ("reporting", "import pandas as pd", "inside the function"),
        ("cli", "import matplotlib", "inside the function"),
        ("estimators", "import dask", "allowed from `dask` up"),
        ("cli", "def fit():\n    import distributed", "allowed from `dask` up"),
        ("decisions", "import rich", "allowed from `reporting` up"),
        ("numerics", "import torch", "no dependency"),
        ("fitting", "def fit():\n    print('step')", "`print` below"),
    ],
)
def test_checker_catches_violation(layer, source, complaint):
    violations = judge_source(source, layer, package=f"logikern.{layer}")
    assert len(violations) == 1
    assert complaint in violations[0]


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("operators", "import os\nimport numpy as np\nfrom scipy import sparse"),
        ("operators", "from logikern.kernels import Kernel\nimport logikern.numerics.outcome"),
        ("operators", "from . import base\nfrom .base import KernelOperator\nfrom ..numerics import outcome"),
        ("numerics", "def compile_loop():\n    import numba"),
        ("model", "import skops.io\nfrom logikern import __version__"),
        ("reporting", "def render():\n    from matplotlib import pyplot"),
        ("cli", "import typer\nfrom logikern import load_model\n\nprint('done')"),
    ],
)
def test_checker_accepts_lawful_source(layer, source):
    assert judge_source(source, layer, package=f"logikern.{layer}") == []


def test_checker_catches_long_file():
    assert judge_length("x = 1\n" * LONGEST_FILE) is None
    assert "401 lines" in judge_length("x = 1\n" * (LONGEST_FILE + 1))


def test_checker_catches_differing_table():
    table = read_table("| layer | q | files |\n|---|---|---|\n| `kernels` | alike? | `base`, `gone` |\n")
    assert compare_table(table, {"kernels": {"base", "new"}, "cli": {"main"}}) == [
        "cli/main.py exists but is not in the table",
        "kernels/gone.py is in the table but does not exist",
        "kernels/new.py exists but is not in the table",
    ]
