"""Glances: graphs whose program runs in one native call from the look on.

Note: glances. A program that looks at a value after every few operators spends its time between the kernels:
what is pending is read, compared with the graph that is known, its operands' arrays are listed, results are
made and handed out. For a graph of one segment a native function does all that (``glancing.py``), from tables
that are made here once. Where anything is not as the tables say, it does nothing, and the graph is computed
as others are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from operator import index
from typing import Any

import numpy as np

from .....config import settings
from .....graph.node import Node, Signature
from ....freed import KEEP
from ..execution.program import Program
from ..execution.segment import Segment
from ..patterns.outline import INNER, LEAF, UNHELD, Outline
from ..runtime import runtime
from ..runtime.arena import arena
from ..runtime.objects import (
    BYTES_AT,
    DTYPE_AT,
    ONE_ARGUMENT,
    REFERENCES_AT,
    SIZE_AT,
    STRIDES_AT,
    TUPLE_AT,
    TYPE_AT,
    Method,
    address_of,
    for_ever,
    method,
    slot_of,
    table_of,
)
from ..runtime.results import numpy_table, row_of
from ..runtime.team import team
from . import glancing
from . import words as at

_NODES = 4096
_NUMBERS: dict[tuple[Any, str], int] = {
    (float, "f"): at.FLOAT, (float, "d"): at.DOUBLE, (float, "e"): at.HALF, (float, "E"): at.BFLOAT,
    (int, "f"): at.FLOAT, (int, "d"): at.DOUBLE, (int, "e"): at.HALF, (int, "E"): at.BFLOAT,
    (int, "l"): at.INTEGER, (int, "i"): at.INT32, (int, "h"): at.INT16, (int, "b"): at.INT8,
    (int, "B"): at.UINT8,
}

# Computes pending nodes, if they are the graph, and removes them: True; None if nothing was done; or a list
# of arrays, if a kernel has failed (Segment.go_on).
Glance = Callable[[list[Node]], Any]
Rows = Sequence[tuple[int, ...]]


def none(pending: list[Node]) -> None:
    """The glance of a graph that has none."""


def glance_at(outline: Outline, program: Program) -> Glance:
    """The glance of a graph that has just been run."""
    segment = program.parts[0]
    tables = tables_of(outline, program)
    if tables is None or not isinstance(segment, Segment):
        return none
    glance = entry("glance").of(laid_out(tables, segment, len(outline.forms)))
    return helped(glance, segment) if segment.is_shared else glance


class Ahead:
    """A known graph that can be begun, to run while others are recorded (Note: driving ahead)."""

    __slots__ = ("_memory", "_begin", "_finish", "_segment")

    def __init__(self, memory: Any, segment: Segment) -> None:
        self._memory = memory
        self._begin, self._finish = entry("begin").of(memory), entry("finish").of(memory)
        self._segment = segment

    def begin(self, pending: list[Node]) -> bool:
        """Begin to compute pending nodes, if they are the graph; they stay pending."""
        if self._begin(pending) is not True:
            return False
        segment, crew = self._segment, team()
        segment.header[runtime.TEAM] = crew.address
        crew.launch(segment.address, settings.threads - 1, segment.scratch)
        return True

    def finish(self, pending: list[Node]) -> list[Any] | None:
        """Give the nodes, the first ones pending, their values; a list of arrays if a kernel has failed."""
        if not self._memory[at.LIVE]:   # an interrupt fell between
            return None
        header, address, crew = self._segment.header, self._segment.address, team()
        crew.join(address)
        header[runtime.TEAM] = 0
        if not header[runtime.COMPLETED]:   # likewise
            crew.run(address)
        found = self._finish(pending)
        return found if found.__class__ is list else None


def ahead_of(outline: Outline, program: Program) -> Ahead | None:
    """How to begin a graph that has been run; None if it is computed in one go alone."""
    segment = program.parts[0]
    tables = tables_of(outline, program)
    if tables is None or not isinstance(segment, Segment):
        return None
    return Ahead(laid_out(tables, segment, len(outline.forms)), segment)


def tables_of(outline: Outline, program: Program) -> list[Rows] | None:
    """The rows of a glance's tables; None of what is no short list of one segment."""
    segment = program.parts[0]
    if not (KEEP and isinstance(segment, Segment) and len(program.parts) == 1
            and len(outline.forms) <= _NODES) or not node_layout_is_known():
        return None
    return _tables(outline, program, segment)


def _tables(outline: Outline, program: Program, segment: Segment) -> list[Rows] | None:
    """The tables' rows; None where a graph needs more than they can say."""
    form, last = segment.form, len(outline.forms) - 1
    leaf_of = {(k, j): i for k, own in enumerate(outline.sources) for j, (kind, i) in enumerate(own)
               if kind == LEAF}
    numbers = _number_rows(program, segment, last)
    fresh = [*map(row_of, *segment.fresh)]
    if form.tuple_slots or numbers is None or any(count < 0 for count in form.expected):
        return None
    nodes = [(id(s), count - UNHELD + 2, len(s.geometries))
             for s, count in zip(program.signatures, outline.counts)]
    first, again = _places(outline)
    leaves = [(leaf_of[place],) for place in form.leaves]
    owned = [(leaf_of[k, j], count - UNHELD) for (k, j, _), count in zip(form.owned, form.expected)]
    given = [(last - k, slot) for k, slot in form.node_slots]
    reused = [(len(leaves) + x.made, x.made, leaf_of[form.leaves[x.leaf]], x.uses) for x in segment.reused]
    return [nodes[::-1], first, again, numbers, leaves, fresh, owned, given, reused]


