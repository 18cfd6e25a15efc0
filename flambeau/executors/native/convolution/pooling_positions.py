"""Kernels that follow positions: scattering to them and gathering from them; and adaptive maxima."""

from __future__ import annotations

from ..llvm.build import Function, Module
from .arguments import Registers, registers
from .pooling import deliver_plane, plane_of_sums
from .vectors import Elements, arithmetic

FOLLOW_POINTERS = ("source", "positions", "target", "status")
FOLLOW = ("size", "inner", "out_a", "out_b", "out_w", "s_outer", "s_inner", "s_a", "s_b", "s_w", "p_outer",
          "p_inner", "p_a", "p_b", "p_w")


def _checked(f: Function, a: Registers, position: str) -> str:
    """Whether a position lies in the plane; where not, the program is told."""
    good = f.compare("ult", position, a.size)
    with f.otherwise(good):
        f.write("i64", 1, a.status, 8)
    return good


def scatter_module(e: Elements) -> str:
    """Code of ``pool_scatter``: values are added at their positions of a plane of zeros."""
    module = Module()
    with module.kernel("pool_scatter") as f:
        a = registers(f, FOLLOW_POINTERS, FOLLOW)
        with f.loop(f.begin, f.end) as plane:
            outer, inner = f.div(plane, a.inner), f.rem(plane, a.inner)
            source = e.at(f, a.source, f.add(f.mul(outer, a.s_outer), f.mul(inner, a.s_inner)))
            positions = f.at(a.positions, f.add(f.mul(outer, a.p_outer), f.mul(inner, a.p_inner)), "i64")
            sums, target = plane_of_sums(f, e, a.target, plane, a.size)
            with f.loop(0, a.out_a) as i, f.loop(0, a.out_b) as j, f.loop(0, a.out_w) as k:
                where = f.add(f.mul(i, a.p_a), f.add(f.mul(j, a.p_b), f.mul(k, a.p_w)))
                position = f.read("i64", f.at(positions, where, "i64"), 8)
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
            outer, inner = f.div(plane, a.inner), f.rem(plane, a.inner)
            source = e.at(f, a.source, f.add(f.mul(outer, a.s_outer), f.mul(inner, a.s_inner)))
            positions = f.at(a.positions, f.add(f.mul(outer, a.p_outer), f.mul(inner, a.p_inner)), "i64")
            target = f.variable("ptr", e.at(f, a.target, f.mul(plane, out_size)))
            with f.loop(0, a.out_a) as i, f.loop(0, a.out_b) as j, f.loop(0, a.out_w) as k:
                where = f.add(f.mul(i, a.p_a), f.add(f.mul(j, a.p_b), f.mul(k, a.p_w)))
                position = f.read("i64", f.at(positions, where, "i64"), 8)
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
    module = Module()
    with module.kernel("adaptive_max_pool") as f:
        a = registers(f, ADAPTIVE_POINTERS, ADAPTIVE)
        with f.loop(f.begin, f.end) as plane:
            start = f.add(f.mul(f.div(plane, a.inner), a.s_outer), f.mul(f.rem(plane, a.inner), a.s_inner))
            source = e.at(f, a.source, start)
            with f.loop(0, a.out_a) as i, f.loop(0, a.out_b) as j, f.loop(0, a.out_w) as k:
                best, where = _greatest(f, a, e, source, (i, j, k))
                at = f.add(f.mul(f.add(f.mul(f.add(f.mul(plane, a.out_a), i), a.out_b), j), a.out_w), k)
                e.write_one(f, best, e.at(f, a.target, at))
                f.write("i64", where, f.at(a.positions, at, "i64"), 8)
    return module.text()


def _greatest(f: Function, a: Registers, e: Elements, source: str,
              out: tuple[str, str, str]) -> tuple[str, str]:
    best, where = f.variable(e.element, "0.0"), f.variable("i64", -1)
    ends = [_window(f, i, n, count) for i, n, count in
            zip(out, (a.space_a, a.space_b, a.space_w), (a.out_a, a.out_b, a.out_w))]
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
