"""Running extrema of adjacent elements: as many at a time as a vector has lanes.

Within a vector the greatest so far is found in log2(lanes) rounds, each of which takes the greater of a lane
and of the one 1, 2, 4, ... lanes before it; what came before the vector is joined to it after that, so that
vectors wait for one another for two instructions only. An element is the newest extreme if it equals the
extreme so far. The newest before a lane is the highest bit of the mask of those, up to the lane's own.
"""

from __future__ import annotations

from typing import NamedTuple

from ...llvm.build import Function, Value, suffix, vector
from ...llvm.compiling.machine import machine
from ...llvm.lanes import shuffle


class Kind(NamedTuple):
    """What is compared: integers, or numbers as integers of the same order."""

    integer: str            # i32 or i64
    real: str               # float or double where the elements are such, else empty
    upwards: bool           # the greatest, or the least

    @property
    def bits(self) -> int:
        """Of an element."""
        return int(self.integer[1:])

    @property
    def initial(self) -> int:
        """What every element replaces."""
        return -(1 << self.bits - 1) if self.upwards else (1 << self.bits - 1) - 1


def ranked(f: Function, kind: Kind, x: str, lanes: int = 1) -> str:
    """Integers that are ordered as the numbers are; what is none comes first, or last."""
    if not kind.real:
        return x
    integer, real = vector(lanes, kind.integer), vector(lanes, kind.real)
    zero = "0.0" if lanes == 1 else "zeroinitializer"
    held = f.emit(f"bitcast {real} {f.emit(f'fadd {real} {x}, {zero}')} to {integer}")     # one zero, not two
    none = f.emit(f"fcmp uno {real} {x}, {x}")
    limit = _all(kind.integer, lanes, -1 - kind.initial)
    return f.emit(f"select {vector(lanes, 'i1')} {none}, {integer} {limit}, "
                  f"{integer} {_turned(f, kind, held, lanes)}")


def unranked(f: Function, kind: Kind, key: str, lanes: int = 1) -> str:
    """The numbers of integers from ``ranked``."""
    if not kind.real:
        return key
    turned = _turned(f, kind, key, lanes)
    return f.emit(f"bitcast {vector(lanes, kind.integer)} {turned} to {vector(lanes, kind.real)}")


def _turned(f: Function, kind: Kind, held: str, lanes: int) -> str:
    """All bits but the sign of negative integers the other way round."""
    integer = vector(lanes, kind.integer)
    sign = f.emit(f"ashr {integer} {held}, {_all(kind.integer, lanes, kind.bits - 1)}")
    low = f.emit(f"and {integer} {sign}, {_all(kind.integer, lanes, (1 << kind.bits - 1) - 1)}")
    return f.emit(f"xor {integer} {held}, {low}")


class Extremes:
    """The extreme so far and its place, of a row of adjacent elements."""

    def __init__(self, f: Function, kind: Kind) -> None:
        self.f, self.kind = f, kind
        self.lanes = machine().lanes(kind.bits // 8)
        self.vector = vector(self.lanes, kind.integer)
        self.places = vector(self.lanes, "i64")
        self.extreme = f.variable(self.vector, _all(kind.integer, self.lanes, kind.initial))
        self.place = f.variable("i64", 0)

    def step(self, values: str, places: str, source: str, i: Value) -> None:
        """Take the vector that begins with element i: pointers to where its results go, and to the vector."""
        f, kind, n, size = self.f, self.kind, self.lanes, self.kind.bits // 8
        held = vector(n, kind.real or kind.integer)
        key = ranked(f, kind, f.read(held, source, size), n)
        extreme = self._greater(self._so_far(key), self.extreme.get())
        self.extreme.set(shuffle(f, self.vector, n, extreme, "poison", [n - 1] * n))
        f.write(held, unranked(f, kind, extreme, n), values, size)
        newest = f.emit(f"icmp eq {self.vector} {key}, {extreme}")
        found = f.emit(f"add {self.places} {self._highest(newest)}, {f.splat(i, n, 'i64')}")
        none = f.emit(f"icmp slt {self.places} {found}, {f.splat(i, n, 'i64')}")
        before = f.splat(self.place.get(), n, "i64")
        place = f.emit(f"select {vector(n, 'i1')} {none}, {self.places} {before}, {self.places} {found}")
        f.write(self.places, place, places, 8)
        self.place.set(f.emit(f"extractelement {self.places} {place}, i32 {n - 1}"))

    def last(self) -> tuple[str, str]:
        """The extreme, ranked, and its place, after what was taken."""
        first = self.f.emit(f"extractelement {self.vector} {self.extreme.get()}, i32 0")
        return first, self.place.get()

    def _greater(self, x: str, y: str) -> str:
        name = f"llvm.{'smax' if self.kind.upwards else 'smin'}.{suffix(self.vector)}"
        return self.f.call(name, self.vector, [self.vector] * 2, [x, y])

    def _so_far(self, key: str) -> str:
        """The extreme of each lane and those before it."""
        n, d = self.lanes, 1
        initial = _all(self.kind.integer, n, self.kind.initial)
        while d < n:
            before = shuffle(self.f, self.vector, n, key, initial, [n if k < d else k - d for k in range(n)])
            key, d = self._greater(key, before), 2 * d
        return key

    def _highest(self, mask: str) -> str:
        """Of each lane the number of the last one up to it that a mask has, or -1."""
        f, n, kind = self.f, self.lanes, self.kind
        bits = f.emit(f"zext i{n} {f.emit(f'bitcast <{n} x i1> {mask} to i{n}')} to {kind.integer}")
        up_to = "<" + ", ".join(f"{kind.integer} {(2 << k) - 1}" for k in range(n)) + ">"
        own = f.emit(f"and {self.vector} {f.splat(bits, n, kind.integer)}, {up_to}")
        zeros = f.call(f"llvm.ctlz.{suffix(self.vector)}", self.vector, [self.vector, "i1"], [own, "false"],
                       immediate=(1,))
        number = f.emit(f"sub {self.vector} {_all(kind.integer, n, kind.bits - 1)}, {zeros}")
        if kind.bits == 64:
            return number
        return f.emit(f"sext {self.vector} {number} to {self.places}")


def _all(element: str, lanes: int, number: int) -> str:
    """Equal constants."""
    return str(number) if lanes == 1 else "<" + ", ".join([f"{element} {number}"] * lanes) + ">"
