"""Native code that reads the tensors of a batch as they lie in memory: their values, and where they begin.

In Python every question about a tensor costs more than copying a sample that is small. What a tensor is, is
told in 64-bit words, since this lies below tensors.
"""

from __future__ import annotations

import ctypes
from operator import index
from typing import Any

import numpy as np

from ....graph.geometry import Geometry
from ....graph.node import Node
from ....graph.storage import Storage
from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernels
from ..llvm.compiling.effort import Effort
from ..movement.copying import define_run
from ..programs.runtime.objects import (
    DATA_AT,
    DIMENSIONS_AT,
    DTYPE_AT,
    EXTENTS_AT,
    FLAGS_AT,
    ITEMS_AT,
    TYPE_AT,
    ObjectCode,
    address_of,
    check_array_layout,
    slot_of,
    table_of,
)

# Words of the memory, and what the table of Python's has.
PYTHON, STORAGE, GEOMETRY, REQUIRES_GRAD, BASE = range(5)
SAMPLE_WORDS = 5
_SLOTS = "_storage", "_geometry", "_requires_grad", "_base"
(NONE, FALSE, TRUE, LIST_TYPE, NODE_TYPE, ARRAY_TYPE, TENSOR_TYPE, STORAGE_TYPE, WAITING, SHARED, APPEND,
 AS_INTEGER, EQUAL) = range(13)
MEMORY_OF = ("ptr", "%memory")
_TENSORS = ("ptr", "%tensors"), ("i64", "%count"), ("ptr", "%found")


class SampleCode(ObjectCode):
    """A function that reads tensors."""

    def __init__(self, f: Function) -> None:
        super().__init__(f, "%memory", PYTHON)

    def slot(self, x: str, kind: type, name: str) -> str:
        return self.get(x, slot_of(kind, name))

    def tensor_slot(self, x: str, k: int) -> str:
        return self.get(x, self.word(k))

    def give_if(self, condition: str, value: int | str = 0) -> None:
        with self.f.when(condition):
            self.f.give(value)

    def give_unless(self, condition: str, value: int | str = 0) -> None:
        with self.f.otherwise(condition):
            self.f.give(value)

    def is_kind(self, x: str, kind: int) -> str:
        return self.same(self.get(x, TYPE_AT), self.object(kind))

    def item(self, x: str, k: int) -> str:
        """An item of a list."""
        return self.get(self.get(x, ITEMS_AT), 8 * k)

    def offset(self, geometry: str) -> str:
        return self.call(AS_INTEGER, f"ptr {self.slot(geometry, Geometry, 'offset')}", "i64")

    def wants_no_gradient(self, x: str) -> str:
        return self.same(self.tensor_slot(x, REQUIRES_GRAD), self.object(FALSE))

    def require_array(self, x: str) -> None:
        """Give 0 unless it is an array whose elements lie in order."""
        self.give_unless(self.is_kind(x, ARRAY_TYPE))
        self.give_if(self.equal(self.f.emit(f"and i32 {self.get(x, FLAGS_AT, 'i32')}, 1"), 0, "i32"))

    def elements(self, array: str) -> str:
        """The number of them."""
        f = self.f
        size = f.variable("i64", 1)
        with f.loop(0, f.emit(f"sext i32 {self.get(array, DIMENSIONS_AT, 'i32')} to i64")) as d:
            size.set(f.mul(size.get(), f.read("i64", f.at(self.get(array, EXTENTS_AT), d, "i64"), 8)))
        return size.get()


def source_of_tensor(module: Module) -> Function:
    """What the value of a tensor is read from, or made of: ``waiting.py``; null where that is for others."""
    with module.helper("source", [MEMORY_OF, ("ptr", "%tensor")], "ptr") as f:
        c = SampleCode(f)
        c.give_unless(c.is_kind("%tensor", TENSOR_TYPE), "null")
        c.give_unless(c.wants_no_gradient("%tensor"), "null")
        base = c.tensor_slot("%tensor", BASE)
        with f.otherwise(c.same(base, c.object(NONE))):
            c.give_unless(c.wants_no_gradient(base), "null")
        storage = c.tensor_slot("%tensor", STORAGE)
        with f.when(c.is_kind(storage, STORAGE_TYPE)):
            f.give(c.slot(storage, Storage, "node"))
        waits = f.emit(f"or i1 {c.is_kind(storage, WAITING)}, {c.is_kind(storage, SHARED)}")
        c.give_unless(waits, "null")
        f.give(c.slot(storage, Storage, "owner"))
    return f


def is_alike(module: Module) -> Function:
    """Whether two geometries are of one shape and dtype: 1."""
    with module.helper("alike", [MEMORY_OF, ("ptr", "%a"), ("ptr", "%b")], "i64") as f:
        c = SampleCode(f)
        families = [c.slot(g, Geometry, "family") for g in ("%a", "%b")]
        c.give_if(c.same(*families), 1)
        c.give_unless(c.same(*[c.slot(g, Geometry, "dtype") for g in ("%a", "%b")]))
        shapes = [c.slot(g, Geometry, "shape") for g in ("%a", "%b")]
        f.give(f.emit("sext i32 " + c.call(EQUAL, f"ptr {shapes[0]}, ptr {shapes[1]}, i32 2", "i32")
                      + " to i64"))
    return f


