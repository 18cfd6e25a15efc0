"""The passes of a kernel: its operators written once for each pass over a row.

Note: passes. The first pass computes all that does not wait for a reduction, and accumulates the reductions
of that; the second one knows their results, and so on. An operator's kernel is run once for each pass: what
depends on a reduction that is not known yet is *unknown* and writes nothing; what nothing needs is dropped.
A later pass computes cheap expressions again, and reads back expensive ones that an earlier pass left in a
buffer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..llvm import namespace
from ..llvm.emitter import FLOAT32, FLOAT64, INT64, Dtype, Emitter, Unsupported, memory_type, register_type
from ..llvm.expressions.expression import Expression, convert
from .structure import ADJACENT, ELEMENT, FLAT, ONE, REPEATED, ROW, UNIFORM, Structure, layout_of

REGISTER = re.compile(r"%[\w.]+")


class Line(NamedTuple):
    """An instruction: the register it defines (or none), the registers it reads, its level."""

    result: str | None
    text: str
    uses: tuple[str, ...]
    level: int


class Accumulation(NamedTuple):
    """A reduction, and the register of what is reduced."""

    number: int
    kind: str
    dtype: Dtype
    register: str


class Progress:
    """What the passes so far have found."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.positions = {word: k for k, word in enumerate(layout_of(structure))}
        self.known: dict[int, int] = {}             # reductions by the order of their calls
        self.reductions: list[tuple[str, Dtype]] = []
        self.kept: dict[int, int] = {}              # buffers, by the order of calls of expensive functions
        self.buffers: list[Dtype] = []
        self.stored: set[int] = set()


