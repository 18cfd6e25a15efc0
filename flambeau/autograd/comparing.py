"""Native code that compares a tape with a route's (Note: routes), as ``Route._compare`` does.

A tape in memory, in 64-bit words: the address of what is Python's, how many GradFns and leaves there are
(FOUND), how many tensors are kept (KEPT), then address and number of rows of each table:

    STOPS     which of those found it is, addresses of its class, plan and numbers (0: it has none), where its
              rows of the next two tables end
    EDGES     number of the edge, of the output, and which of those found it leads to (-1: nowhere)
    SAVED     place in what is saved, addresses of the tensor's geometry (0: a storage is saved) and the
              storage's

Where anything is unusual in the least, a tape differs, and is walked as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..executors.native.llvm.build import Function, Module
from ..executors.native.llvm.compiling.code import kernels
from ..executors.native.llvm.compiling.effort import Effort
from ..executors.native.programs.runtime.objects import (
    DATA_AT,
    ITEMS_AT,
    ONE_ARGUMENT,
    SIZE_AT,
    TUPLE_AT,
    TYPE_AT,
    Method,
    ObjectCode,
    address_of,
    for_ever,
    method,
    slot_of,
    table_of,
)
from ..graph.storage import Derived, Storage
from ..tensor.aliasing.turned import Turned
from ..tensor.tape import GradFn

PYTHON, FOUND, KEPT = range(3)
STOPS, EDGES, SAVED = 3, 5, 7
_HEADER_WORDS = 9
_STOP_WORDS, _EDGE_WORDS, _SAVED_WORDS = 6, 3, 3
(NONE, FALSE, TUPLE_TYPE, STORAGE_TYPE, TENSOR_STORAGE, TENSOR_COUNTER, TENSOR_GEOMETRY, VERSION, HOLD,
 LET_GO, NEW_LIST, ATTRIBUTE, EQUAL, AS_INTEGER, FORGET, TURNED_TYPE) = range(16)
_EQUAL = 2      # of Python's comparisons
_NAMES = {TENSOR_STORAGE: "_storage", TENSOR_COUNTER: "_counter", TENSOR_GEOMETRY: "_geometry",
          VERSION: "version"}

# Compares the tape that begins at a GradFn: GradFns and leaves as they are found, and nodes that are kept.
Comparer = Callable[[GradFn], list[list[Any]] | None]


def comparer(stops: Sequence[Any], found: int) -> Comparer | None:
    """What compares tapes with these stops (see ``Route``), which must stay alive; ``found``: what they find.

    None where numbers are compared by their text.
    """
    rows, edges, saved = list[int](), list[int](), list[int]()
    for at, kind, plan, numbers, own_edges, kept in stops:
        if isinstance(numbers, str):
            return None
        for edge in own_edges:
            edges += edge
        for place, geometry, stored in kept:
            saved += [place, 0 if geometry is None else id(geometry), id(stored)]
        rows += [at, id(kind), id(plan), 0 if numbers is None else id(numbers), len(edges) // _EDGE_WORDS,
                 len(saved) // _SAVED_WORDS]
    memory = np.array([address_of(_python()), found, len(saved) // _SAVED_WORDS, *[0] * 6,
                       *rows, *edges, *saved], np.int64)
    first = address_of(memory) + 8 * _HEADER_WORDS
    for table, words, width in ((STOPS, rows, _STOP_WORDS), (EDGES, edges, _EDGE_WORDS),
                                (SAVED, saved, _SAVED_WORDS)):
        memory[table:table + 2] = first, len(words) // width
        first += 8 * len(words)
    made: Comparer = _compare().of(memory)
    return made


@cache
def _compare() -> Method:
    return method("compare", entries()["compare"], ONE_ARGUMENT)


@cache
def _python() -> Any:
    return for_ever(table_of(
        {NONE: None, FALSE: False, TUPLE_TYPE: tuple, STORAGE_TYPE: Storage, TURNED_TYPE: Turned, **_NAMES},
        {HOLD: "Py_IncRef", LET_GO: "Py_DecRef", NEW_LIST: "PyList_New", ATTRIBUTE: "PyObject_GetAttr",
         EQUAL: "PyObject_RichCompareBool", AS_INTEGER: "PyLong_AsLongLong", FORGET: "PyErr_Clear"}))


class _Code(ObjectCode):
    """A function that is given a tape; it gives 0 where that differs."""

    def __init__(self, f: Function) -> None:
        super().__init__(f, "%tape", PYTHON)

    def refuse_unless(self, condition: str) -> None:
        with self.f.otherwise(condition):
            self.f.give(0)

    def refuse_if(self, condition: str) -> None:
        with self.f.when(condition):
            self.f.give(0)

    def row(self, table: int, i: str, words: int) -> str:
        return self.f.at(self.word(table, "ptr"), self.f.mul(i, words), "i64")

    def integer(self, x: str) -> str:
        return self.call(AS_INTEGER, f"ptr {x}", "i64")

    def slot(self, x: str, kind: type, name: str) -> str:
        """What a slot of an object holds; one that holds nothing is as good as a different one."""
        found = self.get(x, slot_of(kind, name))
        self.refuse_if(self.same(found, "null"))
        return found

    def item(self, pair: str, i: str) -> str:
        """An element of a tuple that has as many."""
        self.refuse_unless(self.same(self.get(pair, TYPE_AT), self.object(TUPLE_TYPE)))
        self.refuse_unless(self.f.compare("slt", i, self.get(pair, SIZE_AT, "i64")))
        return self.get(self.f.at(pair, i, "ptr"), TUPLE_AT)

    def attribute(self, x: str, name: int) -> str:
        """An attribute, to which others refer too."""
        found = self.call(ATTRIBUTE, f"ptr {x}, ptr {self.object(name)}")
        self.refuse_if(self.same(found, "null"))
        self.tell(LET_GO, found)
        return found

    def append(self, x: str, items: str, at: str) -> None:
        self.tell(HOLD, x)
        self.f.write("ptr", x, self.f.at(items, at, "ptr"), 8)


def _edge(module: Module) -> Function:
    """Whether an edge leads where it led: how many are found then; 0 if not."""
    with module.helper("edge", [("ptr", "%tape"), ("ptr", "%row"), ("ptr", "%own"), ("ptr", "%found"),
                                ("i64", "%count")], "i64") as f:
        c = _Code(f)
        target = f.variable("ptr", c.item("%own", c.get("%row", 0, "i64")))
        output, where = c.get("%row", 8, "i64"), c.get("%row", 16, "i64")
        with f.when(f.compare("ne", output, 0)):
            pair = target.get()
            c.refuse_unless(c.equal(c.integer(c.item(pair, "1")), output))
            target.set(c.item(pair, "0"))
        with f.when(f.compare("slt", where, 0)):
            c.refuse_unless(c.same(target.get(), c.object(NONE)))
            f.give("%count")
        with f.when(f.compare("eq", where, "%count")):
            c.append(target.get(), "%found", where)
            f.give(f.add("%count", 1))
        c.refuse_unless(c.same(target.get(), f.read("ptr", f.at("%found", where, "ptr"), 8)))
        f.give("%count")
    return f


def _keep(module: Module) -> Function:
    """1 if what a GradFn saved is as it was then, and its node has become the next one that is kept."""
    with module.helper("keep", [("ptr", "%tape"), ("ptr", "%row"), ("ptr", "%saved"), ("ptr", "%kept"),
                                ("i64", "%at")], "i64") as f:
        c = _Code(f)
        place, geometry = c.get("%row", 0, "i64"), c.get("%row", 8)
        found = c.item("%saved", place)
        storage, counted = f.variable("ptr", found), f.variable("ptr", found)
        with f.otherwise(c.same(geometry, "null")):
            storage.set(c.attribute(found, TENSOR_STORAGE))
            counter = c.attribute(found, TENSOR_COUNTER)
            counted.set(f.choose(c.same(counter, c.object(NONE)), "ptr", storage.get(), counter))
            c.refuse_unless(c.same(c.attribute(found, TENSOR_GEOMETRY), geometry))
        own = f.variable("ptr", storage.get())
        with f.when(c.same(c.get(storage.get(), TYPE_AT), c.object(TURNED_TYPE))):
            own.set(c.slot(storage.get(), Derived, "source"))    # Note: turned storages
            c.refuse_unless(c.same(c.get(own.get(), TYPE_AT), c.object(STORAGE_TYPE)))
            read = c.slot(storage.get(), Derived, "read")
            c.refuse_unless(c.same(c.slot(own.get(), Storage, "node"), read))
        c.refuse_unless(c.same(c.get(own.get(), TYPE_AT), c.object(STORAGE_TYPE)))
        version = c.integer(c.attribute(counted.get(), VERSION))
        c.refuse_unless(c.equal(version, c.integer(c.item("%saved", f.add(place, 1)))))
        c.refuse_unless(c.same(c.slot(own.get(), Storage, "geometry"), c.get("%row", 16)))
        c.refuse_unless(c.same(c.slot(own.get(), Storage, "exposed"), c.object(FALSE)))
        c.append(c.slot(storage.get(), Storage, "node"), "%kept", "%at")
        f.give(1)
    return f


def _stop(module: Module) -> Function:
    """The number of a GradFn that is as it was then, and came earlier than another one; else 0."""
    with module.helper("stop", [("ptr", "%tape"), ("ptr", "%row"), ("ptr", "%fn"), ("i64", "%last")],
                       "i64") as f:
        c = _Code(f)
        c.refuse_unless(c.same(c.get("%fn", TYPE_AT), c.get("%row", 8)))
        c.refuse_unless(c.same(c.slot("%fn", GradFn, "plan"), c.get("%row", 16)))
        c.refuse_unless(c.same(c.slot("%fn", GradFn, "hooks"), c.object(NONE)))
        sequence = c.integer(c.slot("%fn", GradFn, "sequence"))
        c.refuse_unless(f.compare("slt", sequence, "%last"))
        numbers, expected = c.slot("%fn", GradFn, "numbers"), c.get("%row", 24)
        some = f.emit(f"icmp ne ptr {expected}, null")
        with f.otherwise(some):
            c.refuse_unless(c.same(numbers, c.object(NONE)))
        with f.when(some):
            answer = c.call(EQUAL, f"ptr {numbers}, ptr {expected}, i32 {_EQUAL}", "i32")
            c.refuse_unless(c.equal(answer, 1, "i32"))
        f.give(f.add(sequence, 1))
    return f


def _walk(module: Module) -> Function:
    """1 if a tape is as it was then."""
    edge, keep, stop = _edge(module), _keep(module), _stop(module)
    with module.helper("walk", [("ptr", "%tape"), ("ptr", "%fn"), ("ptr", "%found"), ("ptr", "%kept")],
                       "i64") as f:
        c = _Code(f)
        c.append("%fn", "%found", "0")
        count, last = f.variable("i64", 1), f.variable("i64", (1 << 63) - 1)
        edges, saved = f.variable("i64", 0), f.variable("i64", 0)
        with f.loop(0, c.word(STOPS + 1)) as i:
            row = c.row(STOPS, i, _STOP_WORDS)
            fn = f.read("ptr", f.at("%found", c.get(row, 0, "i64"), "ptr"), 8)
            number = str(f.run(stop, "%tape", row, fn, last.get()))
            c.refuse_if(c.equal(number, 0))
            last.set(f.sub(number, 1))
            own = c.slot(fn, GradFn, "edges")
            with f.loop(edges.get(), c.get(row, 32, "i64")) as k:
                now = str(f.run(edge, "%tape", c.row(EDGES, k, _EDGE_WORDS), own, "%found", count.get()))
                c.refuse_if(c.equal(now, 0))
                count.set(now)
            edges.set(c.get(row, 32, "i64"))
            values = c.slot(fn, GradFn, "saved")
            c.refuse_if(c.same(values, c.object(NONE)))
            with f.loop(saved.get(), c.get(row, 40, "i64")) as k:
                kept = str(f.run(keep, "%tape", c.row(SAVED, k, _SAVED_WORDS), values, "%kept", k))
                c.refuse_unless(c.equal(kept, 1))
            saved.set(c.get(row, 40, "i64"))
        f.give(1)
    return f


@kernels("comparing", Effort.FEW)
def entries() -> str:
    """``compare(self, fn)``, a method: the address of a tape is that of the array ``self``'s data."""
    module = Module()
    walk = _walk(module)
    with module.function("compare", [("ptr", "%self"), ("ptr", "%fn")], "ptr") as f:
        c = ObjectCode(f, f.read("ptr", f.at("%self", DATA_AT, "i8"), 8), PYTHON)
        both = c.call(NEW_LIST, "i64 2")
        with f.when(c.same(both, "null")):
            f.give("null")
        for k, size in enumerate((FOUND, KEPT)):
            made = c.call(NEW_LIST, f"i64 {c.word(size)}")
            with f.when(c.same(made, "null")):
                c.tell(LET_GO, both)
                f.give("null")
            f.write("ptr", made, f.at(c.get(both, ITEMS_AT), k, "ptr"), 8)
        lists = [f.read("ptr", f.at(c.get(both, ITEMS_AT), k, "ptr"), 8) for k in range(2)]
        found, kept = [c.get(x, ITEMS_AT) for x in lists]
        same = str(f.run(walk, c.memory, "%fn", found, kept))
        with f.otherwise(c.equal(same, 1)):
            f.effect(f"call void {c.object(FORGET)}()")
            c.tell(LET_GO, both)
            c.tell(HOLD, c.object(NONE))
            f.give(c.object(NONE))
        f.give(both)
    return module.text()