def _offsets(module: Module) -> None:
    """``offsets(memory, tensors, count, found)``: 1, if all are parts of one tensor, read by one family's
    geometries; ``found``: their offsets.
    """
    with module.function("offsets", [MEMORY_OF, *_TENSORS], "i64") as f:
        c = SampleCode(f)
        items = c.get("%tensors", ITEMS_AT)
        first = c.get(items, 0)
        storage, base = c.tensor_slot(first, STORAGE), c.tensor_slot(first, BASE)
        family = c.slot(c.tensor_slot(first, GEOMETRY), Geometry, "family")
        with f.loop(0, "%count") as i:
            x = f.read("ptr", f.at(items, i, "ptr"), 8)
            c.give_unless(c.is_kind(x, TENSOR_TYPE))
            c.give_unless(c.same(c.tensor_slot(x, STORAGE), storage))
            c.give_unless(c.same(c.tensor_slot(x, BASE), base))
            c.give_unless(c.wants_no_gradient(x))
            geometry = c.tensor_slot(x, GEOMETRY)
            c.give_unless(c.same(c.slot(geometry, Geometry, "family"), family))
            f.write("i64", c.offset(geometry), f.at("%found", i, "i64"), 8)
        f.give(1)


def _places(module: Module, source_of: Function, alike: Function) -> None:
    """``places(memory, tensors, count, found, size)``: 1, if all have values of one shape and dtype, whose
    elements are of that size, that lie in order; ``found``: where they begin in memory.
    """
    with module.function("places", [MEMORY_OF, *_TENSORS, ("i64", "%size")], "i64") as f:
        c = SampleCode(f)
        items = c.get("%tensors", ITEMS_AT)
        first = c.tensor_slot(c.get(items, 0), GEOMETRY)
        numel = c.call(AS_INTEGER, f"ptr {c.slot(first, Geometry, 'numel')}", "i64")
        dtype = f.variable("ptr", "null")
        with f.loop(0, "%count") as i:
            x = f.read("ptr", f.at(items, i, "ptr"), 8)
            array = _array(c, str(f.run(source_of, "%memory", x)))
            geometry = c.tensor_slot(x, GEOMETRY)
            c.give_unless(c.equal(str(f.run(alike, "%memory", geometry, first)), 1))
            c.give_unless(c.same(c.slot(geometry, Geometry, "is_contiguous"), c.object(TRUE)))
            with f.when(c.equal(i, 0)):
                dtype.set(c.get(array, DTYPE_AT))
            c.give_unless(c.same(c.get(array, DTYPE_AT), dtype.get()))
            begin = c.offset(geometry)
            c.give_if(f.compare("sgt", f.add(begin, numel), c.elements(array)))
            f.write("i64", f.add(c.get(array, DATA_AT, "i64"), f.mul(begin, "%size")),
                    f.at("%found", i, "i64"), 8)
        f.give(1)


def _array(c: SampleCode, source: str) -> str:
    """The array that is read; gives 0 where there is none yet."""
    f = c.f
    value = f.variable("ptr", source)
    c.give_if(c.same(source, "null"))
    with f.when(c.is_kind(source, NODE_TYPE)):
        value.set(c.slot(source, Node, "value"))
    c.require_array(value.get())
    return value.get()


def _copied(module: Module) -> None:
    """``copied(places, count, bytes, goal)``: what begins there, one after the other."""
    run = define_run(module)
    parameters = ("ptr", "%places"), ("i64", "%count"), ("i64", "%bytes"), ("ptr", "%goal")
    with module.function("copied", parameters, "i64") as f:
        with f.loop(0, "%count") as i:
            f.run(run, f.at("%goal", f.mul(i, "%bytes"), "i8"), f.read("ptr", f.at("%places", i, "ptr"), 8),
                  "%bytes")
        f.give(0)


@kernels("samples", Effort.FEW)
def entries() -> str:
    """``offsets``, ``places`` and ``copied``."""
    module = Module()
    _offsets(module)
    _places(module, source_of_tensor(module), is_alike(module))
    _copied(module)
    return module.text()


class Samples:
    """Reads tensors, given their class and those of their storages that have no node yet."""

    def __init__(self, tensor: type, waits: type, shared: type) -> None:
        check_array_layout()
        self._python = table_of(
            {NONE: None, FALSE: False, TRUE: True, LIST_TYPE: list, NODE_TYPE: Node, ARRAY_TYPE: np.ndarray,
             TENSOR_TYPE: tensor, STORAGE_TYPE: Storage, WAITING: waits, SHARED: shared},
            {APPEND: "PyList_Append", AS_INTEGER: "PyLong_AsLongLong", EQUAL: "PyObject_RichCompareBool"})
        slots = [slot_of(tensor, name) for name in _SLOTS]
        self.memory = np.array([address_of(self._python), *slots], np.int64)
        self._address = address_of(self.memory)
        found = entries()
        self._offsets, self._places, self._copied = [
            ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(index(found[name]))
            for name, count in (("offsets", 4), ("places", 5), ("copied", 4))]

    def offsets(self, tensors: list[Any]) -> Any:
        """Where all begin that are parts of one tensor, read in one way; None if they are not."""
        found = np.empty(len(tensors), np.int64)
        return found if self._offsets(self._address, id(tensors), len(tensors), address_of(found)) else None

    def places(self, tensors: list[Any], size: int) -> Any:
        """Where values begin in memory that are there, of one shape and dtype, their elements in order and of
        a size; None if they are not.
        """
        found = np.empty(len(tensors), np.int64)
        where = self._address, id(tensors), len(tensors), address_of(found), size
        return found if self._places(*where) else None

    def copy(self, places: Any, rows: Any) -> None:
        """Let rows of an array be what begins there."""
        self._copied(address_of(places), len(places), rows.nbytes // len(places), address_of(rows))
