"""Kernels of pooling: windows, averages, and what carries gradients back.

A task is a plane: one (n, c) of (N, C, *space), the space written with three dimensions. Windows are taken
for a vector of neighbouring results at once: for each tap, the elements that the windows meet are read with a
mask of those that lie inside, so padding is never stored. With stride 2 two vectors are read and every other
element is kept; other strides gather.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..arguments import Registers, registers
from ..llvm.build import Function, Module
from ..llvm.compiling.machine import LINE
from ..llvm.lanes import gather_lanes
from ..vectors import Elements, arithmetic

SPACE = ("space_a", "space_b", "space_w", "s_outer", "s_inner", "s_a", "s_b", "s_w", "inner", "out_a",
         "out_b", "out_w", "kernel_a", "kernel_b", "kernel_w", "stride_a", "stride_b", "stride_w",
         "padding_a", "padding_b", "padding_w", "dilation_a", "dilation_b", "dilation_w")

_AHEAD = 4096           # bytes behind a row that are asked for,
_MOST_AHEAD = 4096      # at most so many at once


class Windows:
    """A vector of neighbouring windows, and the tap that is looked at."""

    def __init__(self, f: Function, a: Registers, e: Elements, plane: str, step: int) -> None:
        self.f, self.a, self.e, self.step = f, a, e, step
        n = e.lanes
        self.ints = f"<{n} x i32>"
        self.lane = "<" + ", ".join(f"i32 {i}" for i in range(n)) + ">"
        start = f.add(f.mul(f.div(plane, a.inner), a.s_outer), f.mul(f.rem(plane, a.inner), a.s_inner))
        self.source = e.at(f, a.source, start)

    def splat(self, value: str) -> str:
        """A vector of equal 32-bit numbers."""
        return self.f.splat(self.f.emit(f"trunc i64 {value} to i32"), self.e.lanes, "i32")

    def coordinates(self, w: str) -> str:
        """For each lane, where its window begins along w."""
        f, a = self.f, self.a
        numbers = f.emit(f"mul {self.ints} {self.lane}, {self.splat(a.stride_w)}")
        return f.emit(f"add {self.ints} {numbers}, {self.splat(f.sub(f.mul(w, a.stride_w), a.padding_w))}")

    def are_inside(self, first: str, vectors: int) -> str:
        """Whether all windows of so many vectors, which begin at ``first``, lie in the space along w."""
        f, a, n = self.f, self.a, vectors * self.e.lanes
        last = f.add(first, f.add(f.mul(f.sub(a.kernel_w, 1), a.dilation_w), self.step * n))
        return f.emit(f"and i1 {f.compare('sge', first, 0)}, {f.compare('sle', last, a.space_w)}")

    def between(self, x: str, low: str, high: str) -> str:
        """Lanes with low <= x < high."""
        f = self.f
        above = f.emit(f"icmp sge {self.ints} {x}, {low}")
        below = f.emit(f"icmp slt {self.ints} {x}, {high}")
        return f.emit(f"and <{self.e.lanes} x i1> {above}, {below}")

    def row(self, at_a: str, at_b: str) -> str:
        """The place of a row in the source."""
        f, a = self.f, self.a
        return self.e.at(f, self.source, f.add(f.mul(at_a, a.s_a), f.mul(at_b, a.s_b)))

    def ask_ahead(self, out: tuple[str, str]) -> None:
        """Ask for what is read some rows later, while a row of windows ``out`` is computed.

        Processors do not find out by themselves where masked vectors lead, and wait for each line.
        """
        f, a, e = self.f, self.a, self.e
        if not self.step:
            return  # rows of neighbouring planes lie between those of this one
        several = f.compare("sgt", a.out_b, 1)
        row = self.row(f.mul(out[0], a.stride_a), f.mul(out[1], a.stride_b))
        step = f.choose(several, "i64", f.mul(a.stride_b, a.s_b), f.mul(a.stride_a, a.s_a))
        size = f.least(f.mul(step, e.itemsize), _MOST_AHEAD)
        with f.loop(0, size, LINE) as place:
            f.prefetch(f.behind(row, f.add(place, _AHEAD)), 2)

    def read(self, row: str, first: str, inside: str) -> str:
        """The elements first, first + stride, ... of a row; zero where not ``inside``, if that is given."""
        f, a, e, n = self.f, self.a, self.e, self.e.lanes
        if self.step == 1:
            return e.read(f, e.at(f, row, first), inside)
        if self.step == 2:
            zero = self.splat("0")
            limit = self.splat(a.space_w)
            halves = []
            for k in range(2):
                at = f.add(first, k * n)
                places = f.emit(f"add {self.ints} {self.lane}, {self.splat(at)}")
                mask = self.between(places, zero, limit) if inside else ""
                halves.append(e.read(f, e.at(f, row, at), mask))
            picks = ", ".join(f"i32 {2 * i}" for i in range(n))
            return f.emit(f"shufflevector {e.kind} {halves[0]}, {e.kind} {halves[1]}, <{n} x i32> <{picks}>")
        start = e.at(f, row, f.mul(first, a.s_w))
        return gather_lanes(f, e.dtype, n, start, f.mul(a.stride_w, a.s_w), inside)


@contextmanager
def taps(f: Function, a: Registers, out: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Loops over the rows of a window that lie inside: yields their coordinates."""
    with f.loop(0, a.kernel_a) as k_a, f.loop(0, a.kernel_b) as k_b:
        at_a = f.add(f.sub(f.mul(out[0], a.stride_a), a.padding_a), f.mul(k_a, a.dilation_a))
        at_b = f.add(f.sub(f.mul(out[1], a.stride_b), a.padding_b), f.mul(k_b, a.dilation_b))
        good = f.emit(f"and i1 {f.compare('ult', at_a, a.space_a)}, {f.compare('ult', at_b, a.space_b)}")
        with f.when(good):
            yield at_a, at_b


