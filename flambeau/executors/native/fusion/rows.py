"""Kernels whose rows run along memory: the innermost loop is reduced, or nothing is.

A task is an outer position, or a chunk of its row. It goes over the row once for each pass; the row stays
in the caches. A second pass that stores nothing, or past the caches, fetches the next row: else memory would
idle until that begins. Of short rows it fetches the lines of results, too, which the third pass overwrites.
Where rows are shared between tasks (``split``), each pass is a call of its own, which leaves partial results
that the next one combines.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from ..llvm.build import Function, Variable
from ..llvm.emitter import FLOAT32, Dtype, memory_type, register_type
from . import accumulate, past
from .body import Accumulation, Body
from .frame import LONG, MASKED, TOGETHER, Frame, partial_type, splice, splice_renamed
from .short_rows import fits, write_short
from .structure import ADJACENT, ELEMENT, FLAT, ROW, UNIFORM

GROUP = 64      # elements: whole vectors, several of them at once
PORTION = 512   # elements of a row between which others are fetched,
FETCHED = 1 << 16   # if a row has as many at least, and at most so many
HELD = 1 << 11      # of so many the first cache has room for results, too, before they are stored
MUCH = 12       # instructions of an element
_POSITIONS = ("j", "at", "place", "slot")


class Rows(Frame):
    """Writes the kernels of rows."""

    def regions(self) -> int:
        return len(self.structure.outputs) if self.structure.past else 0

    def write(self) -> list[str]:
        """The names of the calls, in order."""
        if self.structure.past:
            self.leave = past.define_leave(self.module)
        if not self.structure.split:
            if self.structure.short and fits(self):
                with self.tasks("rows") as f:
                    write_short(self, f)
                return ["rows"]
            with self.function("rows") as (f, task):
                self._whole(f, task)
            return ["rows"]
        names = []
        for name, body, last in self.calls():
            names.append(name)
            with self.function(name) as (f, task):
                self._split(f, task, body, last)
        return names

    @property
    def _reduces(self) -> bool:
        return any(body.accumulations for body in self.bodies)

    def _whole(self, f: Function, task: str) -> None:
        # A task is a whole row, or a part of one of which nothing is reduced.
        position = task if self._reduces else f.div(task, "%chunks")
        chunk = "" if self._reduces else f.rem(task, "%chunks")
        own = self.outer(f, position)
        for body in self.bodies:
            f.lines.append(f"  {body.prefix}row = add i64 {position}, 0")
            splice(f, body.at(UNIFORM) + body.at(ROW))
            if body.has_elements:
                for x, total in zip(body.accumulations, self._pass(f, body, own, chunk)):
                    f.lines.append(accumulate.result(x.kind, x.dtype, f"%r{x.number}", total.get()))

    def _split(self, f: Function, task: str, body: Body, last: bool) -> None:
        position = task if last else f.div(task, "%chunks")
        chunk = "0" if last else f.rem(task, "%chunks")
        own = self.outer(f, position)
        known = {x.number for b in self.bodies for x in b.accumulations
                 if self.bodies.index(b) < self.bodies.index(body)}
        for index in sorted(known):
            if f"%r{index}" in body.reads:
                self._combine(f, index, position)
        f.lines.append(f"  {body.prefix}row = add i64 {position}, 0")
        splice(f, body.at(UNIFORM) + body.at(ROW))
        if last:
            return
        for x, total in zip(body.accumulations, self._pass(f, body, own, chunk)):
            kind = partial_type(x.kind, x.dtype)
            held = f.narrow(total.get(), accumulate.wide(x.kind, x.dtype))
            f.write(kind, held, f.at(f"%t{x.number}", task, kind), 1)

    def _combine(self, f: Function, index: int, position: str) -> None:
        """The result of a reduction from the parts of an earlier call."""
        kind, dtype = self.progress.reductions[index]
        wide = accumulate.wide(kind, dtype)
        held = partial_type(kind, dtype)
        first = f.mul(position, "%chunks")
        total = f.variable(register_type(wide), accumulate.identity(kind, wide))
        with f.loop(first, f.add(first, "%chunks")) as c:
            part = f.widen(f.read(held, f.at(f"%t{index}", c, held), 1), wide)
            total.set(accumulate.combined(f, kind, wide, total.get(), part, False))
        f.lines.append(accumulate.result(kind, dtype, f"%r{index}", total.get()))

    def _pass(self, f: Function, body: Body, own: str, chunk: str) -> list[Variable]:
        """The loops over a chunk of the row, or over all of it (an empty ``chunk``)."""
        totals = [self._start(f, x, True) for x in body.accumulations]
        low = f.mul(chunk, "%chunk") if chunk else "0"
        mids = range(self.structure.outer, self.structure.outer + self.structure.mid)
        if self.structure.packed and body.is_packed:
            self.mid(f, body, [], own)
            self._inner(f, body, "0", "%count", totals)
            return totals
        with ExitStack() as stack:
            indices = []
            for n, d in enumerate(mids):
                extent = f"%extent_{d}"
                start, stop = (low, self._end(f, chunk, low, extent)) if n == 0 else ("0", extent)
                indices.append(stack.enter_context(f.loop(start, stop)))
            self.mid(f, body, indices, own)
            start, stop = ("0", "%inner") if indices else (low, self._end(f, chunk, low, "%inner"))
            self._inner(f, body, start, stop, totals)
        return totals

    @staticmethod
    def _end(f: Function, chunk: str, low: str, extent: str) -> str:
        """Where a chunk that begins at ``low`` ends."""
        return f.least(f.add(low, "%chunk"), extent) if chunk else extent

    @staticmethod
    def _start(f: Function, x: Accumulation, widely: bool) -> Variable:
        dtype = accumulate.wide(x.kind, x.dtype) if widely else x.dtype
        return f.variable(register_type(dtype), accumulate.identity(x.kind, dtype))

    def _inner(self, f: Function, body: Body, start: str, stop: str, totals: list[Variable]) -> None:
        blocked = [x.dtype == FLOAT32 and x.kind in ("sum", "prod") for x in body.accumulations]
        ahead = self._ahead(body)
        if not any(blocked) and not ahead:
            self._row(f, body, start, stop, totals)
            return
        size = PORTION if ahead else accumulate.BLOCK
        with f.loop(start, stop, size) as block:
            end = f.least(f.add(block, size), stop)
            if ahead:
                few = f.emit(f"icmp ult i64 {f.sub(stop, PORTION)}, {FETCHED - PORTION + 1}")
                fetched = f.choose(few, "i64", end, block)
                for i in ahead:
                    self._fetch(f, body, i, block, fetched)
                self._fetch_results(f, body, block, f.choose(f.compare("sle", stop, HELD), "i64", end, block))
            parts = [self._start(f, x, False) if b else total
                     for x, b, total in zip(body.accumulations, blocked, totals)]
            self._row(f, body, block, end, parts)
            for x, b, total, part in zip(body.accumulations, blocked, totals, parts):
                if b:
                    wide = accumulate.wide(x.kind, x.dtype)
                    held = accumulate.widened(f, x.kind, x.dtype, part.get())
                    total.set(accumulate.combined(f, x.kind, wide, total.get(), held, False))

    def _ahead(self, body: Body) -> list[int]:
        """The inputs of which a pass fetches the next row."""
        own = self.structure
        if body not in self.bodies[1:2] or not own.outer or own.mid or own.split \
                or not (body.accumulations or own.past):
            return []
        return [i for i, x in enumerate(own.inputs) if x.level == ELEMENT and x.access in (FLAT, ADJACENT)]

    def _fetch(self, f: Function, body: Body, i: int, start: str, stop: str) -> None:
        """Bring elements of an input's next row into the first cache."""
        dtype, access, _ = self.structure.inputs[i]
        kind, last = memory_type(dtype), self.structure.outer - 1
        if access == FLAT:
            row = f.at(f"%i{i}", f.add(f"{body.prefix}seg", f"%own_{last}"), kind)
        else:
            row = f.at(f"{body.prefix}m{i}", f"%stride_{i}_{last}", kind)
        self._fetch_lines(f, row, dtype, start, stop, False)

    def _fetch_results(self, f: Function, body: Body, start: str, stop: str) -> None:
        """The same of this row's results, which the pass behind stores."""
        following = self.bodies[self.bodies.index(body) + 1:]
        if not following or self.structure.past:
            return
        for k, dtype in past.stored(self.structure, following[0]):
            row = f.at(f"%o{k}", f"{body.prefix}seg", memory_type(dtype))
            self._fetch_lines(f, row, dtype, start, stop, True)

    def _fetch_lines(self, f: Function, row: str, dtype: Dtype, start: str, stop: str, write: bool) -> None:
        with f.loop(start, stop, 64 // dtype.itemsize, self.hint(1)) as j:
            f.prefetch(f.at(row, j, memory_type(dtype)), 1, write)

    def _row(self, f: Function, body: Body, start: str, stop: str, parts: Sequence[Variable]) -> None:
        """Elements of a row, by portions where results are written past the caches."""
        if not self.structure.past or not past.stored(self.structure, body):
            self._elements_of(f, body, start, stop, parts)
            return
        with f.loop(start, stop, past.PORTION) as first:
            end = f.least(f.add(first, past.PORTION), stop)
            f.lines.append(f"  {body.prefix}first = add nsw i64 {first}, 0")
            self._elements_of(f, body, first, end, parts)
            past.leave(f, self.leave, self.structure, body, first, end)

    def _elements_of(self, f: Function, body: Body, start: str, stop: str, parts: Sequence[Variable]) -> None:
        """Where elements are much work, the last ones are no loop of single elements."""
        if not self._reduces or len(body.at(ELEMENT)) <= MUCH:
            self.elements(f, body, start, stop, parts)
            return
        whole = f.emit(f"and i64 {f.sub(stop, start)}, {-GROUP}")
        middle = f.add(start, whole)
        self.elements(f, body, start, middle, parts)
        self.elements(f, body, middle, stop, parts, rest=True)

    def elements(self, f: Function, body: Body, start: str, stop: str,
                 parts: Sequence[Variable] = (), rest: bool = False) -> None:
        """The loop over some elements of a row, which adds to reductions' ``parts``."""
        prefix = body.prefix
        long = not body.accumulations and len(body.at(ELEMENT)) > LONG
        hint = self.hint(MASKED) if rest else self.hint(TOGETHER) if long else ""
        own = {f"{prefix}{name}": f"{prefix}{name}{'rest' if rest else ''}" for name in _POSITIONS}
        # Counted from 0 on: LLVM finds out how often with the fewest instructions.
        with f.loop(0, f.sub(stop, start), hint=hint) as k:
            j = f.add(start, k)
            line = f.mul(f"{prefix}line", "%inner")
            for register, base in zip(own.values(), ("0", f"{prefix}seg", line, line)):
                f.lines.append(f"  {register} = add nsw i64 {base}, {j}")
            if rest:
                own |= {line.result: f"{line.result}rest" for line in body.at(ELEMENT) if line.result}
            if self.structure.past and past.stored(self.structure, body):
                past.splice_near(f, body, j, own)
            elif rest:
                splice_renamed(f, body.at(ELEMENT), own)
            else:
                splice(f, body.at(ELEMENT))
            for x, part in zip(body.accumulations, parts):
                register = own.get(x.register, x.register)
                part.set(accumulate.combined(f, x.kind, x.dtype, part.get(), register))