def _places(outline: Outline) -> tuple[Rows, Rows]:
    """Where each leaf is first met, and where a leaf, or another node, is to be found again."""
    first: dict[int, tuple[int, ...]] = {}
    again: list[tuple[int, ...]] = []
    count = len(outline.forms)
    for k, own in enumerate(outline.sources):
        for j, (kind, i) in enumerate(own):
            place = count - 1 - k, TUPLE_AT + 8 * j
            if kind == INNER:
                again.append((*place, count - 1 - i))
            elif kind == LEAF and i in first:
                again.append((*place, count + i))
            elif kind == LEAF:
                first[i] = place
    return [first[i] for i in range(len(first))], again


def _number_rows(program: Program, segment: Segment, last: int) -> Rows | None:
    """Where numbers are written to; None where one is of a kind that is not written natively."""
    rows: list[tuple[int, ...]] = []
    for dtype, places in segment.form.number_words:
        for word, k, j in places:
            kind = _NUMBERS.get((program.signatures[k].geometries[j], dtype.char))
            if kind is None:
                return None
            rows.append((last - k, TUPLE_AT + 8 * j, kind, segment.address + word * dtype.itemsize))
    return rows


def laid_out(tables: list[Rows], segment: Segment, nodes: int) -> Any:
    """Tables as they lie in memory."""
    sizes = [len(rows) * width for rows, width in zip(tables, at.WIDTHS)]
    leaves = len(tables[at.FIRST])
    room = 1 << (2 * leaves).bit_length()
    memory = np.zeros(at.HEADER_WORDS + sum(sizes) + nodes + 2 * leaves + room, np.int64)
    base = address_of(memory)
    first = at.HEADER_WORDS
    for table, (rows, size) in enumerate(zip(tables, sizes)):
        memory[first:first + size] = [x for row in rows for x in row]
        memory[2 * table:2 * table + 2] = base + 8 * first, len(rows)
        first += size
    memory[at.PROGRAM:at.ROOM + 1] = (
        segment.address, segment.form.slots, arena.cell_address, base + 8 * first, address_of(python_table()),
        not segment.is_short, base + 8 * (first + nodes + 2 * leaves), room)
    return memory


def helped(glance: Glance, segment: Segment) -> Glance:
    """The same for a longer program: the helpers wake up while the graph is compared."""
    header, address = segment.header, segment.address

    def with_helpers(pending: list[Node]) -> Any:
        if settings.threads == 1:
            return glance(pending)
        crew = team()
        header[runtime.TEAM] = crew.address
        crew.open(address, settings.threads - 1, segment.scratch)
        try:
            return glance(pending)
        finally:
            crew.close()
            header[runtime.TEAM] = 0

    return with_helpers


def memory_of(glance: Glance) -> Any:
    """The tables of a glance that is nothing but native code; None of another one."""
    return getattr(glance, "__self__", None) if glance.__class__ is _BUILT_IN else None


_BUILT_IN = type(len)


# --- Python's and NumPy's side -------------------------------------------------------------------------


@cache
def entry(name: str) -> Method:
    """A function of ``glancing``, which takes one object."""
    return method(name, glancing.entries()[name], ONE_ARGUMENT)


@cache
def python_table() -> Any:
    """The table of functions and objects that native code uses."""
    table = for_ever(table_of(
        {at.NONE: None, at.TRUE: True, at.EMPTY: (), at.NODE_TYPE: Node},
        {at.HOLD: "Py_IncRef", at.LET_GO: "Py_DecRef", at.NEW_LIST: "PyList_New",
         at.SLICE: "PyList_GetSlice", at.SET_SLICE: "PyList_SetSlice", at.AS_DOUBLE: "PyFloat_AsDouble",
         at.AS_INTEGER: "PyLong_AsLongLong", at.OCCURRED: "PyErr_Occurred", at.FORGET: "PyErr_Clear",
         at.RELEASE: "PyEval_SaveThread", at.TAKE: "PyEval_RestoreThread",
         at.NEW_INTEGER: "PyLong_FromLongLong"}))
    table[at.NUMPY] = numpy_table()
    table[at.SETTLED_AT] = slot_of(Signature, "settled")
    table[at.START] = index(runtime.entries()["start"])
    table[at.BIND] = index(runtime.entries()["bind"])
    return table


@cache
def node_layout_is_known() -> bool:
    """Whether nodes, tuples and lists lie in memory as native code reads them."""
    try:
        return _is_as_read()
    except (ImportError, AttributeError):
        return False


def _is_as_read() -> bool:
    operands = (object(), object(), object())
    value, read = object(), ctypes.c_int64.from_address
    site = object()
    node = Node(None, operands, site)   # type: ignore[arg-type]
    held = [node, node]
    references = ctypes.c_int32.from_address(id(node) + REFERENCES_AT).value
    node.value = value
    array, text = np.arange(2), b"12345678"
    return references == 3 and numpy_table() != 0 \
        and [read(id(node) + TYPE_AT).value, read(id(node) + at.SIGNATURE_AT).value,
             *[read(id(node) + slot).value for slot in (at.OPERANDS_AT, at.SITE_AT, at.VALUE_AT)]] \
        == [id(Node), id(None), id(operands), id(site), id(value)] \
        and [slot_of(Node, name) for name in ("signature", "operands", "site", "value")] \
        == [at.SIGNATURE_AT, at.OPERANDS_AT, at.SITE_AT, at.VALUE_AT] \
        and [read(id(operands) + TUPLE_AT + 8 * i).value for i in range(3)] == [*map(id, operands)] \
        and read(id(operands) + SIZE_AT).value == 3 and read(id(held) + SIZE_AT).value == 2 \
        and [read(id(array) + DTYPE_AT).value, read(read(id(array) + STRIDES_AT).value).value] \
        == [id(array.dtype), array.itemsize] and ctypes.string_at(id(text) + BYTES_AT, 8) == text

