"""Native code that reads Python's objects as they lie in memory, and calls Python's functions.

Such code holds the interpreter lock. What counts references, or makes an object, is a function of Python's.
The memory that such a function is given begins with 64-bit words, one of which is the address of a table of
the functions and objects it uses (``table_of``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from operator import index
from typing import Any, TypeVar

import numpy as np

from ...llvm.build import Function

# Where, in bytes, things lie in an object; the pointers to a list's items, the items of a tuple, bytes.
REFERENCES_AT, TYPE_AT, SIZE_AT, ITEMS_AT, TUPLE_AT, BYTES_AT = 0, 8, 16, 24, 24, 32

# Note: array objects. NumPy promises this layout of its array objects to C programs: after the object's
# header the pointer to the data, the number of dimensions, pointers to extents and strides, base, dtype and
# flags, of which the lowest bit says that the elements lie in order without gaps, and another one that they
# may be written. Of a list there come the number of elements and a pointer to their addresses.
# ``check_array_layout`` looks whether it is so.
(DATA_AT, DIMENSIONS_AT, EXTENTS_AT, STRIDES_AT, BASE_AT, DTYPE_AT, FLAGS_AT,
 HANDLER_AT) = 16, 24, 32, 40, 48, 56, 64, 88
WRITEABLE = 0x400   # among the flags


def check_array_layout() -> None:
    """Raise where this Python or NumPy lays out lists and arrays otherwise than native code reads them."""
    if not _array_layout_is_known():
        raise ImportError("this NumPy lays out its arrays in another way")


def _array_layout_is_known() -> bool:
    probe = np.arange(6, dtype=np.float32)
    crossed, sealed = probe.reshape(2, 3).T, np.zeros(3)
    sealed.flags.writeable = False
    arrays: list[np.ndarray[Any, Any]] = [probe, crossed, sealed]
    read = ctypes.c_int64.from_address
    items = read(id(arrays) + ITEMS_AT).value
    if [read(items + 8 * i).value for i in range(3)] != list(map(id, arrays)):
        return False
    return all(read(id(x) + DATA_AT).value == x.__array_interface__["data"][0]
               and read(id(x) + TYPE_AT).value == id(np.ndarray)
               and read(read(id(x) + EXTENTS_AT).value).value == len(x)
               and read(id(x) + BASE_AT).value == (0 if x.base is None else id(x.base))
               and (ctypes.c_int32.from_address(id(x) + FLAGS_AT).value & 1) == x.flags.c_contiguous
               and read(id(x) + DTYPE_AT).value == id(x.dtype)
               and ctypes.c_int32.from_address(id(x) + DIMENSIONS_AT).value == x.ndim
               and bool(ctypes.c_int32.from_address(id(x)
                                                    + FLAGS_AT).value & WRITEABLE) == x.flags.writeable
               for x in arrays)


# What a built-in function takes beside its ``self``, as Python's headers number it: nothing, an object, an
# array of objects, such an array and names of keywords (METH_NOARGS, METH_O, METH_FASTCALL, METH_KEYWORDS).
NO_ARGUMENTS, ONE_ARGUMENT, AN_ARRAY, WITH_KEYWORDS = 4, 8, 0x80, 0x82
T = TypeVar("T")
_for_ever: list[Any] = []
_new_function: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi))


def for_ever(x: T) -> T:
    """``x``, which stays alive: native code, or Python itself, refers to it by its address."""
    _for_ever.append(x)
    return x


class Method(ctypes.Structure):
    """How a built-in function is described to Python (see ``method``)."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("documentation", ctypes.c_char_p))

    def of(self, memory: Any) -> Any:
        """The function with this memory, which it is given as ``self``."""
        return _new_function(ctypes.addressof(self), memory, None)


def method(name: str, code: Any, takes: int) -> Method:
    """The description of a function of native code, for ever."""
    return for_ever(Method(name.encode(), index(code), takes, None))


def table_of(objects: Mapping[int, Any], functions: Mapping[int, str]) -> Any:
    """Addresses of objects, which must stay alive, and of functions of Python's."""
    table: Any = np.zeros(max(*objects, *functions) + 1, np.int64)
    for k, x in objects.items():
        table[k] = id(x)
    for k, name in functions.items():
        table[k] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    return table


def address_of(memory: Any) -> int:
    """Where the elements of an array lie."""
    found: int = memory.__array_interface__["data"][0]
    return found


def slot_of(kind: type, name: str) -> int:
    """How many bytes behind an object of a class one of its ``__slots__``, or of its bases', lies."""
    descriptor = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
    member = ctypes.c_int64.from_address(id(descriptor) + 40).value
    return ctypes.c_int64.from_address(member + 16).value                        # of what describes a member


class ObjectCode:
    """A function that is given some memory; ``table``: which of its words is the address of the table."""

    def __init__(self, f: Function, memory: str, table: int) -> None:
        self.f = f
        self.memory = memory
        self.python = self.word(table, "ptr")

    def word(self, k: int, kind: str = "i64") -> str:
        return self.get(self.memory, 8 * k, kind)

    def get(self, base: str, at: str | int, kind: str = "ptr") -> str:
        """What lies so many bytes behind an address."""
        return self.f.read(kind, self.f.at(base, at, "i8"), 4 if kind == "i32" else 8)

    def object(self, k: int) -> str:
        return self.get(self.python, 8 * k)

    def call(self, k: int, arguments: str, result: str = "ptr") -> str:
        return self.f.emit(f"call {result} {self.object(k)}({arguments})")

    def tell(self, k: int, x: str) -> None:
        """Call a function of one object that gives nothing."""
        self.f.effect(f"call void {self.object(k)}(ptr {x})")

    def same(self, x: str, y: str) -> str:
        return self.f.emit(f"icmp eq ptr {x}, {y}")

    def equal(self, x: str, y: str | int, kind: str = "i64") -> str:
        return self.f.emit(f"icmp eq {kind} {x}, {y}")
