"""Kernels that follow positions: scattering to them and gathering from them; and adaptive maxima."""

from __future__ import annotations

from collections.abc import Callable

from ..arguments import Registers, registers
from ..llvm.build import Function, Module
from ..vectors import Elements, arithmetic
from .pooling import deliver_plane, plane_of_sums

FOLLOW_POINTERS = ("source", "positions", "target", "status")
FOLLOW = ("size", "inner", "out_a", "out_b", "out_w", "s_outer", "s_inner", "s_a", "s_b", "s_w", "p_outer",
          "p_inner", "p_a", "p_b", "p_w")


def _checked(f: Function, a: Registers, position: str) -> str:
    """Whether a position lies in the plane; where not, the program is told."""
    good = f.compare("ult", position, a.size)
    with f.otherwise(good):
        f.write("i64", 1, a.status, 8)
    return good


def _plane(f: Function, a: Registers, e: Elements, plane: str) -> tuple[str, str]:
    """Where a plane of values begins, and one of positions."""
    outer, inner = f.div(plane, a.inner), f.rem(plane, a.inner)
    source = e.at(f, a.source, f.add(f.mul(outer, a.s_outer), f.mul(inner, a.s_inner)))
    return source, f.at(a.positions, f.add(f.mul(outer, a.p_outer), f.mul(inner, a.p_inner)), "i64")


def _position(f: Function, a: Registers, positions: str, i: str, j: str, k: str) -> str:
    where = f.add(f.mul(i, a.p_a), f.add(f.mul(j, a.p_b), f.mul(k, a.p_w)))
    return f.read("i64", f.at(positions, where, "i64"), 8)


def scatter_module(e: Elements) -> str:
    """Code of ``pool_scatter``: values are added at their positions of a plane of zeros."""
    module = Module()
    with module.kernel("pool_scatter") as f:
        a = registers(f, FOLLOW_POINTERS, FOLLOW)
        with f.loop(f.begin, f.end) as plane:
            source, positions = _plane(f, a, e, plane)
            sums, target = plane_of_sums(f, e, a.target, plane, a.size)
            with f.loop(0, a.out_a) as i, f.loop(0, a.out_b) as j, f.loop(0, a.out_w) as k:
                position = _position(f, a, positions, i, j, k)
                with f.when(_checked(f, a, position)):
                    from_ = f.add(f.mul(i, a.s_a), f.add(f.mul(j, a.s_b), f.mul(k, a.s_w)))
                    value = e.read_one(f, e.at(f, source, from_))
                    place = f.at(sums, position, e.element)
                    total = arithmetic(f, "fadd", e.element, f.read(e.element, place, e.width), value)
                    f.write(e.element, total, place, e.width)
            deliver_plane(f, e, sums, target, a.size)
    return module.text()


GATHER = (*FOLLOW, "space_b", "space_w")


def gather_module(e: Elements) -> str:
    """Code of ``pool_gather``: the values at positions of a plane."""
    module = Module()
    with module.kernel("pool_gather") as f:
        a = registers(f, FOLLOW_POINTERS, GATHER)
        out_size = f.mul(f.mul(a.out_a, a.out_b), a.out_w)
        with f.loop(f.begin, f.end) as plane:
            source, positions = _plane(f, a, e, plane)
            target = f.variable("ptr", e.at(f, a.target, f.mul(plane, out_size)))
            with f.loop(0, a.out_a) as i, f.loop(0, a.out_b) as j, f.loop(0, a.out_w) as k:
                position = _position(f, a, positions, i, j, k)
                good = _checked(f, a, position)
                position = f.choose(good, "i64", position, 0)
                w, rest = f.rem(position, a.space_w), f.div(position, a.space_w)
                from_ = f.add(f.mul(f.div(rest, a.space_b), a.s_a),
                              f.add(f.mul(f.rem(rest, a.space_b), a.s_b), f.mul(w, a.s_w)))
                to = target.get()
                held = f.read(e.memory, e.at(f, source, from_), e.itemsize)
                f.write(e.memory, held, to, e.itemsize)
                target.set(e.at(f, to, 1))
    return module.text()


ADAPTIVE_POINTERS = ("source", "target", "positions")
ADAPTIVE = ("space_a", "space_b", "space_w", "inner", "out_a", "out_b", "out_w", "s_outer", "s_inner", "s_a",
            "s_b", "s_w")


def _window(f: Function, i: str, n: str, count: str) -> tuple[str, str]:
    """From floor(i n / count) to ceil((i + 1) n / count)."""
    after = f.mul(f.add(i, 1), n)
    return f.div(f.mul(i, n), count), f.div(f.add(after, f.sub(count, 1)), count)


def adaptive_module(e: Elements) -> str:
    """Code of ``adaptive_max_pool``: the first NaN wins, or else the first of the greatest."""
    return _adaptive(e, _greatest)


def adaptive_wide_module(e: Elements) -> str:
    """The same, where the elements of a window's rows are adjacent and several."""
    return _adaptive(e, _greatest_of_lanes)


