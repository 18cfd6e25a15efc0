"""Kernels of maxima over windows, with their positions or alone."""

from __future__ import annotations

from collections.abc import Callable

from ..arguments import Registers, registers
from ..llvm.build import Function, Module
from ..vectors import Elements
from .pooling import SPACE, Windows, taps

VALUE_POINTERS = ("source", "target")
PLACE_POINTERS = (*VALUE_POINTERS, "positions")


_GROUP = 4      # vectors of windows that go through taps together


def max_module(e: Elements, step: int) -> str:
    """Code of ``max_pool``. ``step``: distance of neighbouring windows in memory: 1, 2 or 0 for any."""
    return _module("max_pool", e, step, PLACE_POINTERS, _maxima, 1)


def values_module(e: Elements, step: int) -> str:
    """Code of ``max_pool_values``, in the same way."""
    return _module("max_pool_values", e, step, VALUE_POINTERS, _values, _GROUP if step else 1)


def _module(name: str, e: Elements, step: int, pointers: tuple[str, ...], write: Callable[..., None],
            group: int) -> str:
    module = Module()
    with module.kernel(name) as f:
        a = registers(f, pointers, SPACE)
        with f.loop(f.begin, f.end) as plane:
            windows = Windows(f, a, e, plane, step)
            with f.loop(0, a.out_a) as out_a, f.loop(0, a.out_b) as out_b:
                windows.ask_ahead((out_a, out_b))
                with f.loop(0, a.out_w, group * e.lanes) as w:
                    write(f, a, e, windows, (plane, out_a, out_b, w))
    return module.text()


def _values(f: Function, a: Registers, e: Elements, windows: Windows, at: tuple[str, str, str, str]) -> None:
    """Maxima without positions: of a group of vectors of windows that lie inside, or of one after another."""
    plane, out_a, out_b, w = at
    if not windows.step:
        _values_with_border(f, a, e, windows, at)
        return
    stop = f.add(w, _GROUP * e.lanes)
    whole = f.emit(f"and i1 {windows.are_inside(_first(f, a, w), _GROUP)}, {f.compare('sle', stop, a.out_w)}")
    with f.when(whole):
        _values_inside(f, a, e, windows, at)
    with f.otherwise(whole), f.loop(w, f.least(stop, a.out_w), e.lanes) as one:
        _values_with_border(f, a, e, windows, (plane, out_a, out_b, one))


def _values_inside(f: Function, a: Registers, e: Elements, windows: Windows,
                   at: tuple[str, str, str, str]) -> None:
    _, out_a, out_b, w = at
    best = [f.variable(e.kind, f.splat("0xFFF0000000000000", e.lanes, e.element)) for _ in range(_GROUP)]
    first = _first(f, a, w)
    with taps(f, a, (out_a, out_b)) as (at_a, at_b):
        row = windows.row(at_a, at_b)
        with f.loop(0, a.kernel_w) as k:
            start = f.add(first, f.mul(k, a.dilation_w))
            for i, known in enumerate(best):
                x = windows.read(row, f.add(start, i * windows.step * e.lanes), "")
                taken = greater(f, e, x, known.get())
                known.set(f.emit(f"select <{e.lanes} x i1> {taken}, {e.kind} {x}, {e.kind} {known.get()}"))
    to = _result(f, a, at)
    for i, known in enumerate(best):
        e.write(f, known.get(), e.at(f, a.target, f.add(to, i * e.lanes)))


