"""Points among elements in generated code, a vector of them at a time: their cells' corners and weights.

The formulas are those of the interpreter (``operators/convolutions/grid_points.py``).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from ...llvm.emitter import Dtype
from ...llvm.floats import Floats


class Kind(NamedTuple):
    """What the code of points depends on."""

    dims: int
    dtype: Dtype
    mode: str
    padding: str
    align_corners: bool

    @property
    def corners(self) -> int:
        """How many elements a point is between."""
        return int({"nearest": 1, "bilinear": 2, "bicubic": 4}[self.mode] ** self.dims)


class Corner(NamedTuple):
    """One corner of each lane's cell: where its element is, whether there is one, its factors."""

    place: str
    inside: str
    factors: tuple[tuple[str, str], ...]    # and how fast they change with the positions; none of the nearest

    def weight(self, lanes: Floats, changed: int = -1) -> str:
        """The product of the factors, or how fast it changes with one dimension's position; "" for 1."""
        result = ""
        for d, factor in enumerate(self.factors):
            one = factor[d == changed]
            result = lanes.do("fmul", result, one) if result else one
        return result


class Side(NamedTuple):
    """An element beside each lane's position along a dimension."""

    offset: str
    inside: str
    factors: tuple[tuple[str, str], ...]    # one or none


class Points:
    """The points of a vector of coordinates. ``extents``, ``steps``: i64 registers, steps in elements."""

    def __init__(self, lanes: Floats, kind: Kind, extents: list[str], steps: list[str]) -> None:
        self.lanes, self.kind = lanes, kind
        f = lanes.f
        self.extents = extents
        self.numbers = [f.splat(f.emit(f"sitofp i64 {n} to {lanes.element}"), lanes.count, lanes.element)
                        for n in extents]
        self.steps = [f.splat(s if lanes.integer == "i64" else f.emit(f"trunc i64 {s} to {lanes.integer}"),
                              lanes.count, lanes.integer) for s in steps]

    def position(self, x: str, d: int) -> tuple[str, str]:
        """Coordinates as positions along a dimension, and how fast these change."""
        v, n = self.lanes, self.numbers[d]
        one, half = v.number(1), v.number(0.5)
        last = v.do("fsub", n, one)
        if self.kind.align_corners:
            p = v.do("fmul", v.do("fmul", v.do("fadd", x, one), half), last)
            slope = v.do("fmul", last, half)
        else:
            shifted = v.do("fadd", x, one)
            p = v.fma(shifted, n, v.number(-1)) if self.kind.dims == 2 else \
                v.do("fsub", v.do("fmul", shifted, n), one)
            p = v.do("fmul", p, half)
            slope = v.do("fmul", n, half)
        return (p, slope) if self.kind.mode == "bicubic" else self._padded(p, slope, d)

    def _padded(self, p: str, slope: str, d: int) -> tuple[str, str]:
        v, n = self.lanes, self.numbers[d]
        last = v.do("fsub", n, v.number(1))
        if self.kind.padding == "reflection":
            p, slope = self._reflected(p, slope, last if self.kind.align_corners else n)
        if self.kind.padding != "zeros":
            zero = v.number(0)
            above, below = v.compare("ogt", p, zero), v.compare("olt", p, last)
            slope = v.choose(v.both(above, below), slope, zero)
            p = v.choose(above, v.choose(below, p, last), zero)     # what is not a number is 0
        return p, slope

    def _reflected(self, p: str, slope: str, span: str) -> tuple[str, str]:
        v = self.lanes
        low, zero = v.number(0.0 if self.kind.align_corners else -0.5), v.number(0)
        shifted = v.call("fabs", v.do("fsub", p, low))
        turns = v.call("floor", v.do("fdiv", shifted, span))
        rest = v.do("fsub", shifted, v.do("fmul", turns, span))
        half = v.do("fmul", turns, v.number(0.5))
        odd = v.compare("une", half, v.call("floor", half))
        turned = v.f.emit(f"xor {v.mask} {v.compare('olt', p, low)}, {odd}")
        slope = v.choose(turned, v.do("fsub", zero, slope), slope)
        p = v.do("fadd", v.choose(odd, v.do("fsub", span, rest), rest), low)
        some = v.compare("ogt", span, zero)     # of one element there is nothing to reflect
        return v.choose(some, p, zero), v.choose(some, slope, zero)

    def corners(self, positions: list[str], mask: str) -> list[Corner]:
        """The corners of the cells, within the lanes of a mask."""
        v = self.lanes
        found = []
        for sides in itertools.product(*[self._sides(p, d) for d, p in enumerate(positions)]):
            index, inside = "", mask
            for side in sides:
                index = v.f.emit(f"add {v.whole} {index}, {side.offset}") if index else side.offset
                inside = v.both(inside, side.inside)
            found.append(Corner(index, inside, tuple([one for side in sides for one in side.factors])))
        return found

    def _sides(self, p: str, d: int) -> list[Side]:
        """The elements beside positions along a dimension."""
        v, one = self.lanes, self.lanes.number(1)
        if self.kind.mode == "nearest":
            return [self._side(v.call("rint", p), d)]
        low = v.call("floor", p)
        if self.kind.mode == "bilinear":
            high = v.do("fadd", low, one)
            return [self._side(low, d, (v.do("fsub", high, p), v.number(-1))),
                    self._side(high, d, (v.do("fsub", p, low), one))]
        return [self._side(self._padded(v.do("fadd", low, v.number(k - 1)), p, d)[0], d, factor)
                for k, factor in enumerate(_cubic_factors(v, v.do("fsub", p, low)))]

    def _side(self, place: str, d: int, *factors: tuple[str, str]) -> Side:
        v, zero = self.lanes, self.lanes.number(0)
        good = v.both(v.compare("oge", place, zero), v.compare("olt", place, self.numbers[d]))
        held = v.f.emit(f"fptosi {v.kind} {v.choose(good, place, zero)} to {v.whole}")
        return Side(v.f.emit(f"mul {v.whole} {held}, {self.steps[d]}"), good, factors)


def _cubic_factors(v: Floats, t: str) -> list[tuple[str, str]]:
    """Of elements at -1, 0, 1, 2 the factors at t and how fast these change (``cubic_factors``)."""
    a = -0.75

    def polynomial(d: str, *coefficients: float) -> str:
        result = v.number(coefficients[0])
        for c in coefficients[1:]:
            result = v.fma(result, d, v.number(c))
        return result

    def near(d: str) -> tuple[str, str]:
        return polynomial(d, a + 2, -a - 3, 0, 1), polynomial(d, 3 * (a + 2), -2 * (a + 3), 0)

    def far(d: str) -> tuple[str, str]:
        return polynomial(d, a, -5 * a, 8 * a, -4 * a), polynomial(d, 3 * a, -10 * a, 8 * a)

    def backwards(factor: tuple[str, str]) -> tuple[str, str]:
        return factor[0], v.do("fsub", v.number(0), factor[1])

    one, two = v.number(1), v.number(2)
    return [far(v.do("fadd", t, one)), near(t), backwards(near(v.do("fsub", one, t))),
            backwards(far(v.do("fsub", two, t)))]
