"""Weights as panels: packed[group][panel][tap][channel][lanes of a panel]; Winograd's matrices are taps.

A panel is as many output channels as the microkernel has columns. A task packs one panel of one group for a
run of input channels. Taps that lie side by side in memory (contiguous weights, at most a vector of them) are
read a vector for each output channel and transposed. So are input channels that lie side by side (weights
that are channels last, or have one tap); output channels that do (the same, of the gradient by the input) are
read as they are. Others are read one by one.
"""

from __future__ import annotations

from ..arguments import Registers, entry, registers
from ..llvm.build import Function, Module
from ..products.microkernel import Tile, local_array
from ..vectors import Elements, kept, transposed
from .winograd import transform, winograd_of

PACK_POINTERS = ("weight", "packed")
PACK_NUMBERS = ("w_group", "w_out", "w_in", "outs", "channels", "panels", "taps", "padded", "volume", "runs",
                "run")

# Input channels between what is read and what is asked for; also of single vectors, which take less time.
_AHEAD, _VECTORS_AHEAD = 6, 64


def pack_module(e: Elements, tile: Tile, mode: str, lowest: bool, beside: str) -> str:
    """Code of ``pack_weights``. ``mode``: taps, run (taps side by side), or one of Winograd's.

    ``lowest`` (Winograd): the kernel is turned by half, as the gradient by the input needs it. ``beside``:
    what lies side by side in memory, "taps" (or nothing), "outs" or "channels".
    """
    module = Module()
    with module.kernel("pack_weights") as f:
        a = registers(f, PACK_POINTERS, PACK_NUMBERS)
        with f.loop(f.begin, f.end) as task:
            number, (run, end), out, start = part_of(f, a, tile, task)
            source = e.at(f, a.weight, start)
            w = winograd_of(mode)
            taps = w.weights**2 if w else a.taps
            size = f.mul(f.mul(a.padded, taps), tile.columns)
            target = f.at(a.packed, f.mul(number, size), e.element)
            left = f.sub(a.outs, out)
            # A vector of output channels goes through all rows: the fewer places that are read, the better.
            for j in range(tile.vectors):
                with f.loop(run, end, e.lanes if beside == "channels" else 1) as k:
                    pack = _Vector(f, a, e, tile, mode, lowest, (source, target, k, left), j)
                    if beside == "channels":
                        pack.channels(f.sub(end, k))
                    elif beside == "outs":
                        pack.outs_beside()
                    else:
                        pack.taps_beside()
    return module.text()


def part_of(f: Function, a: Registers, tile: Tile, task: str) -> tuple[str, tuple[str, str], str, str]:
    """A task's panel, run of channels, first output channel, and where the weights of this one lie."""
    number, run = f.div(task, a.runs), f.mul(f.rem(task, a.runs), a.run)
    out = f.mul(f.rem(number, a.panels), tile.columns)
    start = f.add(f.mul(f.div(number, a.panels), a.w_group), f.mul(out, a.w_out))
    return number, (run, f.least(f.add(run, a.run), a.padded)), out, start


