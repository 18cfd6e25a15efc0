"""Weights as panels for processors that multiply pairs of bfloat16 numbers: two input channels make a step.

packed[group][panel][tap][pair of channels][lanes of a panel], each lane with the weights of two channels. Of
an odd number of channels the last pair's second one is zero. See ``packing.py`` for what lies side by side.
"""

from __future__ import annotations

from ..arguments import Registers, entry, registers
from ..llvm.build import Function, Module, Value
from ..products.microkernel import Tile, local_array
from ..vectors import transposed
from .packing import PACK_NUMBERS, PACK_POINTERS, part_of


def pair_module(tile: Tile, how: str) -> str:
    """Code of ``pack_weights``.

    ``how``: run (all taps lie side by side), channels, outs, taps (nothing lies side by side), or narrow:
    pairs are of entries of the table, each the place of a channel's tap, or none if negative.
    """
    module = Module()
    with module.kernel("pack_weights") as f:
        a = registers(f, PACK_POINTERS, PACK_NUMBERS)
        with f.loop(f.begin, f.end) as task:
            number, (first, end), out, start = part_of(f, a, tile, task)
            taps = f.div(a.taps, 2) if how == "narrow" else a.taps
            target = f.at(a.packed, f.mul(number, f.mul(f.mul(a.padded, taps), tile.columns)), "i32")
            for j in range(tile.vectors):
                pack = _Vector(f, a, tile, f.at(a.weight, start, "i16"), target, out, j)
                if how == "narrow":
                    pack.entries()
                    continue
                with f.loop(first, end, tile.lanes if how == "channels" else 1) as k:
                    if how == "run":
                        pack.run(k)
                    elif how == "channels":
                        pack.channels(k, end)
                    elif how == "outs":
                        pack.outs(k)
                    else:
                        pack.gathered(k)
    return module.text()


