"""Measures of the shape of the source: `python -m tests.shape` prints them, test_shape.py bounds them."""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).parents[1] / "src" / "logikern"


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for file in files():
        yield file.relative_to(SOURCE), ast.parse(file.read_text(encoding="utf-8"))


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is made of numbers alone."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _numbers(node: ast.stmt) -> list[str]:
    """Names that a statement of a module gives to numbers."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        targets, value = [node.target], node.value
    elif isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    else:
        return []
    if isinstance(value, ast.Tuple) and isinstance(targets[0], ast.Tuple):
        pairs = list(zip(targets[0].elts, value.elts, strict=False))
    elif isinstance(value, ast.Tuple) and value.elts:
        return [ast.unparse(targets[0])] if all(map(_is_number, value.elts)) else []
    else:
        pairs = [(target, value) for target in targets]
    return [ast.unparse(target) for target, own in pairs if _is_number(own)]


def numeric_constants() -> list[str]:
    """Numbers at the top of modules, as `file: name`."""
    return [f"{file}: {name}" for file, tree in trees() for node in tree.body for name in _numbers(node)]


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield file, node


def takers_of_estimators() -> list[str]:
    """Functions with a parameter `estimator`, as `file: name`."""
    found = []
    for file, node in functions():
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if any(argument.arg == "estimator" for argument in arguments):
            found.append(f"{file}: {node.name}")
    return found


def files_per_folder() -> Counter[str]:
    """Modules in each folder, without `__init__`."""
    return Counter(str(file.relative_to(SOURCE).parent) for file in files() if file.name != "__init__.py")


def body_lengths() -> np.ndarray:
    """Lines of each function without its signature and docstring."""
    lengths = []
    for _, node in functions():
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        lengths.append(node.end_lineno - body[0].lineno + 1 if body and node.end_lineno else 0)
    return np.array(lengths)


def lines_per_file() -> dict[str, int]:
    return {str(file.relative_to(SOURCE)): len(file.read_text(encoding="utf-8").splitlines()) for file in files()}


def describe() -> list[str]:
    constants, takers, lengths, lines = numeric_constants(), takers_of_estimators(), body_lengths(), lines_per_file()
    below = [taker for taker in takers if not taker.startswith("estimators")]
    folders = Counter(name.split(": ")[0].rpartition("/")[0] for name in constants)
    longest = max(lines, key=lambda name: lines[name])
    return [
        f"numeric constants of modules: {len(constants)}",
        *(f"    {folder or '.'}: {count}" for folder, count in folders.most_common()),
        f"functions that take an estimator: {len(takers) - len(below)} in estimators, {len(below)} elsewhere",
        f"files per folder: {dict(files_per_folder().most_common(6))}",
        f"function bodies: median {np.median(lengths):.0f}, 95th percentile {np.percentile(lengths, 95):.0f} lines",
        f"lines: {sum(lines.values())} in {len(lines)} files; longest {longest}: {lines[longest]}",
    ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(describe()) + "\n")
