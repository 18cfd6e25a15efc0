"""What the kernels of rows and of columns have in common: arguments, tasks, positions in the loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..llvm.build import Function, Module
from ..llvm.emitter import Dtype, memory_type
from .accumulate import wide
from .body import REGISTER, Body, Line, Progress
from .structure import ELEMENT, Structure, layout_of, strided

_LOADED = frozenset(("extent", "inner", "chunk", "chunks", "block", "count", "tail", "own", "stride", "step"))

# Instructions of a body, and vectors: LLVM takes one vector at a time through a loop that is long, and waits
# for each of its instructions, if it is not told to take more.
LONG, TOGETHER = 24, 4
MASKED = 5      # as a hint: vectors alone, the last one with fewer elements


class Frame:
    """Writes the functions of a structure's calls; what they do is up to the form of the nest."""

    def __init__(self, structure: Structure, bodies: list[Body], progress: Progress) -> None:
        self.structure = structure
        self.bodies = bodies
        self.progress = progress
        self.words = layout_of(structure, len(progress.reductions))
        self.positions = {word: k for k, word in enumerate(self.words)}
        self.strided = strided(structure)
        self.module = Module()
        self.hints: list[int] = []

    def calls(self) -> Iterator[tuple[str, Body, bool]]:
        """The calls of rows that are split: name, body, and whether it is the last, which writes results."""
        for n, body in enumerate(self.bodies):
            last = n == len(self.bodies) - 1
            if body.stores_rows if last else body.has_elements:
                yield "finish" if last else f"pass{n}", body, last

    # --- functions ------------------------------------------------------------------------------------------

    def regions(self) -> int:
        """How many areas of a thread's scratch memory hold a value for each column."""
        return 0

    def pointers(self) -> list[tuple[str, str]]:
        """The arrays that a kernel's code is given: (type and attributes, name)."""
        read, write = "ptr noalias readonly", "ptr noalias"
        found = [(read, f"%i{i}") for i in range(len(self.structure.inputs))]
        found += [(write, f"%o{k}") for k in range(len(self.structure.outputs))]
        found += [(write, f"%q{e}") for e in range(len(self.progress.buffers))]
        found += [(write, f"%a{r}") for r in range(self.regions())]
        if self.structure.split:
            found += [(write, f"%t{k}") for k in range(len(self.progress.reductions))]
        return found

    @contextmanager
    def function(self, name: str) -> Iterator[tuple[Function, str]]:
        """A kernel with its arguments loaded; gives the loop over its tasks: (function, task)."""
        with self.tasks(name) as f, f.loop(f.begin, f.end) as task:
            yield f, task

    @contextmanager
    def tasks(self, name: str) -> Iterator[Function]:
        """A kernel with its arguments loaded."""
        pointers = self.pointers()
        parameters = [("i64", "%begin"), ("i64", "%end"), ("ptr noalias readonly", "%words"), *pointers]
        with self.module.helper(f"{name}_body", parameters) as f:
            self.define_words(f)
            yield f
            body = f
        with self.module.kernel(name) as f:
            f.run(body, f.begin, f.end, f.words, *[self.pointer(f, name) for _, name in pointers])
            if self.structure.past:
                f.settle()

    def pointer(self, f: Function, name: str) -> str:
        """The address of an array, from the kernel's words or in its scratch memory."""
        kind, k = name[1], int(name[2:])
        if kind not in "qa":
            named = {"i": "input", "o": "output", "t": "partial"}[kind]
            return f.word(self.positions[named, k], "ptr")
        region = f.word(self.positions["region",])
        if kind == "a":
            return f.at(f.scratch, f.mul(region, k), "i8")
        base = f.at(f.scratch, f.mul(region, self.regions()), "i8")
        return f.at(base, f.mul(f.word(self.positions["buffer",]), k), "i8")

    def define_words(self, f: Function) -> None:
        """Load extents and strides into registers of their names."""
        for word, k in self.positions.items():
            if word[0] in _LOADED:
                at = f.emit(f"getelementptr inbounds i64, ptr %words, i64 {k}")
                name = "%" + "_".join(map(str, word)).replace("step_", "step")
                f.lines.append(f"  {name} = load i64, ptr {at}, align 8")

    # --- positions ------------------------------------------------------------------------------------------

    def outer(self, f: Function, position: str, first: str = "0") -> str:
        """Pointers ``%b`` to what an outer position reads, from column ``first``; the elements' offset."""
        offset = {i: f.mul(first, f"%step{i}") for i in self.strided if first != "0"
                  and (self.structure.inputs[i].level == ELEMENT or not self.structure.folded)}
        own = "0"
        rest = position
        for d in reversed(range(self.structure.outer)):
            index = f.rem(rest, f"%extent_{d}") if d else rest
            rest = f.div(rest, f"%extent_{d}") if d else rest
            own = f.add(own, f.mul(index, f"%own_{d}"))
            for i in self.strided:
                offset[i] = f.add(offset.get(i, "0"), f.mul(index, f"%stride_{i}_{d}"))
        for i in self.strided:
            kind = memory_type(self.structure.inputs[i].dtype)
            f.lines.append(f"  %b{i} = getelementptr inbounds {kind}, ptr %i{i}, i64 {offset.get(i, '0')}")
        return own

    def mid(self, f: Function, body: Body, indices: Sequence[str], own: str) -> None:
        """Names for a position in the mid loops: pointers ``m``, offset ``seg``, place ``line``."""
        prefix = body.prefix
        first = self.structure.outer
        place = "0"
        for n, index in enumerate(indices):
            own = f.add(own, f.mul(index, f"%own_{first + n}"))
            place = f.add(f.mul(place, f"%extent_{first + n}"), index)
        f.lines.append(f"  {prefix}seg = add i64 {own}, 0")
        f.lines.append(f"  {prefix}line = add i64 {place}, 0")
        for i in self.strided:
            if self.structure.inputs[i].level != ELEMENT:
                continue
            offset = "0"
            for n, index in enumerate(indices):
                offset = f.add(offset, f.mul(index, f"%stride_{i}_{first + n}"))
            kind = memory_type(self.structure.inputs[i].dtype)
            f.lines.append(f"  {prefix}m{i} = getelementptr inbounds {kind}, ptr %b{i}, i64 {offset}")

    def hint(self, together: int) -> str:
        """A hint for a loop: how many vectors LLVM takes at a time (1: a long body, or little work)."""
        self.hints.append(together)
        return f", !llvm.loop !{len(self.hints) + MASKED}"

    def text(self) -> str:
        """The module."""
        for body in self.bodies:
            self.module.functions[0].declarations |= body.declarations
        # Else LLVM would take the copying of elements out of a loop that reads them anyway.
        text = self.module.text().replace("attributes #0 = { ", 'attributes #0 = { "no-builtins" ')
        lines = ['!0 = !{!"llvm.loop.unroll.disable"}']
        lines += [f'!{k} = !{{!"llvm.loop.interleave.count", i32 {k}}}' for k in range(1, MASKED)]
        lines.append(f'!{MASKED} = !{{!"llvm.loop.vectorize.predicate.enable", i1 true}}')
        lines += [f"!{k} = distinct !{{!{k}, !0, !{hint}}}" for k, hint in enumerate(self.hints, MASKED + 1)]
        return text + "\n".join(lines) + "\n" if self.hints else text


def splice(f: Function, lines: Sequence[Line]) -> None:
    """Write lines as they are."""
    f.lines += [line.text for line in lines]


def splice_renamed(f: Function, lines: Sequence[Line], names: dict[str, str]) -> None:
    """Write lines with other names for some registers."""
    f.lines += [REGISTER.sub(lambda match: names.get(match[0], match[0]), line.text) for line in lines]


def partial_type(kind: str, dtype: Dtype) -> str:
    """The type in memory of a part of a reduction."""
    return memory_type(wide(kind, dtype))
