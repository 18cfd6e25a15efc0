"""Native code that lets leaves have their first gradients, as ``templates.accumulate_all`` does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ....executors.native.llvm.build import Module
from ....executors.native.llvm.compiling.code import kernels
from ....executors.native.llvm.compiling.effort import Effort
from ....executors.native.programs.glances.glance import node_layout_is_known
from ....executors.native.programs.runtime.objects import (
    AN_ARRAY,
    DATA_AT,
    ITEMS_AT,
    SIZE_AT,
    TUPLE_AT,
    TYPE_AT,
    address_of,
    method,
    slot_of,
)
from ....graph.geometry import Geometry
from . import objects
from .code import Python as of
from .code import RecordingCode, Slots, slots
from .record import table

# Goes through leaves and their gradients from one on: which is the first that is not as simple as it thinks.
Accumulator = Callable[[list[Any], int], int]


@cache
def accumulator(reading: type) -> Accumulator | None:
    """What gives leaves that have no gradient theirs; None where objects lie in memory in another way.

    A gradient is a node and its ``reading`` (``autograd/readings.py``).
    """
    if not node_layout_is_known():
        return None
    fields = (*slots(), ("Geometry.is_contiguous", slot_of(Geometry, "is_contiguous")),
              *[(f"Reading.{name}", slot_of(reading, name)) for name in ("geometry", "stored")])
    memory = np.array([address_of(table()), 0], np.int64)
    found: Accumulator = method("accumulate", entries(fields)["accumulate"], AN_ARRAY).of(memory)
    return found


@kernels("accumulating", Effort.FEW)
def entries(fields: Slots) -> str:
    """``accumulate(self, reached, first)``, a method: its memory is the data of the array ``self``."""
    module = Module()
    tensor_of = objects.tensor(module, fields)
    with module.helper("is_absent", [("ptr", "%memory"), ("ptr", "%x"), ("ptr", "%name")], "i64") as f:
        c = RecordingCode(f, fields, 0)
        found = c.call(of.ATTRIBUTE, "ptr %x, ptr %name")
        c.need(found)
        c.tell(of.LET_GO, found)
        f.give(f.emit(f"zext i1 {c.same(found, c.object(of.NONE))} to i64"))
    is_absent = f
    with module.helper("give", [("ptr", "%memory"), ("ptr", "%leaf"), ("ptr", "%grad")], "i64") as f:
        c = RecordingCode(f, fields, 0)

        def refuse_unless(condition: str) -> None:
            with f.otherwise(condition):
                f.give(0)
        refuse_unless(c.is_tensor("%leaf"))
        refuse_unless(c.same(c.field("%leaf", "Handle._requires_grad"), c.object(of.TRUE)))
        refuse_unless(c.same(c.get("%grad", TYPE_AT), c.object(of.TUPLE_TYPE)))
        node, reading = c.get("%grad", TUPLE_AT), c.get("%grad", TUPLE_AT + 8)
        geometry = c.field(reading, "Reading.geometry")
        refuse_unless(c.same(geometry, c.field("%leaf", "Handle._geometry")))
        refuse_unless(c.same(c.field(geometry, "Geometry.is_contiguous"), c.object(of.TRUE)))
        for name in (of.GRAD, of.HOOKS):
            refuse_unless(c.equal(str(f.run(is_absent, "%memory", "%leaf", c.object(name))), 1))
        c.tell(of.HOLD, node)
        made = str(f.run(tensor_of, "%memory", node, geometry, c.field(reading, "Reading.stored")))
        c.need(made)
        failed = c.call(of.SET_ATTRIBUTE, f"ptr %leaf, ptr {c.object(of.GRAD)}, ptr {made}", "i32")
        c.tell(of.LET_GO, made)
        f.give(f.emit(f"zext i1 {c.equal(failed, 0, 'i32')} to i64"))
    give = f
    with module.function("accumulate", [("ptr", "%self"), ("ptr", "%given"), ("i64", "%count")], "ptr") as f:
        memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = RecordingCode(f, fields, memory=memory)
        reached = c.item("%given", 0)
        with f.loop(c.call(of.AS_INTEGER, f"ptr {c.item('%given', 1)}", "i64"),
                    c.get(reached, SIZE_AT, "i64")) as i:
            pair = c.item(c.get(reached, ITEMS_AT), i)
            done = f.run(give, memory, c.get(pair, TUPLE_AT), c.get(pair, TUPLE_AT + 8))
            with f.otherwise(c.equal(str(done), 1)):
                c.forget()
                f.give(c.call(of.NEW_INTEGER, f"i64 {i}"))
        f.give(c.call(of.NEW_INTEGER, f"i64 {c.get(reached, SIZE_AT, 'i64')}"))
    return module.text()
