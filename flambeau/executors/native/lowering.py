"""From the structure of a fused kernel to LLVM's language.

Note: the loop nest. A kernel walks ``total`` elements in the order in which its results lie in memory, in
rows of ``inner``; a caller asks for the rows from ``start`` to ``stop``, so that threads can share the work.
Extents, strides, pointers and numbers come in one block of 64-bit words: nothing of a shape is in the code.

Note: sums. A row is added up in blocks of 4096, each in the type of its elements and in the vectors' lanes,
the blocks in double precision; the caller adds the rows. The order does not depend on how many threads there
are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...graph.operator import Operator
from . import namespace
from .emitter import FLOAT64, INT64, Dtype, Emitter, Unsupported, literal, memory_type, register_type
from .expression import Expression, convert

SUM_BLOCK = 4096

# How an input is read: at the result's own position, one element for all, or by strides (the innermost one
# 0, 1 or another).
FLAT, ONE, REPEATED, ADJACENT, STRIDED = range(5)


class Input(NamedTuple):
    """An array that a kernel reads."""

    dtype: Dtype
    access: int


class Member(NamedTuple):
    """One operator of a fused kernel.

    ``operands``: ("member", i), ("input", i), ("number", i) or None.
    """

    operator: Operator
    attributes: tuple[Any, ...]
    compute: Dtype | None
    dtype: Dtype
    operands: tuple[Any, ...]
    stored: bool


class Structure(NamedTuple):
    """All that a kernel's code depends on. ``sums``: members added up along rows, and in which type."""

    members: tuple[Member, ...]
    inputs: tuple[Input, ...]
    numbers: int
    rank: int
    sums: tuple[tuple[int, Dtype], ...]


class Layout(NamedTuple):
    """Where the words of a kernel's block of arguments are."""

    extents: int
    strides: int
    inputs: int
    outputs: int
    sums: int
    numbers: int
    size: int


def layout_of(structure: Structure) -> Layout:
    """The positions of a structure's arguments; the first two words are ``total`` and ``inner``."""
    strided = sum(x.access >= REPEATED for x in structure.inputs)
    strides = 2 + structure.rank
    inputs = strides + strided * (structure.rank + 1)
    outputs = inputs + len(structure.inputs)
    sums = outputs + sum(member.stored for member in structure.members)
    numbers = sums + len(structure.sums)
    return Layout(2, strides, inputs, outputs, sums, numbers, numbers + structure.numbers)


def sum_type(dtype: Dtype) -> Dtype:
    """The type in which rows are added up."""
    return FLOAT64 if dtype.kind not in "biu" else INT64


