"""Pointwise members of a kernel that go over a block of a matrix, where a product has just left it.

The code is a function of its own, which the kernel of the product calls with each block of its result that is
complete and still in the cache: any product can be followed by any of these. So can tosses.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, SupportsIndex

from ..llvm.build import Function
from ..llvm.compiling.code import noted
from ..llvm.compiling.machine import LINE
from ..llvm.emitter import Unsupported
from ..products.following import PARAMETERS
from . import past
from .body import Body, Progress
from .compile import passes
from .frame import splice
from .rows import Rows
from .structure import ROW, UNIFORM, Structure


class Block(NamedTuple):
    """What the code depends on: input ``product`` is the result of the product.

    It lies where output ``place`` does, and is overwritten; -1: it has a place of its own, and is kept.
    """

    structure: Structure
    product: int
    place: int


class Blocks(Rows):
    """Writes the function."""

    def __init__(self, block: Block, bodies: list[Body], progress: Progress) -> None:
        super().__init__(block.structure, bodies, progress)
        self.block = block

    def pointers(self) -> list[tuple[str, str]]:
        own = f"%i{self.block.product}" if self.block.place >= 0 else None
        return [pointer for pointer in super().pointers() if pointer[1] != own]

    def write(self) -> list[str]:
        if self.structure.past:
            self.leave = past.define_leave(self.module)
        with self.module.helper("block", [*PARAMETERS, *self.pointers()]) as f:
            product, place = self.block.product, self.block.place
            if place >= 0:
                f.lines.append(f"  %i{product} = getelementptr i8, ptr %o{place}, i64 0")
            self.define_words(f)
            self._rows(f, self.bodies[0])
        with self.module.function("follow", PARAMETERS) as outside:
            if self.regions():
                size = self.regions() * past.REGION
                outside.slots.append(f"  {outside.scratch} = alloca [{size} x i8], align {LINE}")
            outside.run(f, *[name for _, name in PARAMETERS],
                        *[self.pointer(outside, name) for _, name in self.pointers()])
        return ["follow"]

    def _rows(self, f: Function, body: Body) -> None:
        right = f.add("%column", "%columns")
        with f.loop("%row", f.add("%row", "%rows")) as position:
            own = self.outer(f, position)
            f.lines.append(f"  {body.prefix}row = add i64 {position}, 0")
            splice(f, body.at(UNIFORM) + body.at(ROW))
            self.mid(f, body, [], own)
            self._row(f, body, "%column", right, [])


@cache
def follower(block: Block) -> tuple[SupportsIndex, int] | None:
    """The function's address, and how many instructions it has for an element; None without a native form.

    Which is always the same object, whether it is compiled yet or not: plans are compared (Note: formulas).
    """
    title = "_".join(dict.fromkeys(member.operator.name for member in block.structure.members))[:60]
    try:
        addresses, instructions = noted(_written, (block,), f"{title}_block", lambda: _written(block))
    except Unsupported:
        return None
    return addresses["follow"], instructions


def _written(block: Block) -> tuple[str, int]:
    bodies, progress = passes(block.structure)
    frame = Blocks(block, bodies, progress)
    frame.write()
    return frame.text(), len(bodies[0].code)