class _Vector:
    """A vector of output channels, for all pairs of input channels and taps."""

    def __init__(self, f: Function, a: Registers, tile: Tile, source: str, target: str, out: str,
                 number: int) -> None:
        self.f, self.a, self.tile, self.lanes = f, a, tile, tile.lanes
        self.kind, self.held = f"<{tile.lanes} x i32>", f"<{tile.lanes} x i16>"
        self.source = f.at(source, f.mul(a.w_out, number * tile.lanes), "i16")
        self.target = f.at(target, number * tile.lanes, "i32")
        self.count = f.sub(f.sub(a.outs, out), number * tile.lanes)

    def _write(self, value: str, tap: str, k: str) -> None:
        f = self.f
        at = f.mul(f.add(f.mul(tap, self.a.padded), k), self.tile.columns)
        f.write(self.kind, value, f.at(self.target, at, "i32"))

    def _both(self, low: str, high: str) -> str:
        """Vectors of the weights of two channels, side by side."""
        f = self.f
        shift = "<" + ", ".join(["i32 16"] * self.lanes) + ">"
        wide = [f.emit(f"zext {self.held} {x} to {self.kind}") for x in (low, high)]
        return f.emit(f"or {self.kind} {wide[0]}, {f.emit(f'shl {self.kind} {wide[1]}, {shift}')}")

    def _halves(self, k: str) -> list[tuple[str, str]]:
        """Where the weights of both channels of a pair begin, and whether there is such a channel."""
        f, a = self.f, self.a
        channels = [f.mul(k, 2), f.add(f.mul(k, 2), 1)]
        exist = [f.compare("slt", c, a.channels) for c in channels]
        return [(f.at(self.source, f.mul(f.choose(good, "i64", c, 0), a.w_in), "i16"), good)
                for c, good in zip(channels, exist)]

    def run(self, k: str) -> None:
        """Taps side by side: a vector of them for each output channel and both input channels."""
        f, a, n = self.f, self.a, self.lanes
        mask, halves, rows = f.first_lanes(a.volume, n), self._halves(k), []
        for i in range(n):
            mine = f.compare("slt", i, self.count)
            shift = f.choose(mine, "i64", f.mul(a.w_out, i), 0)
            parts = []
            for at, exists in halves:
                good = f.choose(f.emit(f"and i1 {mine}, {exists}"), f"<{n} x i1>", mask, "zeroinitializer")
                parts.append(f.read_masked(self.held, f.at(at, shift, "i16"), good, 2))
            rows.append(self._both(*parts))
        buffer = self._kept(transposed(f, self.kind, rows))
        with f.loop(0, a.taps) as tap:
            where = f.mul(entry(f, a.table, tap), n)
            self._write(f.read(self.kind, f.at(buffer, where, "i32")), tap, k)

    def _kept(self, vectors: list[str]) -> str:
        f = self.f
        buffer = local_array(f, len(vectors) * self.lanes, "i32")
        for i, value in enumerate(vectors):
            f.write(self.kind, value, f.at(buffer, i * self.lanes, "i32"))
        return buffer

    def channels(self, k: str, end: str) -> None:
        """Channels side by side: pairs of them, for each tap a square that is transposed."""
        f, a, n = self.f, self.a, self.lanes
        channel = f.mul(k, 2)
        held, mask = f"<{2 * n} x i16>", f.first_lanes(f.sub(a.channels, channel), 2 * n)
        with f.loop(0, a.taps) as tap:
            start, rows = f.at(self.source, f.add(entry(f, a.table, tap), channel), "i16"), []
            for i in range(n):
                mine = f.compare("slt", i, self.count)
                good = f.choose(mine, f"<{2 * n} x i1>", mask, "zeroinitializer")
                at = f.at(start, f.choose(mine, "i64", f.mul(a.w_out, i), 0), "i16")
                rows.append(f.emit(f"bitcast {held} {f.read_masked(held, at, good, 2)} to {self.kind}"))
            buffer = self._kept(transposed(f, self.kind, rows))
            with f.loop(0, f.least(f.sub(end, k), n)) as row:
                self._write(f.read(self.kind, f.at(buffer, f.mul(row, n), "i32")), tap, f.add(k, row))

    def outs(self, k: str) -> None:
        """Output channels side by side: they are read as they are written."""
        f, a, n = self.f, self.a, self.lanes
        mask, halves = f.first_lanes(self.count, n), self._halves(k)
        with f.loop(0, a.taps) as tap:
            parts = []
            for at, exists in halves:
                good = f.choose(exists, f"<{n} x i1>", mask, "zeroinitializer")
                parts.append(f.read_masked(self.held, f.at(at, entry(f, a.table, tap), "i16"), good, 2))
            self._write(self._both(*parts), tap, k)

    def gathered(self, k: str) -> None:
        """Nothing side by side."""
        f, a, n = self.f, self.a, self.lanes
        buffer, halves = local_array(f, 2 * n, "i16"), self._halves(k)
        f.write(f"<{2 * n} x i16>", "zeroinitializer", buffer, 2)
        with f.loop(0, a.taps) as tap:
            place = entry(f, a.table, tap)
            for h, (at, exists) in enumerate(halves):
                with f.loop(0, self._present(exists)) as lane:
                    held = f.read("i16", f.at(at, f.add(place, f.mul(lane, a.w_out)), "i16"), 2)
                    f.write("i16", held, f.at(buffer, f.add(f.mul(lane, 2), h), "i16"), 2)
            self._write(f.read(self.kind, buffer), tap, k)

    def entries(self) -> None:
        """Of few channels: two entries of the table make a step."""
        f, a, n = self.f, self.a, self.lanes
        buffer = local_array(f, 2 * n, "i16")
        with f.loop(0, f.div(a.taps, 2)) as pair:
            f.write(f"<{2 * n} x i16>", "zeroinitializer", buffer, 2)
            for h in range(2):
                place = entry(f, a.table, f.add(f.mul(pair, 2), h))
                with f.loop(0, self._present(f.compare("sge", place, 0))) as lane:
                    held = f.read("i16", f.at(self.source, f.add(place, f.mul(lane, a.w_out)), "i16"), 2)
                    f.write("i16", held, f.at(buffer, f.add(f.mul(lane, 2), h), "i16"), 2)
            self._write(f.read(self.kind, buffer), pair, "0")

    def _present(self, exists: str) -> Value:
        f = self.f
        return f.choose(exists, "i64", f.most(f.least(self.count, self.lanes), 0), 0)
