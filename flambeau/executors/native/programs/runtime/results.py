"""The arrays in which programs leave their results.

One native call makes all of a program (``new_arrays.py``), in memory that begins at cache lines and is used
again (``pool.py``): here that call is set up, with what it needs of Python and NumPy. Where NumPy's arrays do
not lie in memory as expected, NumPy makes them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from operator import index
from typing import Any

import numpy as np

from ....freed import KEEP, MOST_KEPT
from ...llvm.compiling import code
from . import new_arrays as at
from . import runtime
from .objects import HANDLER_AT, NO_ARGUMENTS, Method, method
from .pool import LIMIT, POOL_WORDS

_FROM_TYPE, _CURRENT_HANDLER = 94, 305     # places among the functions that NumPy promises to C programs
_kept: dict[str, Any] = {}      # for ever, since native code refers to it


class _Handler(ctypes.Structure):
    """NumPy's data memory handler."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
                ("take", ctypes.c_void_p), ("take_zeros", ctypes.c_void_p), ("resize", ctypes.c_void_p),
                ("release", ctypes.c_void_p))


def new_arrays(counts: Sequence[int], dtypes: Sequence[Any]) -> Callable[[], list[Any]]:
    """What makes arrays of so many elements of these types, which must stay alive."""
    table = numpy_table()
    if not table:
        return lambda: [*map(np.empty, counts, dtypes)]
    rows = [x for count, dtype in zip(counts, dtypes) for x in row_of(count, dtype)]
    memory = np.array([table, len(rows) // at.ROW_WORDS, *rows], np.int64)
    made: Callable[[], list[Any]] = _maker().of(memory)
    return made


@cache
def _maker() -> Method:
    return method("new_arrays", runtime.entries()["new_arrays"], NO_ARGUMENTS)


def row_of(count: int, dtype: Any) -> tuple[int, ...]:
    """An array's row, as native code reads it."""
    return count, id(dtype), count * dtype.itemsize


def numpy_table() -> int:
    """The address of a table of what is Python's and NumPy's; 0 if its arrays are not as they should be."""
    if "address" not in _kept:
        _kept["address"] = _new_table() if _owner_is_known() else 0
    return int(_kept["address"])


def _owner_is_known() -> bool:
    """Whether arrays name what frees them where native code writes it (Note: array objects)."""
    current = ctypes.PYFUNCTYPE(ctypes.py_object)(_array_function(_CURRENT_HANDLER))()
    probe = np.zeros(1)
    return ctypes.c_int64.from_address(id(probe) + HANDLER_AT).value == id(current)


def _new_table() -> int:
    table: Any = np.zeros(at.NO_MEMORY + 1, np.int64)
    for k, name in ((at.NEW_LIST, "PyList_New"), (at.HOLD, "Py_IncRef"), (at.LET_GO, "Py_DecRef"),
                    (at.NO_MEMORY, "PyErr_NoMemory")):
        table[k] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    table[at.ARRAY_TYPE] = id(np.ndarray)
    table[at.NEW_ARRAY] = _array_function(_FROM_TYPE)
    pool = _kept["pool"] = np.zeros(POOL_WORDS, np.int64)
    pool[LIMIT] = MOST_KEPT if KEEP else 0
    table[at.POOL] = pool.__array_interface__["data"][0]
    table[at.HANDLER] = id(_capsule(int(table[at.POOL])))
    _kept["table"] = table
    return int(table.__array_interface__["data"][0])


def _capsule(pool: int) -> Any:
    """The handler as arrays name it."""
    entries = runtime.entries()
    found = _Handler(b"flambeau", 1, pool, *[index(entries[name]) for name in
                                             ("take", "take_zeros", "resize", "release")])
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3)(
        ("PyCapsule_New", ctypes.pythonapi))
    _kept["handler"], _kept["capsule name"] = found, ctypes.create_string_buffer(b"mem_handler")
    _kept["capsule"] = new(ctypes.addressof(found), ctypes.addressof(_kept["capsule name"]), None)
    # Arrays may be freed after everything else: what frees them is never.
    for x in (_kept, code.loaded):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    return _kept["capsule"]


def _array_function(k: int) -> int:
    """The address of a function that NumPy promises to C programs."""
    found = import_module("numpy._core._multiarray_umath")
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
    table = pointer(found._ARRAY_API, None)
    return ctypes.c_int64.from_address(table + 8 * k).value
