"""From LLVM's language to machine code in memory."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

from . import disk, dumping, image
from .machine import machine

if importlib.util.find_spec("llvmlite") is None:
    raise ImportError("llvmlite is not installed")

_DEFINED = re.compile(r"^define (?!internal)\S+ @([\w.]+)\(", re.MULTILINE)

_code: dict[str, Code] = {}
compiled = 0    # how many modules this process has compiled, those found on disk not counted


class Code:
    """Machine code of a module: the addresses of its functions. It is freed with this object."""

    __slots__ = ("addresses", "_memory")

    def __init__(self, text: str, title: str) -> None:
        host = machine()
        key = disk.key_of(text, host.name, host.features, host.compiler)
        dumps = dumping.dump_folder() is not None
        found = None if dumps else disk.load(key)
        if found is None:
            found = _compiled(text, title)
            disk.store(key, found)
        self.addresses, self._memory = _loaded(found, _DEFINED.findall(text))
        if dumps:
            from .compiler import dumped
            dumping.files.update(dict.fromkeys(self.addresses.values(), f"{dumped:04d}_{title}"))


def functions_of(text: str, title: str = "kernel") -> dict[str, int]:
    """The addresses of a module's public functions; equal texts are compiled once."""
    return code_of(text, title).addresses


def code_of(text: str, title: str = "kernel") -> Code:
    """The machine code of a module."""
    found = _code.get(text)
    if found is None:
        # Plans hold addresses, so code lives as long as the process; the number of structures is small.
        found = _code[text] = Code(text, title)
    return found


def _compiled(text: str, title: str) -> bytes:
    """The object of a module."""
    from .compiler import object_of

    global compiled
    compiled += 1
    host = machine()
    return object_of(text, host.name, host.features, title)


def _loaded(content: bytes, names: list[str]) -> tuple[dict[str, int], Any]:
    """An object's functions, ready to be called, and what holds them."""
    found = image.load(content)
    if found is not None:
        return found.addresses, found.memory
    from .compiler import linked

    host = machine()
    return linked(content, names, host.name, host.features)