class Body(Emitter):
    """The instructions of one pass."""

    def __init__(self, progress: Progress, number: int) -> None:
        super().__init__()
        self.progress = progress
        self.structure = progress.structure
        self.prefix = f"%p{number}"
        self.code: list[Line] = []
        self.accumulations: list[Accumulation] = []
        if self.structure.ndim is not None:
            self.ndim = self.structure.ndim
        self.dims = self.structure.dims
        self.crossing: dict[str, str] | None = None
        self._unknown: set[str] = set()
        self._calls = self._costly_calls = 0
        self._reduced: dict[tuple[str, str], int] = {}
        self._candidates: dict[str, int] = {}
        self._loads: dict[str, int] = {}
        element = {"at", "seg", "place", "slot"} | {f"m{i}" for i in range(len(self.structure.inputs))}
        self._levels = {f"{self.prefix}{name}": ELEMENT for name in element}
        self._levels[f"{self.prefix}j"] = ROW if self.structure.columns else ELEMENT
        self._levels[f"{self.prefix}row"] = self._levels[f"{self.prefix}jr"] = ROW
        self._levels |= {"%words": UNIFORM, "%count": UNIFORM}

    # --- the emitter ----------------------------------------------------------------------------------------

    def name(self) -> str:
        self._count += 1
        return f"{self.prefix}v{self._count}"

    def level(self, register: str) -> int:
        """The level of a register, which may be a constant."""
        return self._level_of(register) if register.startswith("%") else UNIFORM

    def _level_of(self, register: str) -> int:
        found = self._levels.get(register)
        if found is not None:
            return found
        # %i3: pointer to an input, %step3: its innermost stride, %b3: pointer to what a row reads of it.
        return UNIFORM if register[1:2] in "ios" else ROW

    def emit(self, instruction: str) -> str:
        found = self._known.get(instruction)
        if found is None:
            uses = tuple(dict.fromkeys(REGISTER.findall(instruction)))
            found = self._known[instruction] = self.name()
            level = self._levels[found] = max([self._level_of(r) for r in uses], default=UNIFORM)
            if not self._unknown.isdisjoint(uses):
                self._unknown.add(found)
            else:
                self.code.append(Line(found, f"  {found} = {instruction}", uses, level))
        return found

    def write(self, value: Expression, pointer: str, dtype: Dtype, level: int) -> None:
        """A store, done once for each element or row."""
        held = self.narrow(value.register, dtype)
        text = f"  store {memory_type(dtype)} {held}, ptr {pointer}, align {dtype.itemsize}"
        self.code.append(Line(None, text, tuple(REGISTER.findall(text)), level))

    def is_known(self, x: Expression) -> bool:
        return x.register not in self._unknown

    def _missing(self, dtype: Dtype) -> Expression:
        register = self.name()
        self._unknown.add(register)
        self._levels[register] = ROW
        return Expression(self, register, dtype)

    # --- reductions and buffers -----------------------------------------------------------------------------

    def reduce(self, kind: str, x: Expression) -> Expression:
        """The reduction of x over the row: its result, unknown in the pass that accumulates it and before."""
        call, progress = self._calls, self.progress
        self._calls += 1
        index = progress.known.get(call)
        if index is not None:
            register = f"%r{index}"
            if register not in self._levels:
                self._levels[register] = ROW
            return Expression(self, register, x.dtype)
        if self.is_known(x):
            key = (kind, x.register)
            index = self._reduced.get(key)
            if index is None:
                index = self._reduced[key] = len(progress.reductions)
                progress.reductions.append((kind, x.dtype))
                self.accumulations.append(Accumulation(index, kind, x.dtype, x.register))
            self._found[call] = index
        return self._missing(x.dtype)

    def costly(self, function: Callable[..., Expression], *operands: Expression) -> Expression:
        """An expensive function, computed in one pass and read back in later ones."""
        call, progress = self._costly_calls, self.progress
        self._costly_calls += 1
        buffer = progress.kept.get(call)
        if buffer is not None:
            dtype = progress.buffers[buffer]
            register = self.load(self._slot(buffer, dtype), dtype)
            self._loads[register] = buffer
            return Expression(self, register, dtype)
        result = function(*operands)
        if self.structure.dims and not self.structure.split and self.is_known(result) \
                and self.level(result.register) == ELEMENT and result.dtype in (FLOAT32, FLOAT64):
            self._kept[call] = result
        return result

    def count(self, dtype: Dtype) -> Expression:
        """How many elements a row has."""
        return convert(Expression(self, "%count", INT64), dtype)

    def position(self) -> Expression:
        """The element's place in its row."""
        return Expression(self, f"{self.prefix}place", INT64)

    # --- the members ----------------------------------------------------------------------------------------

    def run(self, with_rows: bool) -> None:
        """Write all members' code. ``with_rows``: results of which each row has one are stored too."""
        self._found: dict[int, int] = {}
        self._kept: dict[int, Expression] = {}
        self.values: list[tuple[Expression, ...]] = []
        for member in self.structure.members:
            operands = [self._operand(reference, member.compute) for reference in member.operands]
            if member.rounds is not None:
                operands = [x if x is None or dtype is None else self._rounded(x, dtype)
                            for x, dtype in zip(operands, member.rounds)]
            result = member.operator.kernel(namespace, *operands, *member.attributes)
            results = result if isinstance(result, tuple) else (result,)
            if len(results) != len(member.dtypes) or not all(isinstance(x, Expression) for x in results):
                raise Unsupported("a kernel that gives something else")
            self.values.append(tuple([convert(x, dtype) for x, dtype in zip(results, member.dtypes)]))
        for k, output in enumerate(self.structure.outputs):
            value = self.values[output.member][output.result]
            wanted = with_rows or output.level == ELEMENT
            if wanted and k not in self.progress.stored and self.is_known(value):
                self.progress.stored.add(k)
                self._store(k, value, output.level)
        self.progress.known |= self._found
        self._keep()

    def _keep(self) -> None:
        """Buffers for what expensive functions gave."""
        seen: dict[str, int] = {}
        for call, x in self._kept.items():
            buffer = seen.get(x.register)
            if buffer is None:
                buffer = seen[x.register] = len(self.progress.buffers)
                self.progress.buffers.append(x.dtype)
                self._candidates[x.register] = buffer
            self.progress.kept[call] = buffer

    def _store(self, k: int, value: Expression, level: int) -> None:
        place = f"{self.prefix}at" if level == ELEMENT else f"{self.prefix}row"
        at = self.emit(f"getelementptr inbounds {memory_type(value.dtype)}, ptr %o{k}, i64 {place}")
        self.write(value, at, value.dtype, level)

    def _operand(self, reference: Any, compute: Dtype | None) -> Expression | None:
        if reference is None:
            return None
        kind, i = reference[:2]
        if kind == "number":
            if compute is None:
                raise Unsupported("a number without a type")
            word = self.progress.positions["number", i]
            at = self.emit(f"getelementptr inbounds i64, ptr %words, i64 {word}")
            return Expression(self, self.load(at, compute), compute)
        value = self.values[i][reference[2]] if kind == "member" else self._input(i)
        return value if compute is None else convert(value, compute)

    def _rounded(self, x: Expression, dtype: Dtype) -> Expression:
        return Expression(self, self.rounded(x.register, dtype), x.dtype)

    def _input(self, i: int) -> Expression:
        dtype, access, level = self.structure.inputs[i]
        if access == ONE:
            return Expression(self, self.load(f"%i{i}", dtype), dtype)
        if self.structure.packed and level == ELEMENT and access != REPEATED:
            return self.costly(lambda: self._read(i))
        return self._read(i)

    def _read(self, i: int) -> Expression:
        """What lies at the element's position in an input."""
        dtype, access, level = self.structure.inputs[i]
        kind, prefix = memory_type(dtype), self.prefix
        if access == FLAT:
            at = self.emit(f"getelementptr inbounds {kind}, ptr %i{i}, i64 {prefix}at")
            return Expression(self, self.load(at, dtype), dtype)
        base = f"{prefix}m{i}" if level == ELEMENT else f"%b{i}"
        if level == ROW and not self.structure.columns:
            access = REPEATED
        if access == REPEATED:
            return Expression(self, self.load(base, dtype), dtype)
        place = f"{prefix}{'jr' if level == ROW else 'j'}"
        index = place if access == ADJACENT else self.emit(f"mul nsw i64 {place}, %step{i}")
        at = self.emit(f"getelementptr inbounds {kind}, ptr {base}, i64 {index}")
        return Expression(self, self.load(at, dtype), dtype)

    # --- what is needed -------------------------------------------------------------------------------------

    def prune(self, wanted: set[int]) -> None:
        """Drop what nothing needs; leave in buffers what later passes read (``wanted``, which grows)."""
        for register, buffer in self._candidates.items():
            if buffer in wanted:
                self._buffer(register, buffer)
        needed = {x.register for x in self.accumulations}
        kept: list[Line] = []
        for line in reversed(self.code):
            if line.result is None or line.result in needed:
                needed.update(line.uses)
                kept.append(line)
        self.code = kept[::-1]
        wanted.update(buffer for register, buffer in self._loads.items() if register in needed)
        self.reads = needed  # among them: results of reductions

    def _buffer(self, register: str, buffer: int) -> None:
        dtype = self.progress.buffers[buffer]
        self.write(Expression(self, register, dtype), self._slot(buffer, dtype), dtype, ELEMENT)

    def _slot(self, buffer: int, dtype: Dtype) -> str:
        """The element's place in a buffer."""
        kind = memory_type(dtype)
        return self.emit(f"getelementptr inbounds {kind}, ptr %q{buffer}, i64 {self.prefix}slot")

    def at(self, level: int) -> list[Line]:
        """The instructions of a level."""
        return [line for line in self.code if line.level == level]

    def kind(self, register: str) -> str:
        """The LLVM type of a register."""
        if register.startswith("%r"):
            return register_type(self.progress.reductions[int(register[2:])][1])
        line = next(line for line in self.code if line.result == register)
        return _type_of(line.text.split(" = ", 1)[1])

    @property
    def is_packed(self) -> bool:
        """Whether it reads from buffers alone and stores nothing else: the row is one loop then."""
        places = (f"{self.prefix}at", f"{self.prefix}j", f"{self.prefix}m")
        return not any(use.startswith(places) for line in self.at(ELEMENT) for use in line.uses)

    @property
    def stores_rows(self) -> bool:
        return any(line.result is None for line in self.at(ROW)) \
            or any(line.result is None for line in self.at(UNIFORM))

    @property
    def has_elements(self) -> bool:
        return bool(self.accumulations) or any(line.result is None for line in self.at(ELEMENT))


