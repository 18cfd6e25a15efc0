"""Kernels of pooling where channels lie side by side: all lanes of a vector look at the same place.

A task is a row of results: one (n, a) of (N, C, A, B, W), written (N, A, B, W, C) in memory. The window of a
result is found once, as the first place, the end and the step in each dimension, for all channels; these come
in groups of vectors, so that what a loop over the window costs is shared. Of max_pool a later NaN replaces
all, of adaptive_max_pool the first one stays, as in the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..arguments import Registers, registers
from ..llvm.build import Function, Module, Variable
from ..vectors import Elements, arithmetic
from .pooling_maxima import greater

AXES = ("a", "b", "w")
PLACES = ("channels", "s_n", "s_a", "s_b", "s_w", "t_n", "t_a", "t_b", "t_w",
          *[f"{name}_{axis}" for name in ("space", "out") for axis in AXES])
WINDOWS = (*PLACES, *[f"{name}_{axis}" for name in ("kernel", "stride", "padding", "dilation")
                      for axis in AXES])
MEANS = (*WINDOWS, *[f"{name}_{axis}" for name in ("low", "high") for axis in AXES], "divisor")
MAXIMA_POINTERS, MEANS_POINTERS = ("source", "target", "positions"), ("source", "target")
GROUP = 4   # vectors of channels that go through a window together
_AHEAD = 4096       # bytes behind what is read that are asked for

Span = tuple[str, str, str]     # where a window begins and ends in a dimension, and its step


def _window(f: Function, a: Registers, axis: str, out: str) -> Span:
    """The part of a window with a stride that lies inside."""
    space, kernel, stride, padding, dilation = (
        getattr(a, f"{name}_{axis}") for name in ("space", "kernel", "stride", "padding", "dilation"))
    begin = f.sub(f.mul(out, stride), padding)
    before = f.div(f.add(f.most(f.sub(0, begin), 0), f.sub(dilation, 1)), dilation)
    end = f.add(begin, f.add(f.mul(f.sub(kernel, 1), dilation), 1))
    return f.add(begin, f.mul(before, dilation)), f.least(end, space), dilation


def _share(f: Function, a: Registers, axis: str, out: str) -> Span:
    """An adaptive window: from floor(i n / count) to ceil((i + 1) n / count)."""
    n, count = getattr(a, f"space_{axis}"), getattr(a, f"out_{axis}")
    end = f.add(f.mul(f.add(out, 1), n), f.sub(count, 1))
    return f.div(f.mul(out, n), count), f.div(end, count), "1"


class _Result:
    """A result of all channels: its window, and where it is read and written."""

    def __init__(self, f: Function, a: Registers, e: Elements, spans: list[Span], source: str, target: str,
                 out: tuple[str, str, str]) -> None:
        self.f, self.a, self.e, self.spans, self.out = f, a, e, spans, out
        self.source, self.target = source, target

    @contextmanager
    def window(self) -> Iterator[tuple[str, str]]:
        """Loops over the window: where an element lies in the source, and in the flattened space."""
        f, a = self.f, self.a
        with f.loop(*self.spans[0]) as i, f.loop(*self.spans[1]) as j, f.loop(*self.spans[2]) as k:
            yield self.place(i, j, k), f.add(f.mul(f.add(f.mul(i, a.space_b), j), a.space_w), k)

    def place(self, i: str, j: str, k: str) -> str:
        """Where an element lies in the source."""
        f, a = self.f, self.a
        return f.add(self.source, f.add(f.mul(i, a.s_a), f.add(f.mul(j, a.s_b), f.mul(k, a.s_w))))

    def in_groups(self, write: Callable[[_Result, str, list[str]], None]) -> None:
        """Write all channels: a group of vectors at a time, then vectors by themselves."""
        f, n = self.f, self.e.lanes
        size = GROUP * n
        whole = f.mul(f.div(self.a.channels, size), size)
        with f.loop(0, whole, size) as c:
            write(self, c, [""] * GROUP)
        with f.loop(whole, self.a.channels, n) as c:
            write(self, c, [f.first_lanes(f.sub(self.a.channels, c), n)])


def _module(e: Elements, title: str, pointers: tuple[str, ...], numbers: tuple[str, ...],
            span: Callable[[Function, Registers, str, str], Span],
            write: Callable[[_Result, str, list[str]], None]) -> str:
    module = Module()
    with module.kernel(title) as f:
        a = registers(f, pointers, numbers)
        with f.loop(f.begin, f.end) as task:
            n, i = f.div(task, a.out_a), f.rem(task, a.out_a)
            source, target = f.mul(n, a.s_n), f.add(f.mul(n, a.t_n), f.mul(i, a.t_a))
            first = span(f, a, "a", i)
            with f.loop(0, a.out_b) as j:
                second = span(f, a, "b", j)
                with f.loop(0, a.out_w) as k:
                    spans = [first, second, span(f, a, "w", k)]
                    to = f.add(target, f.add(f.mul(j, a.t_b), f.mul(k, a.t_w)))
                    _Result(f, a, e, spans, source, to, (i, j, k)).in_groups(write)
    return module.text()


def max_module(e: Elements) -> str:
    """Code of ``max_pool``."""
    return _module(e, "max_pool", MAXIMA_POINTERS, WINDOWS, _window, _maxima(greater))


def values_module(e: Elements) -> str:
    """Code of ``max_pool_values``."""
    return _module(e, "max_pool_values", MEANS_POINTERS, WINDOWS, _window, _write_values)


def _write_values(result: _Result, c: str, masks: list[str]) -> None:
    f, e = result.f, result.e
    best = [f.variable(e.kind, f.splat("0xFFF0000000000000", e.lanes, e.element)) for _ in masks]
    with result.window() as (place, _):
        for x, known in zip(_read(result, place, c, masks), best):
            better = greater(f, e, x, known.get())
            known.set(f.emit(f"select <{e.lanes} x i1> {better}, {e.kind} {x}, {e.kind} {known.get()}"))
    _written(result, c, masks, best)


def adaptive_module(e: Elements) -> str:
    """Code of ``adaptive_max_pool``."""
    return _module(e, "adaptive_max_pool", MAXIMA_POINTERS, PLACES, _share, _maxima(_first_nan))


def _first_nan(f: Function, e: Elements, x: str, known: str) -> str:
    better = f.emit(f"fcmp ugt {e.kind} {x}, {known}")
    return f.emit(f"and <{e.lanes} x i1> {better}, {f.emit(f'fcmp ord {e.kind} {known}, {known}')}")


def _maxima(is_better: Callable[[Function, Elements, str, str], str]
            ) -> Callable[[_Result, str, list[str]], None]:
    def write(result: _Result, c: str, masks: list[str]) -> None:
        f, a, e = result.f, result.a, result.e
        n, ints, bits = e.lanes, f"<{e.lanes} x i32>", f"<{e.lanes} x i1>"
        low = f.splat("0xFFF0000000000000", n, e.element)
        spans = result.spans
        first = f.add(f.mul(f.add(f.mul(spans[0][0], a.space_b), spans[1][0]), a.space_w), spans[2][0])
        start = f.splat(f.emit(f"trunc i64 {first} to i32"), n, "i32")
        best = [f.variable(e.kind, low) for _ in masks]
        where = [f.variable(ints, start) for _ in masks]
        with result.window() as (place, position):
            here = f.splat(f.emit(f"trunc i64 {position} to i32"), n, "i32")
            for x, known, at in zip(_read(result, place, c, masks), best, where):
                better = is_better(f, e, x, known.get())
                known.set(f.emit(f"select {bits} {better}, {e.kind} {x}, {e.kind} {known.get()}"))
                at.set(f.emit(f"select {bits} {better}, {ints} {here}, {ints} {at.get()}"))
        to = _written(result, c, masks, best)
        for k, (mask, at) in enumerate(zip(masks, where)):
            wide = f.emit(f"sext {ints} {at.get()} to <{n} x i64>")
            pointer = f.at(a.positions, f.add(to, k * n), "i64")
            if mask:
                f.write_masked(f"<{n} x i64>", wide, pointer, mask, 8)
            else:
                f.write(f"<{n} x i64>", wide, pointer, 8)
    return write


def _read(result: _Result, place: str, c: str, masks: list[str]) -> list[str]:
    """Vectors of some channels. Those behind them are asked for: a window goes to and fro between lines."""
    f, a, e = result.f, result.a, result.e
    at = f.add(place, c)
    places = [e.at(f, a.source, f.add(at, k * e.lanes)) for k in range(len(masks))]
    for from_ in places:
        f.prefetch(f.behind(from_, _AHEAD), 2)
    return [e.read(f, from_, mask) for from_, mask in zip(places, masks)]


def _written(result: _Result, c: str, masks: list[str], values: list[Variable]) -> str:
    f, a, e = result.f, result.a, result.e
    to = f.add(result.target, c)
    for k, (mask, value) in enumerate(zip(masks, values)):
        e.write(f, value.get(), e.at(f, a.target, f.add(to, k * e.lanes)), mask)
    return to


def average_module(e: Elements) -> str:
    """Code of ``avg_pool``."""
    return _module(e, "avg_pool", MEANS_POINTERS, MEANS, _window, _mean)


def _mean(result: _Result, c: str, masks: list[str]) -> None:
    f, e = result.f, result.e
    totals = [f.variable(e.kind, "zeroinitializer") for _ in masks]
    with result.window() as (place, _):
        for x, total in zip(_read(result, place, c, masks), totals):
            total.set(arithmetic(f, "fadd", e.kind, total.get(), x))
    count = f.emit(f"sitofp i64 {_count(result)} to {e.element}")
    number = f.splat(count, e.lanes, e.element)
    for total in totals:
        total.set(arithmetic(f, "fdiv", e.kind, total.get(), number))
    _written(result, c, masks, totals)


def _count(result: _Result) -> str:
    """What a sum is divided by: the divisor, or how many elements of its window count."""
    f, a, count = result.f, result.a, "1"
    for axis, out in zip(AXES, result.out):
        stride, padding, kernel, low, high = (
            getattr(a, f"{name}_{axis}") for name in ("stride", "padding", "kernel", "low", "high"))
        begin = f.sub(f.mul(out, stride), padding)
        count = f.mul(count, f.sub(f.least(f.add(begin, kernel), high), f.most(begin, low)))
    return f.choose(f.compare("ne", a.divisor, 0), "i64", a.divisor, count)


# --- what follows positions ---------------------------------------------------------------------------------

SCATTER_POINTERS = ("source", "positions", "target", "status")
SCATTER = ("size", "channels", "chunks", "chunk", "s_n", "s_c", "s_a", "s_b", "s_w", "p_n", "p_a", "p_b",
           "p_w", "out_a", "out_b", "out_w")


def scatter_module(e: Elements) -> str:
    """Code of ``pool_scatter``: a task adds the values of some channels of an image to zeros.

    The sums of 16-bit elements are kept in scratch memory, [place][channel of the chunk], and rounded last.
    """
    module, apart = Module(), e.itemsize != e.width
    with module.kernel("pool_scatter") as f:
        a = registers(f, SCATTER_POINTERS, SCATTER)
        with f.loop(f.begin, f.end) as task:
            n, first = f.div(task, a.chunks), f.mul(f.rem(task, a.chunks), a.chunk)
            count = f.least(a.chunk, f.sub(a.channels, first))
            target = e.at(f, a.target, f.add(f.mul(f.mul(n, a.size), a.channels), first))
            sums, step = (f.scratch, a.chunk) if apart else (target, a.channels)
            with f.loop(0, a.size) as i:
                f.clear(f.at(sums, f.mul(i, step), e.element), f.mul(count, e.width))
            _follow(f, a, e, (n, first, count), sums, step)
            if apart:
                with f.loop(0, a.size) as i, f.loop(0, count, e.lanes) as c:
                    mask = f.first_lanes(f.sub(count, c), e.lanes)
                    total = f.read_masked(e.kind, f.at(sums, f.add(f.mul(i, step), c), e.element), mask)
                    e.write(f, total, e.at(f, target, f.add(f.mul(i, a.channels), c)), mask)
    return module.text()


def _follow(f: Function, a: Registers, e: Elements, part: tuple[str, str, str], sums: str, step: str) -> None:
    n, first, count = part
    source = f.add(f.mul(n, a.s_n), f.mul(first, a.s_c))
    positions = f.add(f.mul(n, a.p_n), first)
    with f.loop(0, a.out_a) as i, f.loop(0, a.out_b) as j, f.loop(0, a.out_w) as k:
        x = f.add(source, f.add(f.mul(i, a.s_a), f.add(f.mul(j, a.s_b), f.mul(k, a.s_w))))
        y = f.add(positions, f.add(f.mul(i, a.p_a), f.add(f.mul(j, a.p_b), f.mul(k, a.p_w))))
        with f.loop(0, count) as c:
            position = f.read("i64", f.at(a.positions, f.add(y, c), "i64"), 8)
            good = f.compare("ult", position, a.size)
            with f.otherwise(good):
                f.write("i64", 1, a.status, 8)
            with f.when(good):
                value = e.read_one(f, e.at(f, a.source, f.add(x, f.mul(c, a.s_c))))
                place = f.at(sums, f.add(f.mul(position, step), c), e.element)
                total = arithmetic(f, "fadd", e.element, f.read(e.element, place, e.width), value)
                f.write(e.element, total, place, e.width)
