"""Files and notes that comments, docstrings and pages name are there."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for folder in ("flambeau", "tests", "benchmarks", "tools", "conformance", "demo")
           for path in sorted((ROOT / folder).rglob("*.py"))]
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Of users, and of what measures conformance.
ELSEWHERE = {"dump.py", "hubconf.py", "opdata.py", "script.py", "step.py", "train.py"}


def _texts(path: Path) -> Iterator[str]:
    """A page, or the docstrings of a module and its comments: those on adjacent lines are one.

    Of a module that names neither files nor notes this is all of it, which is as well and takes no time.
    """
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md" or not re.search(r"\.py`|Note: ", source):
        yield source
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""
    lines: list[str] = []
    end = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] > end + 1:
                yield "\n".join(lines)
                lines = []
            lines.append(token.string.lstrip("# "))
            end = token.start[0]
    yield "\n".join(lines)


@cache
def _all_texts() -> list[tuple[str, str]]:
    return [(path.relative_to(ROOT).as_posix(), " ".join(text.split()))
            for path in (*SOURCES, *PAGES) for text in _texts(path)]


def test_files_are_there() -> None:
    there = {f"/{path.relative_to(ROOT).as_posix()}" for path in SOURCES}
    lost = {f"{path}: {name}" for path, text in _all_texts() for name in re.findall(r"`([\w/]+\.py)`", text)
            if name not in ELSEWHERE and not any(full.endswith(f"/{name}") for full in there)}
    assert not lost


def test_notes_are_there() -> None:
    """Of a note that is referred to by its name, in parentheses, the file that is named has the text."""
    places: dict[str, list[str]] = {}
    for path, text in _all_texts():
        for name in re.findall(r"(?<![(`])Note: ([^.:(`]+?)\.", text):
            places.setdefault(name, []).append(path)
    lost = set()
    for path, text in _all_texts():
        for name, _, file in re.findall(r"\(Note: ([^,)`]+)(, in `+([\w/.]+)`+)?\)", text):
            if not any(place.endswith(file) for place in places.get(name, [])):
                lost.add(f"{path}: {name} {file}")
    assert not lost