# --- averages -----------------------------------------------------------------------------------------------

# Elements of a window that count: from ``low`` (the padding's begin, or 0) to ``high`` in each dimension; or
# ``divisor`` if that is not 0.
AVERAGE = (*SPACE, "low_a", "low_b", "low_w", "high_a", "high_b", "high_w", "divisor")
AVERAGE_POINTERS = ("source", "target")


INSIDE = -1     # instead of a step: vectors lie within windows, which are wide and few


def average_module(e: Elements, step: int) -> str:
    """Code of ``avg_pool``."""
    module = Module()
    with module.kernel("avg_pool") as f:
        a = registers(f, AVERAGE_POINTERS, AVERAGE)
        with f.loop(f.begin, f.end) as plane:
            windows = Windows(f, a, e, plane, step)
            each, write = (1, _average) if step == INSIDE else (e.lanes, _averages)
            with f.loop(0, a.out_a) as out_a, f.loop(0, a.out_b) as out_b:
                windows.ask_ahead((out_a, out_b))
                with f.loop(0, a.out_w, each) as w:
                    write(f, a, e, windows, (plane, out_a, out_b, w))
    return module.text()


def _average(f: Function, a: Registers, e: Elements, windows: Windows,
             at: tuple[str, str, str, str]) -> None:
    """Of one window: its rows are read as vectors, whose lanes are added up last."""
    plane, out_a, out_b, w = at
    total = f.variable(e.kind, "zeroinitializer")
    begin = f.sub(f.mul(w, a.stride_w), a.padding_w)
    low, high = f.most(begin, 0), f.least(f.add(begin, a.kernel_w), a.space_w)
    with taps(f, a, (out_a, out_b)) as (at_a, at_b):
        row = windows.row(at_a, at_b)
        with f.loop(low, high, e.lanes) as k:
            x = e.read(f, e.at(f, row, k), f.first_lanes(f.sub(high, k), e.lanes))
            total.set(arithmetic(f, "fadd", e.kind, total.get(), x))
    wide = _counted(f, w, a.stride_w, a.padding_w, a.kernel_w, a.low_w, a.high_w)
    count = f.mul(wide, _rows_counted(f, a, out_a, out_b))
    count = f.choose(f.compare("ne", a.divisor, 0), "i64", a.divisor, count)
    number = f.emit(f"sitofp i64 {count} to {e.element}")
    mean = f.emit(f"fdiv {e.element} {f.total(e.kind, total.get())}, {number}")
    result = f.add(f.mul(f.add(f.mul(f.add(f.mul(plane, a.out_a), out_a), a.out_b), out_b), a.out_w), w)
    e.write_one(f, mean, e.at(f, a.target, result))


