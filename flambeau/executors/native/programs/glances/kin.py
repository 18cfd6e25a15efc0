"""Kin: graphs that differ from one that is known in their shapes alone, run in one native call as well.

Note: kin. Where graphs come in ever new shapes, a glance knows none of them again, and to read their numbers,
to play the tape of their joint formula and to write what follows into a program (Note: joint formulas) takes
longer in Python than most of their kernels. So a joint formula that held again and again gets a program of
its own, with a glance whose tables are not of certain shapes: native code (``kinship.py``) reads the numbers
of what is pending, plays the tape on them, and writes into the program, and into the tables, what is
different; then the glance does the rest, which compares everything that does not depend on shapes.

What is in the arena lies where the largest so far had room. A program that shapes make long calls helpers.
Shapes that come again and again get a program of their own, once to make it costs no more than what their
numbers cost: a glance that knows them need not read these.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .....config import settings
from .....graph.geometry import Family as GeometryFamily
from .....graph.geometry import Geometry
from .....graph.node import Node, Signature
from ..execution.joint import Joint
from ..execution.program import Program
from ..execution.segment import SHARED, Segment, scratch_of
from ..patterns.layout import Layout
from ..patterns.outline import LEAF, Outline
from ..patterns.varying import may_be_any, varies
from ..runtime import runtime
from ..runtime.arena import arena
from ..runtime.new_arrays import ROW_WORDS
from ..runtime.objects import (
    ONE_ARGUMENT,
    TUPLE_AT,
    Method,
    address_of,
    for_ever,
    method,
    slot_of,
    table_of,
)
from . import kin_words as at
from . import words as glance_words
from .glance import Ahead, Rows, entry, helped, laid_out, tables_of
from .kinship import Slots, entries
from .playing import CALLED
from .tapes import Played, Unplayable

_MORE = 8       # room is made for a value that is larger by such a part
_COMINGS = 1 << 9   # shapes of which it is known how often they came
# In modelled nanoseconds: a program of one's own and each of its nodes; a call and another step of a tape.
_OWN, _OWN_NODE, _CALL, _STEP = 100e3, 2e3, 700.0, 50.0
# What functions of numbers raise where these do not suit them; anything else is a signal's, such as Ctrl-C.
_ERRORS = ArithmeticError, AssertionError, LookupError, TypeError, ValueError


class Kin:
    """A joint formula with a program of its own."""

    def __init__(self, outline: Outline, joint: Joint, program: Program, numbers: Sequence[int],
                 tables: list[Rows], moves: bool) -> None:
        segment, = program.parts
        assert isinstance(segment, Segment)
        self.program, self._segment, self._joint = program, segment, joint
        self._glance_memory = laid_out(tables, segment, len(outline.forms))
        self._glance = entry("glance").of(self._glance_memory)
        self._helped = helped(self._glance, segment)
        self._ahead: Ahead | None = None
        self._layout = joint.layout(numbers)
        wanted = joint.wanted
        played = Played(joint.tape, (*wanted,))
        self._sizes = [played.place_of(x) for x in wanted.sizes]
        self._scratch = played.place_of(wanted.scratch)
        self._tables = _Tables(outline, joint, program, self._glance_memory, moves, played)
        self.memory = self._tables.laid_out(segment, self._sizes, self._scratch)
        self._fit = fit_of().of(self.memory)
        self.moves = moves
        self._bind()

    @property
    def address(self) -> int:
        return address_of(self.memory)

    @property
    def number(self) -> int:
        """What it is found by: of the forms of the nodes."""
        return self._tables.number

    @property
    def forms(self) -> tuple[int, ...]:
        """The forms of the nodes, in the order of recording."""
        return tuple([signature.form for signature in reversed(self._tables.signatures)])

    @property
    def ahead(self) -> Ahead:
        """How to begin what fits (Note: head starts)."""
        if self._ahead is None:
            self._ahead = Ahead(self._glance_memory, self._segment)
        return self._ahead

    @property
    def nanoseconds(self) -> float:
        """The modelled time of what fits."""
        return float(self._tables.registers.view(np.float64)[int(self.memory[at.NANOSECONDS]) // 8])

    def fits(self, pending: Sequence[Node]) -> bool:
        """Whether pending nodes are kin; then the program and the glance are those of their shapes."""
        said = self._fit(pending)
        if said == at.WAITS:
            self._make_room()
            said = self._fit(pending)
        return bool(said in (at.READY, at.SHARED))

    def go(self, pending: list[Node], said: int) -> Any:
        """Compute pending nodes, of which native code said this: what a glance says."""
        if said == at.WAITS:
            self._make_room()
            said = self._fit(pending)
        if said == at.READY:
            return self._glance(pending)
        return self._helped(pending) if said == at.SHARED else None

    def was_used(self) -> bool:
        """Whether native code found it since this was last asked."""
        used = bool(self.memory[at.USED])
        self.memory[at.USED] = 0
        return used

    def become(self, signatures: Sequence[Signature]) -> Program:
        """The program, in which a kernel has failed for these shapes."""
        self.program.signatures = signatures
        self.program.offsets, self.program.size = self._layout.offsets, self._layout.size
        return self.program

    def _make_room(self) -> None:
        """Make room for the values of the shapes that were read last."""
        registers = self._tables.registers
        needed = registers[np.array(self._sizes, np.intp) // 8].tolist()
        sizes = [new + new // _MORE if new > old else old for old, new in zip(self._layout.sizes, needed)]
        if sizes != list(self._layout.sizes):
            self._layout = Layout(self._joint.arrangement.places, sizes)
        self._segment.scratch = max(self._segment.scratch, int(registers[self._scratch // 8]))
        self._bind()

    def _bind(self) -> None:
        """Write where values lie in the arena."""
        segment, layout = self._segment, self._layout
        form, block = segment.form, arena.reserve(layout.size)
        offsets = layout.words(form) + block.address
        segment.memory[form.arena_words] = offsets + self._joint.shifts
        segment.header[runtime.BOUND] = block.address
        segment.header[runtime.SCRATCH], room = scratch_of(segment.scratch)
        self._tables.make_room(offsets[self._joint.rows], layout.sizes, room)


def kin_of(outline: Outline, joint: Joint, signatures: Sequence[Signature], numbers: Sequence[int],
           moves: bool) -> Kin | None:
    """The kin of a joint formula that holds for shapes; None where it has what native code does not."""
    program = joint.program(signatures, numbers)
    if program is None or not isinstance(program.parts[0], Segment):
        return None
    program.parts[0].reused = []
    tables = tables_of(outline, program)
    if tables is None:
        return None
    try:
        return Kin(outline, joint, program, numbers, tables, moves)
    except Unplayable:
        return None


class _Tables:
    """The tables of kin."""

    def __init__(self, outline: Outline, joint: Joint, program: Program, glance_memory: Any, moves: bool,
                 played: Played) -> None:
        self._outline, self._joint, self._played = outline, joint, played
        self.signatures, self._moves = program.signatures, moves
        self._glance = glance_memory
        self._last = len(outline.forms) - 1
        self._kept: list[Any] = [played.kept]
        sketch = joint.sketch
        self._fixed = {*sketch.steady, *joint.constant}
        pairs = [*joint.alike] if moves else [*joint.alike, *sketch.again]
        if moves and joint.alike:
            raise Unplayable
        read = [*sketch.varied, *[k for k, _ in sketch.again]] if moves else sketch.varied
        self._read_members = sorted({*read} - self._fixed)
        self._pairs = [(self._last - a, self._last - b) for a, b in pairs]
        if moves and any(kind == LEAF for k, own in enumerate(outline.sources)
                         if k not in self._fixed and k not in self._read_members for kind, _ in own):
            raise Unplayable
        self._fields = dict(_slots())

    @property
    def number(self) -> int:
        number = 0
        for signature in reversed(self.signatures):
            mixed = (number + id(signature.form)) * glance_words.MIXER & (1 << 64) - 1
            number = mixed ^ (mixed >> 32)
        return number

    def laid_out(self, segment: Segment, sizes: list[int], scratch: int) -> Any:
        """All in memory."""
        joint, played, wanted = self._joint, self._played, self._joint.wanted
        base = segment.address
        words = [(played.place_of(x), base + 8 * int(place)) for place, x in zip(joint.places, wanted.words)]
        arena_words = segment.form.arena_words
        moved = [(played.place_of(x), base + 8 * int(arena_words[row]), 0)
                 for row, x in zip(joint.rows, wanted.moved)]
        fresh = int(self._glance[2 * glance_words.FRESH])
        counts = [(played.place_of(n), dtype.itemsize, fresh + 8 * ROW_WORDS * i)
                  for i, (n, dtype) in enumerate(zip(wanted.counts, segment.fresh[1]))]
        time = played.real_of(wanted.nanoseconds)
        self._shift_words()
        reads, said = self._reads(), self._said()
        self.registers, steps = played.memory()
        rows: dict[int, Any] = {
            at.STEPS: steps, at.FORMS: self._forms(), at.PAIRS: self._pairs, at.SAID: said, at.READS: reads,
            at.WORDS: words, at.MOVED: moved, at.COUNTS: counts,
            at.SIZES: [(register, 0) for register in (*sizes, scratch)]}
        memory: Any = np.zeros(at.HEADER_WORDS, np.int64)
        self._in_memory = {which: np.asarray(own, np.int64).reshape(len(own), at.WIDTHS[which])
                           for which, own in rows.items()}
        for which, own in self._in_memory.items():
            memory[2 * which:2 * which + 2] = address_of(own), len(own)
        self._found: Any = np.zeros(self._last + 1, np.int64)
        self._comings: Any = np.zeros(2 * _COMINGS, np.int64)
        memory[at.PYTHON:at.USED] = (
            address_of(_python()), 0, address_of(self._glance), address_of(self._found),
            address_of(self.registers), joint.sketch.threads, base, arena.cell_address, time,
            np.array([SHARED]).view(np.int64)[0], len(joint.given), address_of(self._comings), _COMINGS,
            self._enough(steps))
        return memory

    def _enough(self, steps: Sequence[Sequence[int]]) -> int:
        """How often shapes come in vain before they get a program of their own."""
        calls = sum([step[0] == CALLED for step in steps])
        return int((_OWN + _OWN_NODE * self._last) / (_CALL * calls + _STEP * len(steps) + 1)) + 1

    def make_room(self, offsets: Any, sizes: Sequence[int], scratch: int) -> None:
        """Say where values lie that moved, and how much room there is."""
        self._in_memory[at.MOVED][:, 2] = offsets
        self._in_memory[at.SIZES][:, 1] = [*sizes, scratch]

    def _forms(self) -> list[tuple[int, int]]:
        nodes = int(self._glance[2 * glance_words.NODES])
        width = 8 * glance_words.WIDTHS[glance_words.NODES]
        return [(0 if self._last - i in self._fixed else id(self.signatures[self._last - i].form),
                 nodes + width * i) for i in range(self._last + 1)]

    def _shift_words(self) -> None:
        """Room for how far operands move, which the glance asks."""
        starts, count = [], 0
        for own in reversed(self._outline.sources):
            starts.append(count)
            count += len(own)
        self._shifts: Any = np.zeros(2 * count + 1, np.int64)
        self._starts: Any = address_of(self._shifts) + 16 * np.array(starts, np.int64)
        self._glance[glance_words.STARTS] = address_of(self._starts)

    def _said(self) -> list[tuple[int, int, int, int]]:
        found = []
        for k in self._read_members:
            s, node = self.signatures[k], self._last - k
            attributes, compute = self._fields["Signature.attributes"], self._fields["Signature.compute"]
            self._kept += s.attributes, s.compute
            found.append((node, compute, at.WHOLE_FIELD, id(s.compute)))
            if not any(map(varies, s.attributes)):
                found.append((node, attributes, at.WHOLE_FIELD, id(s.attributes)))
                continue
            found.append((node, attributes, at.LENGTH, len(s.attributes)))
            found += [(node, attributes, TUPLE_AT + 8 * j, id(x)) for j, x in enumerate(s.attributes)
                      if not varies(x)]
        return found

    def _reads(self) -> Any:
        """Rows of what is read, each with the address of what it says of integers."""
        sketch, rows, self._integers = self._joint.sketch, list[list[int]](), list[Any]()
        first: dict[int, int] = {}      # of each of a sketch's geometries, the row that reads it
        self._known: set[int] = set()   # numbers that were read
        for k in self._read_members:
            which = iter(range(sketch.at[k], len(sketch.which)))
            for field, j, g in _varying(self.signatures[k]):
                kind = sketch.which[next(which)]
                row = self._row(k, field, j, g, sketch.classes_of(kind))
                row[at.AGAIN] = first.setdefault(kind, len(rows)) + 1 if g.__class__ is Geometry else 0
                rows.append(row)
        base: Any = np.zeros((len(rows), at.READ_WORDS), np.int64)
        self._rows_at = address_of(base)
        for n, row in enumerate(rows):
            own = row[at.AGAIN] - 1
            row[at.AGAIN] = self._rows_at + 8 * at.READ_WORDS * own if 0 <= own < n else 0
        base[:] = rows or base
        self._kept.append(base)
        return base

    def _row(self, k: int, field: str, j: int, g: Any, classes: Sequence[int]) -> list[int]:
        signature = self.signatures[k]
        row = [0] * at.READ_WORDS
        row[at.NODE], row[at.FIELD] = self._last - k, self._fields[f"Signature.{field}"]
        row[at.PLACE] = TUPLE_AT + 8 * j
        said: list[int | None] = []
        if g.__class__ is Geometry:
            row[at.KIND], row[at.NUMBER] = at.GEOMETRY, g.ndim
            row[at.SIZE_OF], row[at.TYPE_OF] = g.dtype.itemsize, id(g.dtype.numpy)
            if field == "attributes":
                row[at.KIND], row[at.EXPECTED] = at.GEOMETRY_SAID, id(g.family.kind)
                self._kept.append(g)
            if self._moves and field == "geometries" and j not in signature.operator.owns \
                    and self._outline.sources[k][j][0] == LEAF:
                if g.offset or classes[-1] >= len(self._joint.sketch.constants):
                    raise Unplayable
                row[at.SHIFT] = int(self._starts[self._last - k]) + 16 * j
            said = [*g.shape, *g.strides, g.offset]
        elif g.__class__ is int:
            row[at.KIND], said = at.INTEGER, [g]
        else:
            row[at.KIND], row[at.NUMBER], row[at.EXPECTED] = at.TUPLE, len(g), id(g.__class__)
            said = [*g]
        bounded = row[at.KIND] == at.TUPLE and not may_be_any(signature, g)
        row[at.INTEGERS] = self._integer_words(said, classes, bounded)
        return row

    def _integer_words(self, said: Sequence[int | None], classes: Sequence[int], bounded: bool) -> int:
        """The address of what is said of integers, which are of these of a sketch's numbers."""
        constants, each = self._joint.sketch.constants, iter(classes)
        words: list[int] = []
        for n in said:
            if n is None:
                words += at.NOTHING, 0, at.ANY
                continue
            number = next(each) - len(constants)
            least = min(n, 2) if bounded else at.ANY
            if number < 0:
                words += at.CONSTANT, constants[number + len(constants)], least
            else:
                words += at.SAME if number in self._known else at.FIRST, 8 * number, least
                self._known.add(number)
        made: Any = np.array(words or [0], np.int64)
        self._integers.append(made)
        return address_of(made)


