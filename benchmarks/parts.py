"""Parts of a generated page: the commands that make each one, its stored result, and whether that is current.

A result is current if it was made by the present code with the present settings: its file keeps a fingerprint of the
commands, of the benchmark scripts that they import and of the library. Comments, docstrings, sentences for people,
`report.py`, which writes results, and the layers `cli`, `dask` and `reporting` do not count.
"""

import ast
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Nodes of a syntax tree that may have a docstring.
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
UNCOUNTED_LAYERS = ("cli", "dask", "reporting")
UNCOUNTED_SCRIPTS = ("report",)
Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """What can be run alone.

    Parameters
    ----------
    name : str
        As in `make reproduce PART=name`.
    commands : tuple of tuples of str
        Scripts of this folder with their arguments. The last one writes the result.
    result : str
        Name of the file in results/, without its suffix.
    minutes : float
        About how long it takes on one core.
    figures : tuple of str
        Files in results/ that the commands draw.
    packages : tuple of str
        Modules that must be installed besides those of the project.
    has_quick : bool, default=True
        Whether the commands have a quick version that writes a result.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    result: str
    minutes: float
    figures: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    has_quick: bool = True

    def lines(self) -> list[str]:
        """The commands as a shell takes them."""
        return [" ".join(["python", f"benchmarks/{script}", *arguments]) for script, *arguments in self.commands]

    def missing_packages(self) -> list[str]:
        return [package for package in self.packages if importlib.util.find_spec(package) is None]


@dataclass(frozen=True, eq=False)
class Stored:
    """A result as its file keeps it."""

    part: Part
    content: dict[str, Any]

    @property
    def made(self) -> Row:
        return self.content.get("made", {})

    @property
    def commands(self) -> list[str]:
        """By which it was made, also if the settings of the part are different now."""
        return self.made.get("commands") or [self.made["command"]]

    @property
    def notes(self) -> list[str]:
        return self.content.get("notes", [])

    def titles(self, beginning: str) -> list[str]:
        """Tables whose title begins so."""
        return [title for title in self.content if title.startswith(beginning)]

    def table(self, beginning: str) -> list[Row]:
        """The first table whose title begins so; no rows if there is none."""
        titles = self.titles(beginning)
        return self.content[titles[0]] if titles else []


def read(part: Part, results: Path) -> Stored | None:
    path = results / f"{part.result}.json"
    return Stored(part, json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def state(part: Part, results: Path) -> str:
    """Whether a part has to be run: "current", "older code" or "missing"."""
    stored = read(part, results)
    if stored is None or any(not (results / figure).exists() for figure in part.figures):
        return "missing"
    return "current" if stored.made.get("fingerprint") == fingerprint(part) else "older code"


def carry_out(part: Part, results: Path, quick: bool = False) -> bool:
    """Run the commands one after the other, then mark the result as that of the code they began with."""
    before, path = fingerprint(part), results / f"{part.result}.json"
    written = path.stat().st_mtime_ns if path.exists() else None
    environment = {**os.environ, "LOGIKERN_RESULTS": str(results)}
    for script, *arguments in part.commands:
        command = [sys.executable, str(HERE / script), *arguments, *(["--quick"] if quick else [])]
        if subprocess.run(command, check=False, env=environment).returncode != 0:
            return False
    if not path.exists() or path.stat().st_mtime_ns == written:
        return False
    content = json.loads(path.read_text(encoding="utf-8"))
    content["made"] |= {"fingerprint": before, "commands": part.lines()}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return True


def fingerprint(part: Part) -> str:
    """Of commands, scripts and library."""
    return _digest(f"{part.commands!r} {_library()}", _scripts(part))[:16]


def _digest(beginning: str, files: dict[str, Path]) -> str:
    digest = hashlib.sha256(beginning.encode())
    for name, path in sorted(files.items()):
        digest.update(f"\n{name}\n{_code(path)}".encode())
    return digest.hexdigest()


def _scripts(part: Part) -> dict[str, Path]:
    """The scripts of a part and those of this folder that they import, by name."""
    found: dict[str, Path] = {}
    waiting = [script.removesuffix(".py") for script, *_ in part.commands]
    while waiting:
        name = waiting.pop()
        path = HERE / f"{name}.py"
        if name not in (*found, *UNCOUNTED_SCRIPTS) and path.exists():
            found[name] = path
            waiting += _imports(path)
    return found


def _imports(path: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


@cache
def _library() -> str:
    """Digest of the library, except for layers that change no result."""
    origin = importlib.util.find_spec("logikern")
    if origin is None or origin.origin is None:
        raise SystemExit("`logikern` is not installed. Run `make demo` once, or `pip install -e .`.")
    package = Path(origin.origin).parent
    files = {path.relative_to(package): path for path in package.rglob("*.py")}
    counted = {str(name): path for name, path in files.items() if name.parts[0] not in UNCOUNTED_LAYERS}
    return _digest("logikern", counted)


def _code(path: Path) -> str:
    """The source without comments, docstrings, and strings with a space, which are for people."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            node.value = "..."
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
