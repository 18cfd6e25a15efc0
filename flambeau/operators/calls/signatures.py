"""PyTorch's signatures of public functions and methods: ``signatures.txt``, read when first asked for."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

_PREFIXED = ("linalg", "fft", "special")


class Parameter(NamedTuple):
    """One parameter: ``needed`` where there is no default, ``none`` where None will do."""

    name: str
    kind: str
    needed: bool
    none: bool
    keyword: bool


class Signatures(NamedTuple):
    """A function's name in messages, and its signatures or, of one written in Python, its parameters."""

    called: str
    python: bool
    rows: tuple[str, ...]


@cache
def _text() -> str:
    """The file: lines of names, and indented below each the signatures."""
    return (Path(__file__).parent / "signatures.txt").read_text()


def names() -> set[tuple[str, str]]:
    """All names that the file tells of, each with its namespace."""
    heads = [line.partition(" as ")[0].split() for line in _text().splitlines() if line[0] not in "# "]
    return {(namespace, name) for namespace, *found in heads for name in found}


def _entry(namespace: str, name: str) -> Signatures | None:
    """What the file says of a name. A program asks for few: it is searched, not read as a whole."""
    text, at = _text(), 0
    while (at := text.find(f" {name}", at + 1)) >= 0:
        first = text.rfind("\n", 0, at) + 1
        if text.startswith(f"{namespace} ", first):
            end = text.index("\n", at)
            head, _, called = text[first:end].partition(" as ")
            if name in head.split()[1:]:
                break
    else:
        return None
    rows = []
    while text.startswith("\n  ", end):
        begin, end = end + 3, text.find("\n", end + 1)
        rows.append(text[begin:end])
    own = f"{namespace}_{name}" if namespace in _PREFIXED else name
    return Signatures(called or own, called == "py", tuple(rows))


@cache
def signatures_of(namespace: str, name: str) -> Signatures | None:
    """A function's signatures; a method's from the function of that name where it has none of its own."""
    found = _entry(namespace, name)
    if found is not None or namespace != "Tensor":
        return found
    function = _entry("torch", name) or _entry("torch", name.removesuffix("_"))
    if function is None or function.python:
        return None
    return Signatures(name, False, tuple([_without_first(row) for row in function.rows]))


def _without_first(signature: str) -> str:
    parts = [part for part in signature.split(", ")[1:] if not part.startswith("Tensor out")]
    mark = "= " if signature.startswith("= ") else ""
    return mark + ", ".join(parts[:-1] if parts[-1:] == ["*"] else parts)


@cache
def parameters_of(signature: str) -> tuple[Parameter, ...]:
    """The parameters that a signature declares."""
    found: list[Parameter] = []
    keyword = False
    for part in signature.removeprefix("= ").split(", "):
        if part in ("*", ""):
            keyword = keyword or part == "*"
            continue
        declared, _, default = part.partition(" = ")
        declared, _, also = declared.partition(" | ")
        kind, _, name = declared.rpartition(" ")
        none = "None" in (default, also) or name == "requires_grad"
        found.append(Parameter(name, kind, not default, none, keyword))
    return tuple(found)
