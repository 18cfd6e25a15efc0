"""Weights as panels: packed[group][panel][tap][channel][lanes of a panel]; Winograd's matrices are taps.

A panel is as many output channels as the microkernel has columns. A task packs one panel of one group for a
run of input channels. Taps that lie side by side in memory (contiguous weights, at most a vector of them) are
read a vector for each output channel and transposed; others are read one by one.
"""

from __future__ import annotations

from ..llvm.build import Function, Module
from ..products.microkernel import Tile, local_array
from .arguments import Registers, entry, registers
from .vectors import Elements, transposed
from .winograd import transform, winograd_of

PACK_POINTERS = ("weight", "packed")
PACK_NUMBERS = ("w_group", "w_out", "w_in", "outs", "channels", "panels", "taps", "padded", "volume", "runs",
                "run")


def pack_module(e: Elements, tile: Tile, mode: str, lowest: bool) -> str:
    """Code of ``pack_weights``. ``mode``: taps, run (taps side by side), winograd2 or winograd4.

    ``lowest`` (Winograd): the kernel is turned by half, as the gradient by the input needs it.
    """
    module = Module()
    with module.kernel("pack_weights") as f:
        a = registers(f, PACK_POINTERS, PACK_NUMBERS)
        with f.loop(f.begin, f.end) as task:
            number = f.div(task, a.runs)
            run = f.mul(f.rem(task, a.runs), a.run)
            group, panel = f.div(number, a.panels), f.rem(number, a.panels)
            out = f.mul(panel, tile.columns)
            source = e.at(f, a.weight, f.add(f.mul(group, a.w_group), f.mul(out, a.w_out)))
            w = winograd_of(mode)
            taps = w.elements**2 if w else a.taps
            size = f.mul(f.mul(a.padded, taps), tile.columns)
            target = f.at(a.packed, f.mul(number, size), e.element)
            left = f.sub(a.outs, out)
            # A vector of output channels goes through all rows: the fewer places that are read, the better.
            for j in range(tile.vectors):
                with f.loop(run, f.least(f.add(run, a.run), a.padded)) as k:
                    _vector(f, a, e, tile, mode, lowest, (source, target, k, left), j)
    return module.text()


def _vector(f: Function, a: Registers, e: Elements, tile: Tile, mode: str, lowest: bool,
            at: tuple[str, str, str, str], number: int) -> None:
    """All taps of one input channel, of a vector of output channels."""
    source, target, k, left = at
    from_ = e.at(f, source, f.mul(k, a.w_in))
    to = f.at(target, f.mul(k, tile.columns), e.element)
    apart = f.mul(a.padded, tile.columns)
    outs = f.choose(f.compare("slt", k, a.channels), "i64", left, 0)
    first = number * e.lanes
    mine, place = f.sub(outs, first), f.at(to, first, e.element)
    if mode == "taps":
        _gathered(f, a, e, from_, place, first, mine, apart)
        return
    w = winograd_of(mode)
    columns = _columns(f, a, e, e.at(f, from_, f.mul(a.w_out, first)), mine, 9 if w else 1)
    if w:
        kernel = columns[8::-1] if lowest else columns[:9]
        rows = [kernel[r:r + 3] for r in (0, 3, 6)]
        for i, value in enumerate(transform(f, e.kind, w.weight, rows)):
            f.write(e.kind, value, f.at(place, f.mul(apart, i), e.element))
        return
    buffer = local_array(f, e.lanes * e.lanes, e.element)
    for i, value in enumerate(columns):
        f.write(e.kind, value, f.at(buffer, i * e.lanes, e.element))
    with f.loop(0, a.taps) as tap:
        where = f.mul(entry(f, a.table, tap), e.lanes)
        f.write(e.kind, f.read(e.kind, f.at(buffer, where, e.element)),
                f.at(place, f.mul(apart, tap), e.element))


def _columns(f: Function, a: Registers, e: Elements, source: str, outs: str, least: int) -> list[str]:
    """For each tap a vector of output channels; for ``least`` taps or more."""
    columns: list[str] = []
    for first in range(0, least, e.lanes):
        mask = f.first_lanes(f.sub(a.volume, first), e.lanes)
        rows = []
        for i in range(e.lanes):
            exists = f.compare("slt", i, outs)
            mine = f.choose(exists, f"<{e.lanes} x i1>", mask, "zeroinitializer")
            shift = f.choose(exists, "i64", f.add(f.mul(a.w_out, i), first), 0)
            rows.append(e.read(f, e.at(f, source, shift), mine))
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
