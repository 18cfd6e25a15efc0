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
from operator import index, mul
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


class NewArrays:
    """What makes arrays of so many elements of some types: ``make()`` gives a list of them."""

    __slots__ = ("make", "_counts", "_dtypes", "_memory", "_sizes")

    def __init__(self, counts: Sequence[int], dtypes: Sequence[Any]) -> None:
        self._counts, self._dtypes = counts, dtypes
        self._sizes = [dtype.itemsize for dtype in dtypes]
        table = numpy_table()
        self._memory: Any = None
        self.make: Callable[[], list[Any]] = self._empty
        if table:
            rows = [x for count, dtype in zip(counts, dtypes) for x in row_of(count, dtype)]
            self._memory = np.array([table, len(counts), *rows], np.int64)
            self.make = _maker().of(self._memory)

    def resize(self, counts: Sequence[int]) -> None:
        """From now on they have so many elements."""
        self._counts = counts
        if self._memory is not None:
            self._memory[2::at.ROW_WORDS] = counts
            self._memory[4::at.ROW_WORDS] = [*map(mul, counts, self._sizes)]

    def _empty(self) -> list[Any]:
        return [*map(np.empty, self._counts, self._dtypes)]


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
