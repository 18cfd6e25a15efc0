"""The layers: a module imports only from below, nothing goes round in a circle, an import inside says why."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "flambeau"
# The way from a recorded operation to its value and back to a gradient, lowest first.
LAYERS = (
    ("dtypes", "type_info", "devices",
     "config", "size", "sources", "naming", "return_types", "layouts", "random_streams"),
    ("graph",),
    ("executors",),
    ("engine",),
    ("tensor",),
    ("operators",),
    ("amp", "profiler", "linalg", "fft", "special"),
    ("autograd", "sparse"),
)   # what is not here is above: the public namespaces
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
# The folders of packages that have many, lowest first: one imports only from those before it.
FOLDERS = {
    "operators": (
        "calls", "declaration", "interop", "creation", "pointwise", "shapes", "indexing", "random",
        "reductions", "products", "linalg", "spectral", "activations", "convolutions", "normalization",
        "losses", "sequences", "optimization", "spellings"),
    "tensor": ("recording", "aliasing", "samples"),
    "executors.native": (
        "llvm", "products", "attention", "recurrent", "movement", "optimizer", "draws", "matrices",
        "normalization", "convolution", "sorting", "templates", "fusion", "programs", "batches"),
    "executors.native.templates": (
        "shapes", "indexing", "random", "reductions", "products", "linalg", "spectral", "convolutions",
        "normalization", "losses", "sequences", "optimization"),
    "executors.native.llvm": ("compiling", "expressions", "special"),
    "executors.native.programs": ("runtime", "patterns", "execution", "glances"),
}

# Packages whose docstring says what each of their modules is for.
MAPS = ("graph", "executors", "operators.calls", "operators.declaration", "executors.native.fusion",
        "executors.native.products", "executors.native.convolution")


class Import(NamedTuple):
    """A module that is imported: where, whether by a function, and the comment on the line."""

    source: str
    line: int
    target: str
    inside: bool
    comment: str


@cache
def _modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def _targets(module: str, path: Path, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "flambeau")
        return
    base = node.module or ""
    if node.level:
        package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        base = ".".join([*package[:len(package) - node.level + 1], *([base] if base else [])])
    if base.partition(".")[0] == "flambeau":
        for alias in node.names:
            yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in _modules() else base


def _in(module: str, path: Path) -> Iterator[Import]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    todo: list[tuple[ast.AST, bool]] = [(ast.parse(text), False)]
    while todo:
        node, inside = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
                continue
            if isinstance(child, ast.Import | ast.ImportFrom):
                comment = lines[child.lineno - 1].partition("#")[2].strip()
                for target in _targets(module, path, child):
                    yield Import(module, child.lineno, target, inside, comment)
            todo.append((child, inside or isinstance(child, ast.FunctionDef | ast.Lambda)))


@cache
def _imports() -> list[Import]:
    return [found for module, path in _modules().items() for found in _in(module, path)]


def _rank(module: str) -> int:
    return RANK.get(module.split(".")[1], len(LAYERS)) if "." in module else len(LAYERS)


def test_layers_are_there() -> None:
    assert all((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file() for name in RANK)


def test_imports_go_downwards() -> None:
    upwards = [f"{i.source}:{i.line} imports {i.target}" for i in _imports()
               if not i.inside and _rank(i.source) < _rank(i.target)]
    assert not upwards


@pytest.mark.parametrize("package", FOLDERS)
def test_folders_import_downwards(package: str) -> None:
    order, prefix = FOLDERS[package], f"flambeau.{package}."

    def place(module: str) -> int:
        inside = module.removeprefix(prefix) if module.startswith(prefix) else ""
        return order.index(folder) if (folder := inside.partition(".")[0]) in order else -1

    folders = {path.parent.name for path in PACKAGE.joinpath(*package.split(".")).glob("*/__init__.py")}
    upwards = [f"{i.source}:{i.line} imports {i.target}" for i in _imports()
               if -1 < place(i.source) < place(i.target)]
    assert folders == set(order) and not upwards


@pytest.mark.parametrize("package", MAPS)
def test_maps_name_all_modules(package: str) -> None:
    folder = PACKAGE.joinpath(*package.split("."))
    described = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    there = {path.stem for path in folder.glob("*.py")}
    there |= {path.parent.name for path in folder.glob("*/__init__.py")}
    missing = there - {"__init__", *re.findall(r"``(\w+)``", described or "")}
    assert not missing


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Modules are taken away that import nothing that is left; a circle remains."""
    left = {name: {i.target for i in _imports() if i.source == name and not i.inside} for name in _modules()}
    while free := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in free:
            del left[name]
    assert not left


def test_imports_inside_functions_say_why() -> None:
    silent = [f"{i.source}:{i.line} imports {i.target}" for i in _imports() if i.inside and not i.comment]
    assert not silent
