"""The weights of convolutions of a single tap in panels, as their tiles read them; see ``point.py``."""

from __future__ import annotations

from ..arguments import Registers, registers
from ..llvm.build import Function, Module
from ..products.microkernel import Tile
from ..products.packing import packer, padded_in_code
from ..vectors import Elements
from .tiles import rows_of_long_tiles, short_rows

PACK_POINTERS = ("weight", "packed")
PACK_NUMBERS = ("w_group", "w_out", "w_in", "u_group", "panels", "outs", "depth")


def pack_module(e: Elements, tile: Tile) -> str:
    """Code of ``pack_points``: a task packs a panel of a group."""
    module = Module()
    pack = packer(module, "pack_a", e.dtype, tile.rows, e.lanes)
    with module.kernel("pack_points") as f:
        a = registers(f, PACK_POINTERS, PACK_NUMBERS)
        panels = Panels(f, e, tile, a)
        with f.loop(f.begin, f.end) as task:
            panel, group = f.rem(task, a.panels), f.div(task, a.panels)
            out, rows = panels.part(panel)
            place = f.add(f.mul(group, a.w_group), f.mul(out, a.w_out))
            to = panels.at(f.at(a.packed, f.mul(group, a.u_group), e.element), panel)
            with f.when(f.compare("slt", out, a.outs)):
                f.run(pack, e.at(f, a.weight, place), to, rows, a.depth, a.w_out, a.w_in)
    return module.text()


class Panels:
    """W in panels of as many rows as a tile has; the last ones may be multiplied by short tiles."""

    def __init__(self, f: Function, e: Elements, tile: Tile, a: Registers) -> None:
        outs = a.outs
        self.f, self.e, self.outs, self.rows, self.short = f, e, outs, tile.rows, short_rows(tile).rows
        self._size = f.mul(padded_in_code(f, a.depth, e.lanes), tile.rows)
        self._long = rows_of_long_tiles(f, tile, outs)
        self._longs = f.div(self._long, tile.rows)
        rest = f.add(f.sub(outs, self._long), self.short - 1)
        self.count = f.add(self._longs, f.div(rest, self.short))

    def at(self, packed: str, panel: str) -> str:
        """Where it begins."""
        return self.f.at(packed, self.f.mul(panel, self._size), self.e.element)

    def is_long(self, panel: str) -> str:
        return self.f.compare("slt", panel, self._longs)

    def is_whole(self, panel: str) -> str:
        """Whether no row of its tile is missing."""
        f = self.f
        most = f.choose(self.is_long(panel), "i64", self.rows, self.short)
        return f.compare("sge", self.part(panel)[1], most)

    def part(self, panel: str) -> tuple[str, str]:
        """Its first output channel, and how many there are."""
        f = self.f
        short = f.add(self._long, f.mul(f.sub(panel, self._longs), self.short))
        out = f.choose(self.is_long(panel), "i64", f.mul(panel, self.rows), short)
        most = f.choose(self.is_long(panel), "i64", self.rows, self.short)
        return out, f.least(f.sub(self.outs, out), most)


def panels_of(tile: Tile, outs: int) -> int:
    """How many there are, or one more."""
    return -(-outs // tile.rows) + 1