def _values_with_border(f: Function, a: Registers, e: Elements, windows: Windows,
                        at: tuple[str, str, str, str]) -> None:
    """What lies outside a space that every window meets counts as -inf."""
    _, out_a, out_b, w = at
    bits = f"<{e.lanes} x i1>"
    best = f.variable(e.kind, f.splat("0xFFF0000000000000", e.lanes, e.element))
    begin, first = windows.coordinates(w), _first(f, a, w)
    live = f.first_lanes(f.sub(a.out_w, w), e.lanes)
    with taps(f, a, (out_a, out_b)) as (at_a, at_b):
        row = windows.row(at_a, at_b)
        with f.loop(0, a.kernel_w) as k:
            shift = f.mul(k, a.dilation_w)
            place = f.emit(f"add {windows.ints} {begin}, {windows.splat(shift)}")
            inside = _inside(windows, place, live)
            x = windows.read(row, f.add(first, shift), inside)
            taken = f.emit(f"and {bits} {greater(f, e, x, best.get())}, {inside}")
            best.set(f.emit(f"select {bits} {taken}, {e.kind} {x}, {e.kind} {best.get()}"))
    e.write(f, best.get(), e.at(f, a.target, _result(f, a, at)), live)


def _first(f: Function, a: Registers, w: str) -> str:
    """Where a window begins along w."""
    return f.sub(f.mul(w, a.stride_w), a.padding_w)


def _inside(windows: Windows, place: str, live: str) -> str:
    """Of which live windows the tap lies in the space along w."""
    inside = windows.between(place, windows.splat("0"), windows.splat(windows.a.space_w))
    return windows.f.emit(f"and <{windows.e.lanes} x i1> {inside}, {live}")


def greater(f: Function, e: Elements, x: str, best: str) -> str:
    """A NaN is greater than anything, and a later one replaces it, as in the interpreter."""
    greater = f.emit(f"fcmp ogt {e.kind} {x}, {best}")
    return f.emit(f"or <{e.lanes} x i1> {greater}, {f.emit(f'fcmp uno {e.kind} {x}, {x}')}")


def _result(f: Function, a: Registers, at: tuple[str, str, str, str]) -> str:
    """The place of a result."""
    plane, out_a, out_b, w = at
    return f.add(f.mul(f.add(f.mul(f.add(f.mul(plane, a.out_a), out_a), a.out_b), out_b), a.out_w), w)


def _maxima(f: Function, a: Registers, e: Elements, windows: Windows, at: tuple[str, str, str, str]) -> None:
    _, out_a, out_b, w = at
    n, ints, bits = e.lanes, windows.ints, f"<{e.lanes} x i1>"
    best, where = f.variable(e.kind, "zeroinitializer"), f.variable(ints, "zeroinitializer")
    valid = f.variable(bits, "zeroinitializer")
    begin, first = windows.coordinates(w), _first(f, a, w)
    live = f.first_lanes(f.sub(a.out_w, w), n)
    with taps(f, a, (out_a, out_b)) as (at_a, at_b):
        row = windows.row(at_a, at_b)
        line = windows.splat(f.mul(f.add(f.mul(at_a, a.space_b), at_b), a.space_w))
        with f.loop(0, a.kernel_w) as k:
            shift = f.mul(k, a.dilation_w)
            place = f.emit(f"add {ints} {begin}, {windows.splat(shift)}")
            inside = _inside(windows, place, live)
            x = windows.read(row, f.add(first, shift), inside)
            better = greater(f, e, x, best.get())
            seen = valid.get()
            new = f.emit(f"xor {bits} {seen}, <{', '.join(['i1 true'] * n)}>")
            taken = f.emit(f"and {bits} {f.emit(f'or {bits} {better}, {new}')}, {inside}")
            best.set(f.emit(f"select {bits} {taken}, {e.kind} {x}, {e.kind} {best.get()}"))
            position = f.emit(f"add {ints} {place}, {line}")
            where.set(f.emit(f"select {bits} {taken}, {ints} {position}, {ints} {where.get()}"))
            valid.set(f.emit(f"or {bits} {seen}, {inside}"))
    result = _result(f, a, at)
    e.write(f, best.get(), e.at(f, a.target, result), live)
    wide = f.emit(f"sext {ints} {where.get()} to <{n} x i64>")
    f.write_masked(f"<{n} x i64>", wide, f.at(a.positions, result, "i64"), live, 8)
