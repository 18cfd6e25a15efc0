"""Sequences: nodes that are recorded together again and again are made in one native call.

A sequence in memory, in 64-bit words: COUNT of its nodes, FIRST (how many objects there are before them), the
addresses of its tables and of what is Python's; then the tables: STEPS (address of the signature, where its
places begin, how many they are) and PLACES, of each operand among the objects and the nodes made so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .....graph import pending
from .....graph.node import Node, Signature
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernels
from ...llvm.compiling.effort import Effort
from ..runtime.objects import (
    DATA_AT,
    ITEMS_AT,
    ONE_ARGUMENT,
    SIZE_AT,
    TUPLE_AT,
    Method,
    ObjectCode,
    address_of,
    for_ever,
    method,
    table_of,
)
from .glance import node_layout_is_known
from .words import OPERANDS_AT, SIGNATURE_AT, SITE_AT, VALUE_AT

COUNT, FIRST, STEPS, PLACES, PYTHON = range(5)
_HEADER_WORDS, _STEP_WORDS = 5, 3
(NONE, NODE_TYPE, PENDING, HOLD, LET_GO, NEW_LIST, NEW_TUPLE, NEW_OBJECT, SET_SLICE) = range(9)

# Records the nodes, given the objects before them and the site, the last one; the list of the nodes.
Recorder = Callable[[list[Any]], list[Node]]


def recorder(steps: Sequence[tuple[Signature, Sequence[int]]], first: int) -> Recorder | None:
    """What records nodes of these signatures, with operands at these places; the nodes begin at ``first``.

    None where objects do not lie in memory as native code writes them. The signatures must stay alive.
    """
    if not node_layout_is_known():
        return None
    rows, places = [], list[int]()
    for signature, operands in steps:
        rows += [id(signature), len(places), len(operands)]
        places += operands
    memory = np.array([len(steps), first, 0, 0, address_of(_python()), *rows, *places], np.int64)
    base = address_of(memory) + 8 * _HEADER_WORDS
    memory[STEPS], memory[PLACES] = base, base + 8 * len(rows)
    found: Recorder = _record().of(memory)
    return found


@cache
def _record() -> Method:
    return method("record", entries()["record"], ONE_ARGUMENT)


@cache
def _python() -> Any:
    return for_ever(table_of(
        {NONE: None, NODE_TYPE: Node, PENDING: pending.nodes},
        {HOLD: "Py_IncRef", LET_GO: "Py_DecRef", NEW_LIST: "PyList_New", NEW_TUPLE: "PyTuple_New",
         NEW_OBJECT: "PyType_GenericAlloc", SET_SLICE: "PyList_SetSlice"}))


class _Code(ObjectCode):
    """The function that records, with what it reads."""

    def __init__(self, f: Function, memory: str) -> None:
        super().__init__(f, memory, PYTHON)

    def put(self, x: str, pointer: str, at: int) -> None:
        """Let the word that lies ``at`` bytes behind a pointer refer to ``x``."""
        self.tell(HOLD, x)
        self.f.write("ptr", x, self.f.at(pointer, at, "i8"), 8)

    def give_up_without(self, x: str, nodes: str | None = None) -> None:
        """Where Python had no memory for ``x``, its error is raised."""
        with self.f.when(self.f.emit(f"icmp eq ptr {x}, null")):
            if nodes is not None:
                self.tell(LET_GO, nodes)
            self.f.give("null")


@kernels("sequences", Effort.FEW)
def entries() -> str:
    """``record(self, objects)``, a method: the address of a sequence is that of the array ``self``'s data."""
    module = Module()
    with module.function("record", [("ptr", "%self"), ("ptr", "%objects")], "ptr") as f:
        c = _Code(f, f.read("ptr", f.at("%self", DATA_AT, "i8"), 8))
        count, first = c.word(COUNT), c.word(FIRST)
        nodes = c.call(NEW_LIST, f"i64 {count}")
        c.give_up_without(nodes)
        given, made = c.get("%objects", ITEMS_AT), c.get(nodes, ITEMS_AT)
        site = f.read("ptr", f.at(given, first, "ptr"), 8)
        none, kind = c.object(NONE), c.object(NODE_TYPE)
        steps, places = c.word(STEPS, "ptr"), c.word(PLACES, "ptr")
        with f.loop(0, count) as i:
            step = f.at(steps, f.mul(i, _STEP_WORDS), "i64")
            begin, length = f.read("i64", f.at(step, 1, "i64"), 8), f.read("i64", f.at(step, 2, "i64"), 8)
            node = c.call(NEW_OBJECT, f"ptr {kind}, i64 0")
            c.give_up_without(node, nodes)
            f.write("ptr", node, f.at(made, i, "ptr"), 8)
            c.put(f.read("ptr", step, 8), node, SIGNATURE_AT)
            c.put(none, node, VALUE_AT)
            c.put(site, node, SITE_AT)
            operands = c.call(NEW_TUPLE, f"i64 {length}")
            c.give_up_without(operands, nodes)
            with f.loop(0, length) as j:
                place = f.read("i64", f.at(places, f.add(begin, j), "i64"), 8)
                mine = f.compare("sge", place, first)
                among = f.choose(mine, "ptr", made, given)
                at = f.sub(place, f.choose(mine, "i64", first, 0))
                c.put(f.read("ptr", f.at(among, at, "ptr"), 8), f.at(operands, f.mul(j, 8), "i8"), TUPLE_AT)
            f.write("ptr", operands, f.at(node, OPERANDS_AT, "i8"), 8)
        pending = c.object(PENDING)
        end = c.get(pending, SIZE_AT, "i64")
        failed = c.call(SET_SLICE, f"ptr {pending}, i64 {end}, i64 {end}, ptr {nodes}", "i32")
        with f.when(f.emit(f"icmp ne i32 {failed}, 0")):
            c.tell(LET_GO, nodes)
            f.give("null")
        f.give(nodes)
    return module.text()