def _adaptive(e: Elements, search: Callable[..., tuple[str, str]]) -> str:
    module = Module()
    with module.kernel("adaptive_max_pool") as f:
        a = registers(f, ADAPTIVE_POINTERS, ADAPTIVE)
        with f.loop(f.begin, f.end) as plane:
            start = f.add(f.mul(f.div(plane, a.inner), a.s_outer), f.mul(f.rem(plane, a.inner), a.s_inner))
            source = e.at(f, a.source, start)
            with f.loop(0, a.out_a) as i, f.loop(0, a.out_b) as j, f.loop(0, a.out_w) as k:
                best, where = search(f, a, e, source, (i, j, k))
                at = f.add(f.mul(f.add(f.mul(f.add(f.mul(plane, a.out_a), i), a.out_b), j), a.out_w), k)
                e.write_one(f, best, e.at(f, a.target, at))
                f.write("i64", where, f.at(a.positions, at, "i64"), 8)
    return module.text()


def _ends(f: Function, a: Registers, out: tuple[str, str, str]) -> list[tuple[str, str]]:
    return [_window(f, i, n, count) for i, n, count in
            zip(out, (a.space_a, a.space_b, a.space_w), (a.out_a, a.out_b, a.out_w))]


def _greatest(f: Function, a: Registers, e: Elements, source: str,
              out: tuple[str, str, str]) -> tuple[str, str]:
    best, where = f.variable(e.element, "0.0"), f.variable("i64", -1)
    ends = _ends(f, a, out)
    with f.loop(*ends[0]) as i, f.loop(*ends[1]) as j, f.loop(*ends[2]) as k:
        place = f.add(f.mul(i, a.s_a), f.add(f.mul(j, a.s_b), f.mul(k, a.s_w)))
        x, known = e.read_one(f, e.at(f, source, place)), best.get()
        # Greater, or not comparable to a number: a NaN replaces a number but not a NaN.
        better = f.emit(f"fcmp ugt {e.element} {x}, {known}")
        number = f.emit(f"fcmp ord {e.element} {known}, {known}")
        taken = f.emit(f"or i1 {f.emit(f'and i1 {better}, {number}')}, {f.compare('eq', where.get(), -1)}")
        best.set(f.choose(taken, e.element, x, known))
        position = f.add(f.mul(f.add(f.mul(i, a.space_b), j), a.space_w), k)
        where.set(f.choose(taken, "i64", position, where.get()))
    return best.get(), where.get()


def _greatest_of_lanes(f: Function, a: Registers, e: Elements, source: str,
                       out: tuple[str, str, str]) -> tuple[str, str]:
    """Each lane keeps the first of its greatest elements; then the first of those that win."""
    n, kind, ints, bits = e.lanes, e.kind, f"<{e.lanes} x i32>", f"<{e.lanes} x i1>"
    best, where = f.variable(kind, "zeroinitializer"), f.variable(ints, _all(n, -1))
    lanes = "<" + ", ".join(f"i32 {i}" for i in range(n)) + ">"
    ends = _ends(f, a, out)
    with f.loop(*ends[0]) as i, f.loop(*ends[1]) as j, f.loop(*ends[2], e.lanes) as k:
        row = e.at(f, source, f.add(f.mul(i, a.s_a), f.mul(j, a.s_b)))
        mask = f.first_lanes(f.sub(ends[2][1], k), n)
        x, known = e.read(f, e.at(f, row, k), mask), best.get()
        better = f.emit(f"and {bits} {f.emit(f'fcmp ugt {kind} {x}, {known}')}, "
                        f"{f.emit(f'fcmp ord {kind} {known}, {known}')}")
        new = f.emit(f"icmp slt {ints} {where.get()}, zeroinitializer")
        taken = f.emit(f"and {bits} {mask}, {f.emit(f'or {bits} {better}, {new}')}")
        best.set(f.emit(f"select {bits} {taken}, {kind} {x}, {kind} {known}"))
        start = f.add(f.mul(f.add(f.mul(i, a.space_b), j), a.space_w), k)
        here = f.emit(f"add {ints} {f.splat(f.emit(f'trunc i64 {start} to i32'), n, 'i32')}, {lanes}")
        where.set(f.emit(f"select {bits} {taken}, {ints} {here}, {ints} {where.get()}"))
    none = f.emit(f"fcmp uno {kind} {best.get()}, {best.get()}")
    some = f.call(f"llvm.vector.reduce.or.v{n}i1", "i1", [bits], [none])
    met = f.emit(f"icmp sge {ints} {where.get()}, zeroinitializer")
    low = f.splat("0xFFF0000000000000", n, e.element)
    top = f.greatest(kind, f.emit(f"select {bits} {met}, {kind} {best.get()}, {kind} {low}"))
    equal = f.emit(f"fcmp oeq {kind} {best.get()}, {f.splat(top, n, e.element)}")
    winning = f.emit(f"select i1 {some}, {bits} {none}, {bits} {f.emit(f'and {bits} {equal}, {met}')}")
    last = _all(n, (1 << 31) - 1)
    places = f.emit(f"select {bits} {winning}, {ints} {where.get()}, {ints} {last}")
    first = f.call(f"llvm.vector.reduce.smin.v{n}i32", "i32", [ints], [places])
    value = f.choose(some, e.element, "0x7FF8000000000000", top)
    return value, f.emit(f"sext i32 {first} to i64")


def _all(lanes: int, number: int) -> str:
    return "<" + ", ".join([f"i32 {number}"] * lanes) + ">"