def _varying(signature: Signature) -> list[tuple[str, int, Any]]:
    """Where geometries and what is like them stand in a signature, in the order of ``geometries_of``."""
    found: list[tuple[str, int, Any]] = []
    for field in ("geometries", "outputs"):
        found += [(field, j, g) for j, g in enumerate(getattr(signature, field)) if g.__class__ is Geometry]
    return [*found, *[("attributes", j, x) for j, x in enumerate(signature.attributes) if varies(x)]]


@cache
def fit_of() -> Method:
    return method("fit", entries(_slots())["fit_of"], ONE_ARGUMENT)


@cache
def fit_address() -> int:
    """The address of ``fit``, for the book."""
    return int(entries(_slots())["fit"].__index__())


@cache
def _slots() -> Slots:
    kinds: tuple[tuple[Any, tuple[str, ...]], ...] = (
        (Signature, ("geometries", "outputs", "attributes", "compute", "form")),
        (Geometry, ("shape", "strides", "offset", "family")), (GeometryFamily, ("kind",)),
        (type(settings), ("threads",)))
    return tuple([(f"{kind.__name__}.{name}", slot_of(kind, name))
                  for kind, names in kinds for name in names])


@cache
def _python() -> Any:
    return for_ever(table_of(
        {at.NONE: None, at.INT_TYPE: int, at.FLOAT_TYPE: float, at.TUPLE_TYPE: tuple, at.SETTINGS: settings,
         at.ERRORS: _ERRORS},
        {at.HOLD: "Py_IncRef", at.LET_GO: "Py_DecRef", at.AS_INTEGER: "PyLong_AsLongLong",
         at.AS_DOUBLE: "PyFloat_AsDouble", at.NEW_INTEGER: "PyLong_FromLongLong",
         at.NEW_FLOAT: "PyFloat_FromDouble", at.CALL: "PyObject_Vectorcall", at.OCCURRED: "PyErr_Occurred",
         at.FORGET: "PyErr_Clear", at.COMPARE: "PyObject_RichCompareBool",
         at.IS_RAISED: "PyErr_ExceptionMatches"}))
