"""From LLVM's language to machine code in memory."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable
from typing import Any, ParamSpec, cast

from . import disk, dumping, image, notes
from .effort import Effort
from .machine import machine

if importlib.util.find_spec("llvmlite") is None:
    raise ImportError("llvmlite is not installed")

_DEFINED = re.compile(r"^define (?!internal)\S+ @([\w.]+)\(", re.MULTILINE)

_addresses: dict[str, dict[str, int]] = {}     # by the entry of the object on disk
_memory: list[Any] = []     # what holds the code, never freed: plans hold addresses, and structures are few
compiled = 0    # how many modules this process has compiled, those found on disk not counted

P = ParamSpec("P")


def kernels(title: str,
            effort: Effort = Effort.ALL) -> Callable[[Callable[P, str]], Callable[P, dict[str, int]]]:
    """Decorates what writes a module: it then gives the addresses of its functions, found once."""
    def declare(write: Callable[P, str]) -> Callable[P, dict[str, int]]:
        @functools.wraps(write)
        def addresses(*arguments: P.args, **named: P.kwargs) -> dict[str, int]:
            given = (*arguments, *named.items())
            return noted(write, given, title, lambda: (write(*arguments, **named), None), effort)[0]
        return cast("Callable[P, dict[str, int]]", functools.cache(addresses))
    return declare


def kernel(name: str, title: str = "",
           effort: Effort = Effort.ALL) -> Callable[[Callable[P, str]], Callable[P, int]]:
    """Decorates what writes a module with one kernel: it then gives its address."""
    def declare(write: Callable[P, str]) -> Callable[P, int]:
        @functools.wraps(write)
        def address(*arguments: P.args, **named: P.kwargs) -> int:
            given = (*arguments, *named.items())
            found, _ = noted(write, given, title or name, lambda: (write(*arguments, **named), None), effort)
            return found[name]
        return cast("Callable[P, int]", functools.cache(address))
    return declare


def noted(what: Callable[..., Any], arguments: tuple[Any, ...], title: str,
          write: Callable[[], tuple[str, Any]], effort: Effort = Effort.ALL) -> tuple[dict[str, int], Any]:
    """What ``write`` writes: the addresses of a module's functions, and what else it says of it.

    It writes only what is not noted under ``what`` and the arguments (Note: notes).
    """
    key = notes.key_of(what, arguments)
    note = None if key is None else notes.find(key)
    if note is not None:
        entry, names, facts = note
        found = _addresses.get(entry) or _kept(entry, names)
        if found is not None:
            return found, facts
    text, facts = write()
    host = machine()
    entry = disk.key_of(text, host.name, host.features, host.compiler, effort.name)
    found = _addresses.get(entry) or _made(text, title, entry, effort)
    if key is not None:
        notes.keep(key, (entry, list(found), facts))
    return found, facts


def _made(text: str, title: str, entry: str, effort: Effort) -> dict[str, int]:
    """The functions of a text, from disk or compiled."""
    names = _DEFINED.findall(text)
    dumps = dumping.dump_folder() is not None
    found = None if dumps else _kept(entry, names)
    if found is None:
        content = _compiled(text, title, effort)
        disk.store(entry, content)
        found = _ready(entry, content, names)
    if dumps:
        from .compiler import dumped
        dumping.files.update(dict.fromkeys(found.values(), f"{dumped:04d}_{title}"))
    return found


def _kept(entry: str, names: list[str]) -> dict[str, int] | None:
    """The functions of an object on disk."""
    content = disk.load(entry)
    return None if content is None else _ready(entry, content, names)


def _ready(entry: str, content: bytes, names: list[str]) -> dict[str, int]:
    addresses, memory = _loaded(content, names)
    _memory.append(memory)
    _addresses[entry] = addresses
    return addresses


def _compiled(text: str, title: str, effort: Effort) -> bytes:
    """The object of a module."""
    from .compiler import object_of

    global compiled
    compiled += 1
    host = machine()
    return object_of(text, host.name, host.features, title, effort)


def _loaded(content: bytes, names: list[str]) -> tuple[dict[str, int], Any]:
    """An object's functions, ready to be called, and what holds them."""
    found = image.load(content)
    if found is not None:
        return found.addresses, found.memory
    from .compiler import linked

    host = machine()
    return linked(content, names, host.name, host.features)
