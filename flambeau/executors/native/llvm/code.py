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

_code: dict[str, dict[str, int]] = {}   # the addresses of a text's functions
_memory: list[Any] = []     # what holds the code, never freed: plans hold addresses, and structures are few
compiled = 0    # how many modules this process has compiled, those found on disk not counted


def functions_of(text: str, title: str = "kernel") -> dict[str, int]:
    """The addresses of a module's public functions; equal texts are compiled once."""
    found = _code.get(text)
    if found is None:
        found = _code[text] = _made(text, title)
    return found


def _made(text: str, title: str) -> dict[str, int]:
    host = machine()
    key = disk.key_of(text, host.name, host.features, host.compiler)
    dumps = dumping.dump_folder() is not None
    content = None if dumps else disk.load(key)
    if content is None:
        content = _compiled(text, title)
        disk.store(key, content)
    addresses, memory = _loaded(content, _DEFINED.findall(text))
    _memory.append(memory)
    if dumps:
        from .compiler import dumped
        dumping.files.update(dict.fromkeys(addresses.values(), f"{dumped:04d}_{title}"))
    return addresses


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