class _Kernel:
    """Writes one kernel."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.layout = layout_of(structure)
        self.head: list[str] = []
        self.body = Emitter()
        self.outputs = [i for i, member in enumerate(structure.members) if member.stored]
        self.strided = [i for i, x in enumerate(structure.inputs) if x.access >= REPEATED]
        self.values: list[Expression] = []

    def text(self) -> str:
        """The module."""
        self._members()
        sums = [self._addend(i, dtype) for i, dtype in self.structure.sums]
        arguments = ", ".join(["i64 %start", "i64 %stop", "ptr noalias readonly %args",
                               *[f"ptr noalias {'readonly ' if name[1] == 'i' else ''}{name}"
                                 for name in self._pointers()]])
        listing = [f"; {i}: {m.operator.name}{m.operands} -> {m.dtype}{' stored' if m.stored else ''}"
                   for i, m in enumerate(self.structure.members)]
        lines = [*listing, *self.body.declarations, "", f"define internal void @body({arguments}) #0 {{", "entry:",
                 *self._entry(), *self._row(), *(self._sum_loop(sums) if sums else self._plain_loop()),
                 "row_end:", *self._store_sums(sums), "  %row_next = add nsw i64 %row, 1",
                 "  br label %row_head",
                 "exit:", "  ret void", "}", "", *self._wrapper(),
                 'attributes #0 = { nounwind "no-trapping-math"="true" "prefer-vector-width"="512" }']
        return "\n".join(lines) + "\n"

    # --- operators ------------------------------------------------------------------------------------------

    def _members(self) -> None:
        positions = {i: k for k, i in enumerate(self.outputs)}
        for i, member in enumerate(self.structure.members):
            operands = [self._operand(reference, member.compute) for reference in member.operands]
            result = member.operator.kernel(namespace, *operands, *member.attributes)
            if not isinstance(result, Expression):
                raise Unsupported("a kernel with several results or none")
            result = convert(result, member.dtype)
            self.values.append(result)
            if member.stored:
                at = self.body.emit(f"getelementptr inbounds {memory_type(member.dtype)}, "
                                    f"ptr %o{positions[i]}, i64 %at")
                self.body.store(result.register, at, member.dtype)

    def _operand(self, reference: Any, compute: Dtype | None) -> Expression | None:
        if reference is None:
            return None
        kind, i = reference
        if kind == "number":
            if compute is None:
                raise Unsupported("a number without a type")
            return self._number(i, compute)
        value = self.values[i] if kind == "member" else self._load(i)
        return value if compute is None else convert(value, compute)

    def _number(self, i: int, dtype: Dtype) -> Expression:
        at = self.body.emit(f"getelementptr inbounds i64, ptr %args, i64 {self.layout.numbers + i}")
        return Expression(self.body, self.body.load(at, dtype), dtype)

    def _load(self, i: int) -> Expression:
        dtype, access = self.structure.inputs[i]
        if access == ONE:
            at = f"%i{i}"
        else:
            position = "%at" if access == FLAT else "%j"
            if access == STRIDED:
                position = self.body.emit(f"mul nsw i64 %j, %step{i}")
            base = f"%i{i}" if access == FLAT else f"%row{i}"
            at = base if access == REPEATED else \
                self.body.emit(f"getelementptr inbounds {memory_type(dtype)}, ptr {base}, i64 {position}")
        return Expression(self.body, self.body.load(at, dtype), dtype)

    # --- the loop nest --------------------------------------------------------------------------------------

    def _pointers(self) -> list[str]:
        return [*[f"%i{i}" for i in range(len(self.structure.inputs))],
                *[f"%o{i}" for i in range(len(self.outputs))],
                *[f"%s{i}" for i in range(len(self.structure.sums))]]

    @staticmethod
    def _word(name: str, position: int, kind: str = "i64") -> Iterator[str]:
        yield f"  {name}_at = getelementptr inbounds i64, ptr %args, i64 {position}"
        yield f"  {name} = load {kind}, ptr {name}_at, align 8"

    def _entry(self) -> Iterator[str]:
        rank, layout = self.structure.rank, self.layout
        yield from self._word("%total", 0)
        yield from self._word("%inner", 1)
        for d in range(rank):
            yield from self._word(f"%extent{d}", layout.extents + d)
        for k, i in enumerate(self.strided):
            for d in range(rank):
                yield from self._word(f"%stride{i}_{d}", layout.strides + k * (rank + 1) + d)
            yield from self._word(f"%step{i}", layout.strides + k * (rank + 1) + rank)
        yield "  br label %row_head"

    def _row(self) -> Iterator[str]:
        yield "row_head:"
        yield "  %row = phi i64 [ %start, %entry ], [ %row_next, %row_end ]"
        yield "  %row_more = icmp slt i64 %row, %stop"
        yield "  br i1 %row_more, label %row_start, label %exit"
        yield "row_start:"
        yield "  %base = mul nsw i64 %row, %inner"
        yield "  %left = sub nsw i64 %total, %base"
        yield "  %is_last = icmp slt i64 %left, %inner"
        yield "  %count = select i1 %is_last, i64 %left, i64 %inner"
        rest = "%row"
        for d in reversed(range(self.structure.rank)) if self.strided else ():
            yield f"  %index{d} = urem i64 {rest}, %extent{d}"
            yield f"  %rest{d} = udiv i64 {rest}, %extent{d}"
            rest = f"%rest{d}"
        for i in self.strided:
            offset = "0"
            for d in range(self.structure.rank):
                yield f"  %part{i}_{d} = mul nsw i64 %index{d}, %stride{i}_{d}"
                yield f"  %offset{i}_{d} = add nsw i64 {offset}, %part{i}_{d}"
                offset = f"%offset{i}_{d}"
            kind = memory_type(self.structure.inputs[i].dtype)
            yield f"  %row{i} = getelementptr inbounds {kind}, ptr %i{i}, i64 {offset}"

    def _plain_loop(self) -> Iterator[str]:
        yield "  br label %loop"
        yield "loop:"
        yield "  %j = phi i64 [ 0, %row_start ], [ %j_next, %loop ]"
        yield "  %at = add nsw i64 %base, %j"
        yield from self.body.lines
        yield "  %j_next = add nuw nsw i64 %j, 1"
        yield "  %again = icmp slt i64 %j_next, %count"
        yield "  br i1 %again, label %loop, label %row_end"

    def _addend(self, i: int, dtype: Dtype) -> Expression:
        return convert(self.values[i], dtype if dtype.kind == "f" else INT64)

    def _sum_loop(self, sums: list[Expression]) -> Iterator[str]:
        yield "  br label %block"
        yield "block:"
        yield "  %block_start = phi i64 [ 0, %row_start ], [ %block_stop, %block_end ]"
        for k, x in enumerate(sums):
            wide = sum_type(x.dtype)
            zero = f"[ {literal(0, wide)}, %row_start ]"
            yield f"  %sum{k} = phi {register_type(wide)} {zero}, [ %sum_next{k}, %block_end ]"
        yield f"  %block_full = add nsw i64 %block_start, {SUM_BLOCK}"
        yield "  %block_last = icmp slt i64 %count, %block_full"
        yield "  %block_stop = select i1 %block_last, i64 %count, i64 %block_full"
        yield "  br label %loop"
        yield "loop:"
        yield "  %j = phi i64 [ %block_start, %block ], [ %j_next, %loop ]"
        for k, x in enumerate(sums):
            zero = f"[ {literal(0, x.dtype)}, %block ]"
            yield f"  %acc{k} = phi {register_type(x.dtype)} {zero}, [ %acc_next{k}, %loop ]"
        yield "  %at = add nsw i64 %base, %j"
        yield from self.body.lines
        for k, x in enumerate(sums):
            kind = register_type(x.dtype)
            step = "add" if kind == "i64" else "fadd reassoc nsz"
            yield f"  %acc_next{k} = {step} {kind} %acc{k}, {x.register}"
        yield "  %j_next = add nuw nsw i64 %j, 1"
        yield "  %again = icmp slt i64 %j_next, %block_stop"
        yield "  br i1 %again, label %loop, label %block_end"
        yield "block_end:"
        for k, x in enumerate(sums):
            kind = register_type(x.dtype)
            part = f"%acc_next{k}"
            if kind == "float":
                yield f"  %part_wide{k} = fpext float {part} to double"
                part, kind = f"%part_wide{k}", "double"
            yield f"  %sum_next{k} = {'add' if kind == 'i64' else 'fadd'} {kind} %sum{k}, {part}"
        yield "  %block_more = icmp slt i64 %block_stop, %count"
        yield "  br i1 %block_more, label %block, label %row_end"

    @staticmethod
    def _store_sums(sums: list[Expression]) -> Iterator[str]:
        for k, x in enumerate(sums):
            kind = register_type(sum_type(x.dtype))
            yield f"  %sum_at{k} = getelementptr inbounds {kind}, ptr %s{k}, i64 %row"
            yield f"  store {kind} %sum_next{k}, ptr %sum_at{k}, align 8"

    def _wrapper(self) -> Iterator[str]:
        yield "define void @kernel(i64 %start, i64 %stop, ptr %args, ptr %scratch) {"
        pointers = self._pointers()
        for k, name in enumerate(pointers):
            yield from self._word(name, self.layout.inputs + k, "ptr")
        passed = ", ".join(["i64 %start", "i64 %stop", "ptr %args", *[f"ptr {name}" for name in pointers]])
        yield f"  call void @body({passed})"
        yield "  ret void"
        yield "}"


def lower(structure: Structure) -> str:
    """The LLVM module of a kernel: ``kernel(start, stop, args)``; Unsupported where it has none."""
    try:
        return _Kernel(structure).text()
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        # A kernel that wants an array.
        raise Unsupported(str(error)) from error
