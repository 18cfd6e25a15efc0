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
def _table() -> dict[str, str]:
    """Of each name its part of the file: a line of names, and below it the signatures."""
    text = (Path(__file__).parent / "signatures.txt").read_text()
    found: dict[str, str] = {}
    for part in text.replace("\n  ", "\0").splitlines():
        namespace, *names = part.partition("\0")[0].partition(" as ")[0].split()
        if namespace != "#":
            for name in names:
                found[f"{namespace}.{name}"] = part
    return found


def _entry(table: dict[str, str], namespace: str, name: str) -> Signatures | None:
    part = table.get(f"{namespace}.{name}")
    if part is None:
        return None
    head, *rows = part.split("\0")
    called = head.partition(" as ")[2]
    own = f"{namespace}_{name}" if namespace in _PREFIXED else name
    return Signatures(called or own, called == "py", tuple(rows))


@cache
def signatures_of(namespace: str, name: str) -> Signatures | None:
    """A function's signatures; a method's from the function of that name where it has none of its own."""
    table = _table()
    found = _entry(table, namespace, name)
    if found is not None or namespace != "Tensor":
        return found
    function = _entry(table, "torch", name) or _entry(table, "torch", name.removesuffix("_"))
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