class _Vector:
    """All taps of an input channel, or of a vector of them, of a vector of output channels."""

    def __init__(self, f: Function, a: Registers, e: Elements, tile: Tile, mode: str, lowest: bool,
                 at: tuple[str, str, str, str], number: int) -> None:
        self.f, self.a, self.e, self.tile, self.mode, self.lowest = f, a, e, tile, mode, lowest
        source, target, self.k, left = at
        self.first = number * e.lanes
        self.source = e.at(f, source, f.mul(self.k, a.w_in))
        self.place = f.at(f.at(target, f.mul(self.k, tile.columns), e.element), self.first, e.element)
        self.apart = f.mul(a.padded, tile.columns)
        self.left = f.sub(left, self.first)
        self.outs = f.sub(f.choose(f.compare("slt", self.k, a.channels), "i64", left, 0), self.first)

    def taps_beside(self) -> None:
        """Taps that follow one another are read a vector for each output channel, others one by one."""
        f, a, e = self.f, self.a, self.e
        if self.mode == "taps":
            _gathered(f, a, e, self.source, self.place, self.first, self.outs, self.apart)
            return
        w = winograd_of(self.mode)
        source = e.at(f, self.source, f.mul(a.w_out, self.first))
        columns = _columns(f, a, e, source, self.outs, 9 if w else 1)
        if w:
            self._transform(columns, self.place)
            return
        buffer = local_array(f, e.lanes * e.lanes, e.element)
        for i, value in enumerate(columns):
            f.write(e.kind, value, f.at(buffer, i * e.lanes, e.element))
        with f.loop(0, a.taps) as tap:
            where = f.mul(entry(f, a.table, tap), e.lanes)
            f.write(e.kind, f.read(e.kind, f.at(buffer, where, e.element)),
                    f.at(self.place, f.mul(self.apart, tap), e.element))

    def outs_beside(self) -> None:
        """A vector of output channels of a tap is read as it is written."""
        f, a, e = self.f, self.a, self.e
        source, mask = e.at(f, self.source, self.first), f.first_lanes(self.outs, e.lanes)
        if winograd_of(self.mode):
            self._transform([e.read(f, e.at(f, source, entry(f, a.table, tap)), mask) for tap in range(9)],
                            self.place)
            return
        with f.loop(0, a.taps) as tap:
            at = e.at(f, source, entry(f, a.table, tap))
            f.prefetch(e.at(f, at, f.mul(a.w_in, _VECTORS_AHEAD)), 1)
            f.write(e.kind, e.read(f, at, mask), f.at(self.place, f.mul(self.apart, tap), e.element))

    def channels(self, left: str) -> None:
        """For each tap a square of channels, transposed; ``left``: input channels up to the end."""
        f, a, e = self.f, self.a, self.e
        rows = f.least(left, e.lanes)
        if not winograd_of(self.mode):
            with f.loop(0, a.taps) as tap:
                square = kept(f, e, self._square(entry(f, a.table, tap)))
                to = f.at(self.place, f.mul(self.apart, tap), e.element)
                with f.loop(0, rows) as i:
                    f.write(e.kind, f.read(e.kind, f.at(square, f.mul(i, e.lanes), e.element)),
                            f.at(to, f.mul(i, self.tile.columns), e.element))
            return
        squares = local_array(f, 9 * e.lanes * e.lanes, e.element)
        with f.loop(0, 9) as tap:
            at = f.at(squares, f.mul(tap, e.lanes * e.lanes), e.element)
            for n, value in enumerate(self._square(entry(f, a.table, tap))):
                f.write(e.kind, value, f.at(at, n * e.lanes, e.element))
        with f.loop(0, rows) as i:
            line = f.at(squares, f.mul(i, e.lanes), e.element)
            columns = [f.read(e.kind, f.at(line, tap * e.lanes * e.lanes, e.element)) for tap in range(9)]
            self._transform(columns, f.at(self.place, f.mul(i, self.tile.columns), e.element))

    def _square(self, place: str) -> list[str]:
        """For each of a vector of input channels a vector of output channels of a tap; missing are zeros."""
        f, a, e = self.f, self.a, self.e
        mask = f.first_lanes(f.sub(a.channels, self.k), e.lanes)
        rows = []
        for i in range(e.lanes):
            exists = f.compare("slt", i, self.left)
            shift = f.choose(exists, "i64", f.add(f.mul(a.w_out, self.first + i), place), 0)
            rows.append(e.read(f, e.at(f, self.source, shift),
                               f.choose(exists, f"<{e.lanes} x i1>", mask, "zeroinitializer")))
        return transposed(f, e.kind, rows)

    def _transform(self, columns: list[str], place: str) -> None:
        f, e, w = self.f, self.e, winograd_of(self.mode)
        assert w is not None
        kernel = columns[8::-1] if self.lowest else columns[:9]
        rows = [kernel[r:r + 3] for r in (0, 3, 6)]
        for i, value in enumerate(transform(f, e.kind, w.weight, rows)):
            f.write(e.kind, value, f.at(place, f.mul(self.apart, i), e.element))


def _columns(f: Function, a: Registers, e: Elements, source: str, outs: str, least: int) -> list[str]:
    """For each tap a vector of output channels; for ``least`` taps or more."""
    columns: list[str] = []
    for first in range(0, least, e.lanes):
        mask = f.first_lanes(f.sub(a.volume, first), e.lanes)
        rows = []
        for i in range(e.lanes):
            exists = f.compare("slt", i, outs)
            mine = f.choose(exists, f"<{e.lanes} x i1>", mask, "zeroinitializer")
            at = e.at(f, source, f.choose(exists, "i64", f.add(f.mul(a.w_out, i), first), 0))
            f.prefetch(e.at(f, at, f.mul(a.w_in, _AHEAD)), 1)
            rows.append(e.read(f, at, mine))
        columns += transposed(f, e.kind, rows)
    return columns


def _gathered(f: Function, a: Registers, e: Elements, source: str, target: str, first: int, outs: str,
              apart: str) -> None:
    with f.loop(0, a.taps) as tap:
        to = f.at(target, f.mul(apart, tap), e.element)
        place = entry(f, a.table, tap)
        from_ = e.at(f, source, place)
        f.write(e.kind, "zeroinitializer", to)
        count = f.choose(f.compare("slt", place, 0), "i64", 0, f.least(outs, e.lanes))
        with f.loop(0, count) as lane:
            value = e.read_one(f, e.at(f, from_, f.mul(f.add(lane, first), a.w_out)))
            f.write(e.element, value, f.at(to, lane, e.element), e.width)
