"""Notes on disk: which module was written for which arguments.

Note: notes. To write a long module takes longer than to load its code. So what a function wrote for certain
arguments is noted: the entry of the object and its functions' names. A process that finds the note neither
writes the text nor imports LLVM. A note is found by the function, its arguments, the CPU and the state of the
package's files. Arguments are spelled out, down to the operators and rules in them; where one cannot be (a
function that is not the package's own), there is no note, and the text is written.
"""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..... import sources
from .....devices import device
from .....dtypes import dtype
from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....graph.operator import Operator
from .....graph.recent import Recent
from . import disk, dumping
from .machine import machine

# Everything that a module's text can follow from.
_FOLDERS = ("autograd", "executors", "graph", "operators", "optim", "random_streams", "sparse", "tensor")
_PACKAGE = __name__.partition(".")[0]
_signatures: Recent[Signature, str] = Recent(1 << 11)     # as they are spelled
_geometries: Recent[Geometry, str] = Recent(1 << 12)
_OWN = tuple(f"{_PACKAGE}.{folder}." for folder in _FOLDERS)


class _Nameless(Exception):
    """An argument that has no spelling that would mean the same in another process."""


def key_of(write: Callable[..., Any], arguments: tuple[Any, ...]) -> str | None:
    """The entry of the note on what ``write(*arguments)`` wrote; None where there can be none."""
    files = sources.state_of(*_FOLDERS)
    if files is None or dumping.dump_folder() is not None:
        return None
    try:
        return disk.key_of("note", _spelled(write), _spelled(arguments), repr(machine()), files)
    except _Nameless:
        return None


def expect() -> None:
    """Find out what the first key would have to: the state of the package's files."""
    sources.state_of(*_FOLDERS)


def find(key: str) -> Any:
    """A note; None if there is none."""
    found = disk.load(key)
    return None if found is None else json.loads(found)


def keep(key: str, note: Any) -> None:
    """Write a note of lists, strings and numbers, if that is possible."""
    disk.store(key, json.dumps(note).encode())


def _spelled(value: Any) -> str:
    """The same for equal arguments in every process, different for others."""
    if value.__class__ in _PLAIN:
        return repr(value)
    if value.__class__ is Geometry:
        return _geometries.get(value) or _geometries.recall(value) or _geometries.keep(
            value, f"{value} on {value.device}")
    if value.__class__ is Signature:
        return _signatures.get(value) or _signatures.recall(value) or _signatures.keep(
            value, _spelled_signature(value))
    if value.__class__ is tuple:
        return f"tuple({','.join([_spelled(x) for x in value])})"
    return _spelled_rare(value)


_PLAIN = frozenset((type(None), bool, int, float, complex, str, device))


def _spelled_rare(value: Any) -> str:
    """``_spelled`` of what else there is."""
    if isinstance(value, (bool, int, float, complex, str, enum.Enum)):
        return repr(value)
    if isinstance(value, (np.dtype, dtype)):
        return f"dtype {value.name}"
    if isinstance(value, tuple):
        return f"{type(value).__qualname__}({','.join(map(_spelled, value))})"
    if isinstance(value, type):
        return f"type {value.__module__}.{value.__qualname__}"
    if isinstance(value, Operator):
        return _spelled_operator(value)
    if isinstance(value, functools._lru_cache_wrapper):
        return f"cached {_spelled(value.__wrapped__)}"
    if isinstance(value, FunctionType):
        return _spelled_function(value)
    raise _Nameless


def _spelled_signature(signature: Signature) -> str:
    return _spelled((signature.operator, signature.attributes, signature.geometries, signature.outputs,
                     signature.single, signature.compute))


@functools.cache
def _spelled_operator(operator: Operator) -> str:
    return f"operator {operator.name} {_spelled(operator.kernel)}"


def _spelled_function(function: FunctionType) -> str:
    """Where a function of the package stands, and what it has from where it was made."""
    if not function.__module__.startswith(_OWN):
        raise _Nameless
    code = function.__code__
    made_with = tuple(cell.cell_contents for cell in function.__closure__ or ())
    column = _column_of(code) if code.co_name == "<lambda>" else None
    place = f"{function.__module__}.{function.__qualname__} {code.co_firstlineno} {column}"
    return f"{place} {_spelled(made_with)} {_spelled(function.__defaults__)}"


@functools.cache
def _column_of(code: CodeType) -> int:
    """Where it starts in its line, by which two nameless functions on one line differ."""
    return min((place[2] for place in code.co_positions() if place[2] is not None), default=0)