def _type_of(instruction: str) -> str:
    """The type of an instruction's result."""
    words = instruction.replace(",", " ").split()
    if words[0] in ("icmp", "fcmp"):
        return "i1"
    if words[0] == "getelementptr":
        return "ptr"
    if " to " in instruction:
        return words[-1]
    if words[0] == "select":
        return words[3]
    flags = ("nsw", "nuw", "nsz", "reassoc", "exact", "contract", "inbounds", "nnan", "ninf", "fast")
    return next(word for word in words[1:] if word not in flags)


def passes_of(structure: Structure) -> tuple[list[Body], Progress]:
    """The passes of a structure, each without what it does not need; the last one may be for rows alone."""
    progress = Progress(structure)
    bodies: list[Body] = []
    while True:
        body = Body(progress, len(bodies))
        body.run(not structure.split)
        bodies.append(body)
        if not body.accumulations:
            break
    if structure.split:
        body = Body(progress, len(bodies))
        body.run(True)
        bodies.append(body)
    if len(progress.stored) < len(structure.outputs):
        raise Unsupported("a result that no pass computes")
    wanted: set[int] = set()
    for body in reversed(bodies):
        body.prune(wanted)
    return bodies, progress


__all__ = ["Accumulation", "Body", "Line", "Progress", "passes_of"]
