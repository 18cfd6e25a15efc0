"""Kernels whose rows run across memory: the innermost loop is kept, and computed in vectors.

A task is an outer position and a block of columns, whose accumulators lie in the first cache (areas ``%a``
of the thread's scratch memory: one for each reduction, one for each value that the elements of a column
share, one for each sum of some rows). Rows are taken one by one, in the order of memory, which is what
prefetching follows: several at a time read the accumulators less often, but halve the speed of large arrays.
Sums of single precision are collected over ``SOME`` rows in their own type before they are added to
accumulators in double precision: a loop that has both types takes half as many elements at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext

from ..llvm.build import Function
from ..llvm.emitter import FLOAT32, memory_type, register_type
from . import accumulate
from .body import Accumulation, Body
from .frame import LONG, TOGETHER, Frame, partial_type, splice, splice_renamed
from .structure import ELEMENT, ROW, UNIFORM

SOME = 64       # rows


class Columns(Frame):
    """Writes the kernels of columns."""

    def regions(self) -> int:
        return self._shared_areas + sum(_is_collected(x) for body in self.bodies for x in body.accumulations)

    @property
    def _shared_areas(self) -> int:
        return len(self.progress.reductions) + sum(len(_crossing(body)) for body in self.bodies)

    def _collected(self, body: Body) -> dict[int, str]:
        """Where the sums of some rows are collected."""
        every = [x.number for b in self.bodies for x in b.accumulations if _is_collected(x)]
        return {x.number: f"%a{self._shared_areas + every.index(x.number)}"
                for x in body.accumulations if _is_collected(x)}

    def write(self) -> list[str]:
        """The names of the calls, in order."""
        if not self.structure.split:
            with self.function("columns") as (f, task):
                self._place(f, task, False)
                for body in self.bodies:
                    self._rows(f, body)
                    self._accumulate(f, body, {x.number: f"%a{x.number}" for x in body.accumulations})
                    self._fold(f, body.accumulations)
            return ["columns"]
        names = []
        for name, body, last in self.calls():
            names.append(name)
            with self.function(name) as (f, task):
                self._split(f, task, body, last)
        return names

    def _place(self, f: Function, task: str, last: bool) -> None:
        """The task's outer position, chunk of rows and columns: ``%width`` of them from ``%first`` on."""
        rest = task if last else f.div(task, "%chunks")
        chunk = "0" if last else f.rem(task, "%chunks")
        blocks = f.div(f.sub(f.add("%inner", "%block"), 1), "%block")
        position = f.div(rest, blocks)
        f.lines.append(f"  %first = mul nsw i64 {f.rem(rest, blocks)}, %block")
        f.lines.append(f"  %width = add nsw i64 {f.least(f.sub('%inner', '%first'), '%block')}, 0")
        f.lines.append(f"  %position = add nsw i64 {position}, 0")
        f.lines.append(f"  %low = mul nsw i64 {chunk}, %chunk")
        part = f.mul(f.add(f.mul(position, "%chunks"), chunk), "%inner")
        f.lines.append(f"  %part = add nsw i64 {part}, %first")
        self.own = f.add(self.outer(f, position, "%first"), "%first")

    def _split(self, f: Function, task: str, body: Body, last: bool) -> None:
        self._place(f, task, last)
        for earlier in self.bodies[:self.bodies.index(body)]:
            for x in earlier.accumulations:
                if f"%r{x.number}" in body.reads:
                    self._combine(f, x)
        self._rows(f, body)
        if last:
            return
        areas = {}
        for x in body.accumulations:
            areas[x.number] = f.at(f"%t{x.number}", "%part", partial_type(x.kind, x.dtype))
        self._accumulate(f, body, areas)

    def _combine(self, f: Function, x: Accumulation) -> None:
        """The parts of an earlier call added up in the accumulators."""
        wide, kind = accumulate.wide(x.kind, x.dtype), partial_type(x.kind, x.dtype)
        self._begin(f, [x], {x.number: f"%a{x.number}"}, {})
        first = f.mul("%position", "%chunks")
        with f.loop(first, f.add(first, "%chunks")) as c:
            source = f.at(f"%t{x.number}", f.add(f.mul(c, "%inner"), "%first"), kind)
            with f.loop(0, "%width", hint=self.hint(1)) as j:
                target = f.at(f"%a{x.number}", j, kind)
                total = f.widen(f.read(kind, target, 1), wide)
                part = f.widen(f.read(kind, f.at(source, j, kind), 1), wide)
                found = accumulate.combined(f, x.kind, wide, total, part, False)
                f.write(kind, f.narrow(found, wide), target, 1)
        self._fold(f, [x])

    def _fold(self, f: Function, accumulations: Sequence[Accumulation]) -> None:
        """Add up the columns that are one; the first of them gets the result."""
        if not self.structure.folded or not accumulations:
            return
        wides = [accumulate.wide(x.kind, x.dtype) for x in accumulations]
        with f.loop(0, "%width", "%tail") as first:
            last = f.add(first, "%tail")
            totals = [f.variable(register_type(wide), accumulate.identity(x.kind, wide))
                      for x, wide in zip(accumulations, wides)]
            with f.loop(first, last, hint=self.hint(1)) as j:
                for x, wide, total in zip(accumulations, wides, totals):
                    kind = memory_type(wide)
                    part = f.widen(f.read(kind, f.at(f"%a{x.number}", j, kind), 1), wide)
                    total.set(accumulate.combined(f, x.kind, wide, total.get(), part))
            for x, wide, total in zip(accumulations, wides, totals):
                kind = memory_type(wide)
                f.write(kind, f.narrow(total.get(), wide), f.at(f"%a{x.number}", first, kind), 1)

    def _begin(self, f: Function, accumulations: Sequence[Accumulation], areas: dict[int, str],
               some: dict[int, str]) -> None:
        """Nothing in the accumulators yet; in one loop, since each costs LLVM's time."""
        with f.loop(0, "%width", hint=self.hint(1)) as j:
            for x in accumulations:
                wide, kind = accumulate.wide(x.kind, x.dtype), partial_type(x.kind, x.dtype)
                zero = accumulate.identity(x.kind, wide)
                if wide.kind == "b":
                    zero = str(int(zero == "true"))
                f.write(kind, zero, f.at(areas[x.number], j, kind), 1)
                if x.number in some:
                    f.write("float", accumulate.identity(x.kind, x.dtype), f.at(some[x.number], j), 1)

    # --- once for each column -------------------------------------------------------------------------------

    def _rows(self, f: Function, body: Body) -> None:
        """What a column's elements share; it is left in areas for those of its registers that they read."""
        splice(f, body.at(UNIFORM))
        crossing = _crossing(body)
        if not crossing and not body.stores_rows:
            return
        prefix, folded = body.prefix, self.structure.folded
        at_once = folded and not any(f"{prefix}j" in line.uses for line in body.at(ROW))
        step, hint = ("%tail", "") if at_once else (1, self.hint(1))
        with f.loop(0, "%width", step, hint) as j:
            f.lines.append(f"  {prefix}j = add nsw i64 {j}, 0")
            at, width = f.add("%first", j), "%inner"
            if folded:
                at, width = f.div(at, "%tail"), f.div(width, "%tail")
            f.lines.append(f"  {prefix}jr = add nsw i64 {at if folded else j}, 0")
            f.lines.append(f"  {prefix}row = add nsw i64 {f.add(f.mul('%position', width), at)}, 0")
            for index, (kind, dtype) in enumerate(self.progress.reductions):
                if f"%r{index}" in body.reads:
                    held = partial_type(kind, dtype)
                    first = f.mul(f.div(j, "%tail"), "%tail") if folded and not at_once else j
                    total = f.read(held, f.at(f"%a{index}", first, held), 1)
                    total = f.widen(total, accumulate.wide(kind, dtype))
                    f.lines.append(accumulate.result(kind, dtype, f"%r{index}{prefix[1:]}", total))
            renamed = {f"%r{i}": f"%r{i}{prefix[1:]}" for i in range(len(self.progress.reductions))}
            splice_renamed(f, body.at(ROW), renamed)
            if crossing:
                self._leave(f, body, j, renamed, at_once)

    def _leave(self, f: Function, body: Body, j: str, renamed: dict[str, str], at_once: bool) -> None:
        """Write what elements read of column ``j`` into the areas, or of all columns that are one at once.

        Not at once where it depends on the column, as the offset of an element does whose stride is not 1.
        """
        crossing, values = _crossing(body), {}
        for register, kind in crossing.items():
            value = renamed.get(register, register)
            values[register] = f.emit(f"zext i1 {value} to i8") if kind == "i1" else value
        with f.loop(j, f.add(j, "%tail"), hint=self.hint(1)) if at_once else nullcontext(j) as k:
            for register, kind in crossing.items():
                stored = "i8" if kind == "i1" else kind
                f.write(stored, values[register], f.at(f"%a{self._area(body, register)}", k, stored), 1)

    def _area(self, body: Body, register: str) -> int:
        before = sum(len(_crossing(b)) for b in self.bodies[:self.bodies.index(body)])
        return len(self.progress.reductions) + before + list(_crossing(body)).index(register)

    # --- all rows -------------------------------------------------------------------------------------------

    def _accumulate(self, f: Function, body: Body, areas: dict[int, str]) -> None:
        if not body.has_elements:
            return
        some = self._collected(body)
        if body.accumulations:
            self._begin(f, body.accumulations, areas, some)
        mids = range(self.structure.outer, self.structure.outer + self.structure.mid)
        bounds = [("0", f"%extent_{d}") for d in mids]
        bounds[0] = ("%low", f.least(f.add("%low", "%chunk"), bounds[0][1]))
        waiting = f.variable("i64", 0)      # rows that have been collected
        with ExitStack() as stack:
            indices = [stack.enter_context(f.loop(start, stop)) for start, stop in bounds[:-1]]
            start, stop = bounds[-1]
            with f.loop(start, stop, SOME) as first:
                end = f.least(f.add(first, SOME), stop)
                with f.loop(first, end) as r:
                    self._row(f, body, [*indices, r], areas | some)
                if some:
                    waiting.set(f.add(waiting.get(), f.sub(end, first)))
                    with f.when(f.compare("sge", waiting.get(), SOME)):
                        self._hand_over(f, body, some, areas)
                        waiting.set(0)
        self._hand_over(f, body, some, areas)

    def _hand_over(self, f: Function, body: Body, some: dict[int, str], areas: dict[int, str]) -> None:
        """Add what has been collected to the accumulators."""
        if not some:
            return
        with f.loop(0, "%width", hint=self.hint(1)) as j:
            for x in body.accumulations:
                if x.number not in some:
                    continue
                at, total = f.at(some[x.number], j), f.at(areas[x.number], j, "double")
                part = accumulate.widened(f, x.kind, x.dtype, f.read("float", at, 1))
                f.write("double", f.emit(f"fadd double {f.read('double', total, 1)}, {part}"), total, 1)
                f.write("float", accumulate.identity(x.kind, x.dtype), at, 1)

    def _row(self, f: Function, body: Body, indices: Sequence[str], areas: dict[int, str]) -> None:
        prefix = body.prefix
        self.mid(f, body, indices, self.own)
        with f.loop(0, "%width", hint=self.hint(TOGETHER if len(body.at(ELEMENT)) > LONG else 1)) as j:
            names = self._shared(f, body, j)
            f.lines.append(f"  {prefix}at = add nsw i64 {prefix}seg, {j}")
            f.lines.append(f"  {prefix}place = add i64 {prefix}line, 0")
            slot = f.add(f.mul(f"{prefix}line", "%block"), j)
            f.lines.append(f"  {prefix}slot = add nsw i64 {slot}, 0")
            splice_renamed(f, body.at(ELEMENT), names)
            for x in body.accumulations:
                self._add(f, x, names.get(x.register, x.register), areas[x.number], j)

    def _shared(self, f: Function, body: Body, j: str) -> dict[str, str]:
        """The registers of a column, read back from their areas."""
        names = {f"{body.prefix}j": j}
        for register, kind in _crossing(body).items():
            area = f"%a{self._area(body, register)}"
            held = "i8" if kind == "i1" else kind
            value = f.read(held, f.at(area, j, held), 1)
            names[register] = f.emit(f"icmp ne i8 {value}, 0") if kind == "i1" else value
        return names

    @staticmethod
    def _add(f: Function, x: Accumulation, part: str, area: str, j: str) -> None:
        dtype = x.dtype if _is_collected(x) else accumulate.wide(x.kind, x.dtype)
        kind = memory_type(dtype)
        at = f.at(area, j, kind)
        total = f.widen(f.read(kind, at, 1), dtype)
        if dtype != x.dtype:
            part = accumulate.widened(f, x.kind, x.dtype, part)
        f.write(kind, f.narrow(accumulate.combined(f, x.kind, dtype, total, part, False), dtype), at, 1)


def _is_collected(x: Accumulation) -> bool:
    """Whether some rows are added up in single precision first."""
    return x.kind == "sum" and x.dtype == FLOAT32


def _crossing(body: Body) -> dict[str, str]:
    """The registers of columns that elements read, and their types."""
    found = body.crossing
    if found is None:
        own = {line.result for line in body.at(ROW)}
        read = [r for line in body.at(ELEMENT) for r in line.uses]
        read += [x.register for x in body.accumulations]
        found = {}
        for register in dict.fromkeys(read):
            if register in own or register.startswith("%r"):
                found[register] = body.kind(register)
        body.crossing = found
    return found
