"""How many bytes pending nodes promise, counted by native code.

A long graph is counted in each of its rounds (Note: the pending budget): in Python that takes longer than to
compare it with the graph that is known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from .....graph.node import Node, Signature
from ...llvm.build import Module
from ...llvm.compiling.code import kernels
from ...llvm.compiling.effort import Effort
from ..runtime.objects import (
    DATA_AT,
    ITEMS_AT,
    ONE_ARGUMENT,
    SIZE_AT,
    ObjectCode,
    address_of,
    for_ever,
    method,
    slot_of,
    table_of,
)
from .glance import node_layout_is_known
from .words import SIGNATURE_AT

NONE, AS_INTEGER, NEW_INTEGER = range(3)
# Gives the bytes that nodes promise.
Counter = Callable[[list[Node]], int]


@cache
def counter() -> Counter | None:
    """What counts the bytes of pending nodes; None where nodes lie in memory in another way."""
    if not node_layout_is_known():
        return None
    python = for_ever(table_of({NONE: None}, {AS_INTEGER: "PyLong_AsLongLong",
                                              NEW_INTEGER: "PyLong_FromLongLong"}))
    code = entries(slot_of(Signature, "nbytes"))["promised"]
    found: Counter = method("promised", code, ONE_ARGUMENT).of(np.array([address_of(python)], np.int64))
    return found


@kernels("promises", Effort.FEW)
def entries(nbytes_at: int) -> str:
    """``promised(self, nodes)``, a method: the sum of what the signatures of nodes in a list say."""
    module = Module()
    with module.function("promised", [("ptr", "%self"), ("ptr", "%nodes")], "ptr") as f:
        c = ObjectCode(f, f.read("ptr", f.at("%self", DATA_AT, "i8"), 8), 0)
        total, items = f.variable("i64", 0), c.get("%nodes", ITEMS_AT)
        with f.loop(0, c.get("%nodes", SIZE_AT, "i64")) as i:
            signature = c.get(f.read("ptr", f.at(items, i, "ptr"), 8), SIGNATURE_AT)
            with f.otherwise(c.same(signature, c.object(NONE))):
                promised = c.call(AS_INTEGER, f"ptr {c.get(signature, nbytes_at)}", "i64")
                total.set(f.add(total.get(), promised))
        f.give(c.call(NEW_INTEGER, f"i64 {total.get()}"))
    return module.text()
