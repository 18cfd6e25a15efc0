"""From LLVM's language to machine code in memory."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
from collections.abc import Callable, Mapping
from operator import index
from pathlib import Path
from typing import Any, ParamSpec, SupportsIndex, cast

from . import builders, disk, dumping, image, notes
from .effort import Effort
from .machine import machine

if importlib.util.find_spec("llvmlite") is None:
    raise ImportError("llvmlite is not installed")

_DEFINED = re.compile(r"^define (?!internal)\S+ @([\w.]+)\(", re.MULTILINE)

# Names of functions and their addresses, of which some are known only when an index is wanted.
Functions = Mapping[str, SupportsIndex]

_functions: dict[str, Functions] = {}   # by the entry of the object on disk
_origins: dict[int, tuple[str, str]] = {}   # of the address of a function: its entry and name
_soon: list[SupportsIndex] = []     # functions that no plan has yet
loaded: list[Any] = []     # what holds the code, never freed: plans hold addresses, and structures are few
compiled = 0    # how many modules this process has compiled, those found on disk not counted

P = ParamSpec("P")


def kernels(title: str,
            effort: Effort = Effort.ALL) -> Callable[[Callable[P, str]], Callable[P, Functions]]:
    """Decorates what writes a module: it then gives the addresses of its functions, found once."""
    def declare(write: Callable[P, str]) -> Callable[P, Functions]:
        @functools.wraps(write)
        def addresses(*arguments: P.args, **named: P.kwargs) -> Functions:
            given = (*arguments, *named.items())
            return noted(write, given, title, lambda: (write(*arguments, **named), None), effort)[0]
        return cast("Callable[P, Functions]", functools.cache(addresses))
    return declare


def kernel(name: str, title: str = "",
           effort: Effort = Effort.ALL) -> Callable[[Callable[P, str]], Callable[P, SupportsIndex]]:
    """Decorates what writes a module with one kernel: it then gives its address."""
    def declare(write: Callable[P, str]) -> Callable[P, SupportsIndex]:
        @functools.wraps(write)
        def address(*arguments: P.args, **named: P.kwargs) -> SupportsIndex:
            given = (*arguments, *named.items())
            found, _ = noted(write, given, title or name, lambda: (write(*arguments, **named), None), effort)
            return found[name]
        return cast("Callable[P, SupportsIndex]", functools.cache(address))
    return declare


def is_noted(kernel: Callable[..., Any], *arguments: Any) -> bool:
    """Whether what a decorated function writes for these arguments is noted on disk: it is had in no time."""
    key = notes.key_of(inspect.unwrap(kernel), arguments)
    return key is not None and notes.find(key) is not None


def noted(what: Callable[..., Any], arguments: tuple[Any, ...], title: str,
          write: Callable[[], tuple[str, Any]], effort: Effort = Effort.ALL) -> tuple[Functions, Any]:
    """What ``write`` writes: the addresses of a module's functions, and what else it says of it.

    It writes only what is not noted under ``what`` and the arguments (Note: notes).
    """
    key = notes.key_of(what, arguments)
    note = None if key is None else notes.find(key)
    if note is not None:
        entry, names, facts = note
        found = functions_of(entry, names)
        if found is not None:
            return found, facts
    text, facts = write()
    host = machine()
    entry = disk.key_of(text, host.name, host.features, host.compiler, effort.name, _transformations())
    found = _functions.get(entry) or _made(text, title, entry, effort)
    if key is not None:
        notes.keep(key, (entry, list(found), facts))
    return found, facts


@functools.cache
def _transformations() -> str:
    """The file that says what is done to a text: where that changes, objects made before are others."""
    try:
        return Path(__file__).with_name("compiler.py").read_text()
    except OSError:     # in an archive, which is not edited
        return ""


def _made(text: str, title: str, entry: str, effort: Effort) -> Functions:
    """The functions of a text, from disk or to be compiled until they are needed."""
    names = _DEFINED.findall(text)
    dumps = dumping.dump_folder() is not None
    found = None if dumps else _kept(entry, names)
    if found is None:
        module = _Module(builders.submit(text, title, effort), entry, names)
        found = _functions[entry] = {name: _Address(module, name) for name in names}
    if dumps:
        addresses = [index(address) for address in found.values()]
        from .compiler import dumped  # LLVM is loaded only to compile
        dumping.files.update(dict.fromkeys(addresses, f"{dumped:04d}_{title}"))
    return found


def origin_of(function: SupportsIndex) -> tuple[str, list[str], str] | None:
    """The entry of the object that a function is in, all functions' names there, and its own."""
    if isinstance(function, _Address):
        return function.module.entry, function.module.names, function.name
    found = _origins.get(index(function))
    return None if found is None else (found[0], list(_functions[found[0]]), found[1])


def functions_of(entry: str, names: list[str]) -> Functions | None:
    """The functions of an object that is in memory or on disk."""
    return _functions.get(entry) or _kept(entry, names)


def compile_soon(*functions: SupportsIndex) -> None:
    """Have functions compiled with the modules that are being handed out, though no plan has them yet."""
    _soon.extend(function for function in functions if isinstance(function, _Address))


def finish() -> None:
    """Compile what is to be compiled soon."""
    while _soon:
        index(_soon.pop())


class _Module:
    """A module that is being compiled."""

    __slots__ = ("job", "entry", "names")

    def __init__(self, job: builders.Job, entry: str, names: list[str]) -> None:
        self.job: builders.Job | None = job
        self.entry = entry
        self.names = names

    def functions(self) -> Functions:
        """Its functions, of its code in memory."""
        global compiled
        if self.job is not None:
            content = self.job.result()
            disk.store(self.entry, content)
            _ready(self.entry, content, self.names)
            self.job = None
            compiled += 1
        return _functions[self.entry]


class _Address:
    """Where a function of such a module is: an integer, when one is wanted."""

    __slots__ = ("module", "name", "value")

    def __init__(self, module: _Module, name: str) -> None:
        self.module = module
        self.name = name
        self.value: int | None = None

    def __index__(self) -> int:
        if self.value is None:
            self.value = index(self.module.functions()[self.name])
        return self.value


def _kept(entry: str, names: list[str]) -> Functions | None:
    """The functions of an object on disk."""
    content = disk.load(entry)
    return None if content is None else _ready(entry, content, names)


def _ready(entry: str, content: bytes, names: list[str]) -> Functions:
    addresses, memory = _loaded(content, names)
    loaded.append(memory)
    _functions[entry] = addresses
    _origins.update((address, (entry, name)) for name, address in addresses.items())
    return addresses


def _loaded(content: bytes, names: list[str]) -> tuple[dict[str, int], Any]:
    """An object's functions, ready to be called, and what holds them."""
    found = image.load(content)
    if found is not None:
        return found.addresses, found.memory
    from .compiler import linked  # LLVM is loaded only to compile

    host = machine()
    return linked(content, names, host.name, host.features)