def _averages(f: Function, a: Registers, e: Elements, windows: Windows,
              at: tuple[str, str, str, str]) -> None:
    plane, out_a, out_b, w = at
    ints = windows.ints
    total = f.variable(e.kind, "zeroinitializer")
    begin = windows.coordinates(w)
    first = f.sub(f.mul(w, a.stride_w), a.padding_w)
    live = f.first_lanes(f.sub(a.out_w, w), e.lanes)
    with taps(f, a, (out_a, out_b)) as (at_a, at_b):
        row = windows.row(at_a, at_b)
        with f.loop(0, a.kernel_w) as k:
            place = f.emit(f"add {ints} {begin}, {windows.splat(k)}")
            inside = windows.between(place, windows.splat("0"), windows.splat(a.space_w))
            inside = f.emit(f"and <{e.lanes} x i1> {inside}, {live}")
            x = windows.read(row, f.add(first, k), inside)
            kept = f.emit(f"select <{e.lanes} x i1> {inside}, {e.kind} {x}, {e.kind} zeroinitializer")
            total.set(arithmetic(f, "fadd", e.kind, total.get(), kept))
    last = f.emit(f"add {ints} {begin}, {windows.splat(a.kernel_w)}")
    high, low = windows.splat(a.high_w), windows.splat(a.low_w)
    bits = f"<{e.lanes} x i1>"
    ends = f.emit(f"icmp slt {ints} {last}, {high}")
    last = f.emit(f"select {bits} {ends}, {ints} {last}, {ints} {high}")
    begins = f.emit(f"icmp sgt {ints} {begin}, {low}")
    begin = f.emit(f"select {bits} {begins}, {ints} {begin}, {ints} {low}")
    width = f.emit(f"sub {ints} {last}, {begin}")
    count = f.emit(f"mul {ints} {width}, {windows.splat(_rows_counted(f, a, out_a, out_b))}")
    fixed = f.compare("ne", a.divisor, 0)
    count = f.emit(f"select i1 {fixed}, {ints} {windows.splat(a.divisor)}, {ints} {count}")
    mean = f.emit(f"fdiv {e.kind} {total.get()}, {f.emit(f'sitofp {ints} {count} to {e.kind}')}")
    result = f.add(f.mul(f.add(f.mul(f.add(f.mul(plane, a.out_a), out_a), a.out_b), out_b), a.out_w), w)
    e.write(f, mean, e.at(f, a.target, result), live)


def _counted(f: Function, out: str, stride: str, padding: str, kernel: str, low: str, high: str) -> str:
    begin = f.sub(f.mul(out, stride), padding)
    return f.sub(f.least(f.add(begin, kernel), high), f.most(begin, low))


def _rows_counted(f: Function, a: Registers, out_a: str, out_b: str) -> str:
    return f.mul(_counted(f, out_a, a.stride_a, a.padding_a, a.kernel_a, a.low_a, a.high_a),
                 _counted(f, out_b, a.stride_b, a.padding_b, a.kernel_b, a.low_b, a.high_b))


def average_backward_module(e: Elements) -> str:
    """Code of ``avg_pool_backward``: the source is the gradient of the means (out), the target the space."""
    module = Module()
    with module.kernel("avg_pool_backward") as f:
        a = registers(f, AVERAGE_POINTERS, AVERAGE)
        size = f.mul(f.mul(a.space_a, a.space_b), a.space_w)
        with f.loop(f.begin, f.end) as plane:
            start = f.add(f.mul(f.div(plane, a.inner), a.s_outer), f.mul(f.rem(plane, a.inner), a.s_inner))
            source = e.at(f, a.source, start)
            sums, target = plane_of_sums(f, e, a.target, plane, size)
            with f.loop(0, a.out_a) as out_a, f.loop(0, a.out_b) as out_b:
                rows = _rows_counted(f, a, out_a, out_b)
                from_ = e.at(f, source, f.add(f.mul(out_a, a.s_a), f.mul(out_b, a.s_b)))
                with f.loop(0, a.out_w) as w:
                    wide = _counted(f, w, a.stride_w, a.padding_w, a.kernel_w, a.low_w, a.high_w)
                    count = f.choose(f.compare("ne", a.divisor, 0), "i64", a.divisor, f.mul(rows, wide))
                    value = e.read_one(f, e.at(f, from_, f.mul(w, a.s_w)))
                    number = f.emit(f"sitofp i64 {count} to {e.element}")
                    share = f.emit(f"fdiv {e.element} {value}, {number}")
                    _spread(f, a, e, share, sums, (out_a, out_b, w))
            deliver_plane(f, e, sums, target, size)
    return module.text()


def _spread(f: Function, a: Registers, e: Elements, share: str, sums: str, out: tuple[str, str, str]) -> None:
    begin = f.sub(f.mul(out[2], a.stride_w), a.padding_w)
    low, high = f.most(begin, 0), f.least(f.add(begin, a.kernel_w), a.space_w)
    with taps(f, a, out[:2]) as (at_a, at_b):
        row = f.mul(f.add(f.mul(at_a, a.space_b), at_b), a.space_w)
        with f.loop(low, high) as w:
            place = f.at(sums, f.add(row, w), e.element)
            total = arithmetic(f, "fadd", e.element, f.read(e.element, place, e.width), share)
            f.write(e.element, total, place, e.width)


def plane_of_sums(f: Function, e: Elements, result: str, plane: str, size: str) -> tuple[str, str]:
    """Zeros to add to, and where they belong: the result itself, or scratch memory for 16-bit elements."""
    target = e.at(f, result, f.mul(plane, size))
    sums = target if e.itemsize == e.width else f.scratch
    f.clear(sums, f.mul(size, e.width))
    return sums, target


def deliver_plane(f: Function, e: Elements, sums: str, target: str, size: str) -> None:
    """Round the sums of a plane to 16-bit elements."""
    if e.itemsize != e.width:
        with f.loop(0, size) as i:
            e.write_one(f, f.read(e.element, f.at(sums, i, e.element), e.width), e.at(f, target, i))
