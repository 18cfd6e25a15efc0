"""The signals of Fourier transforms: where they lie, read and written a signal in each lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...llvm.floats import Floats

OUTER = 3           # extents around the one that is transformed
# Words; LENGTH: that of the transform; SWAPPED: 1 for the inverse transform.
SOURCE, TARGET, TABLE, TURNS, LENGTH, SIGNALS, STEP_IN, STEP_OUT, SCALE, SWAPPED, SHAPE = range(11)
TOLD = SHAPE + 3 * OUTER


class Signals:
    """The signals of one vector. Lanes beyond the last signal do the same as the last.

    ``paired``: where they come from and where they go, are the parts of an element real numbers half a step
    apart? The parts of complex numbers lie one behind the other.
    """

    def __init__(self, v: Floats, first: str, lie_along: tuple[bool, bool],
                 paired: tuple[bool, bool]) -> None:
        f = self.f = v.f
        self.v, self.lie_along, self.paired = v, lie_along, paired
        count = f.word(SIGNALS)
        extents = [f.word(SHAPE + d) for d in range(OUTER)]
        strides = [[f.word(SHAPE + OUTER * (side + 1) + d) for d in range(OUTER)] for side in (0, 1)]
        self.places = [f.at(f.scratch, side * v.count, "i64") for side in (0, 1)]
        with f.loop(0, v.count) as lane:
            left = f.least(f.add(first, lane), f.sub(count, 1))
            offsets = ["0", "0"]
            for d in reversed(range(OUTER)):
                above = f.div(left, extents[d])
                index = f.sub(left, f.mul(above, extents[d]))
                offsets = [f.add(x, f.mul(index, own[d])) for x, own in zip(offsets, strides)]
                left = above
            for place, offset in zip(self.places, offsets):
                f.write("i64", offset, f.at(place, lane, "i64"), 8)
        self.offsets = [f.read(v.wide, place, 8) for place in self.places]

    def _step(self, side: int) -> str:
        return self.f.word(STEP_OUT if side else STEP_IN)

    def _base(self, side: int, i: str) -> str:
        f = self.f
        return f.at(f.word(TARGET if side else SOURCE, "ptr"), f.mul(i, self._step(side)), "i8")

    def _at(self, side: int, i: str, part: int) -> str:
        f = self.f
        apart = f.div(self._step(side), 2) if self.paired[side] else str(self.v.dtype.itemsize)
        base = f.at(self._base(side, i), f.mul(apart, part), "i8")
        return f.emit(f"getelementptr i8, ptr {base}, {self.v.wide} {self.offsets[side]}")

    def _rows(self, side: int, i: str) -> list[str]:
        base = self._base(side, i)
        return [self.f.at(base, self.f.read("i64", self.f.at(self.places[side], lane, "i64"), 8), "i8")
                for lane in range(self.v.count)]

    def read(self, i: str, count: int, parts: int, left: str) -> list[list[str]]:
        """Elements from i on, ``count`` of them (``left`` there are): their parts, a signal in each lane."""
        v, f = self.v, self.f
        if not self.lie_along[0]:
            everything = f.first_lanes(v.count, v.count)
            places = [self._at(0, i, part) for part in range(parts)]
            return [[v.gathered(place, everything) for place in places]]
        mask = f.first_lanes(f.mul(left, parts), v.count)
        columns = v.transposed([f.read_masked(v.kind, row, mask) for row in self._rows(0, i)])
        return [columns[k * parts:(k + 1) * parts] for k in range(count)]

    def write(self, values: list[list[str]], i: str, left: str) -> None:
        """The same to be written."""
        v, f = self.v, self.f
        if not self.lie_along[1]:
            everything = f.first_lanes(v.count, v.count)
            for part, value in enumerate(values[0]):
                v.scatter(value, self._at(1, i, part), everything)
            return
        mask = f.first_lanes(f.mul(left, len(values[0])), v.count)
        for row, value in zip(self._rows(1, i), v.transposed([x for parts in values for x in parts])):
            f.write_masked(v.kind, value, row, mask)


@contextmanager
def blocks(v: Floats, along: bool, parts: int, end: str) -> Iterator[tuple[str, int, str, list[str]]]:
    """A loop over elements, as many at a time as are a vector where they lie one behind the other.

    What it gives: the first one, how many at most, how many there are left, all their numbers.
    """
    f = v.f
    count = v.count // parts if along else 1
    with f.loop(0, end, count) as i:
        yield i, count, f.sub(end, i), [f.add(i, k) for k in range(count)]


def scaled(v: Floats) -> Callable[[str], str]:
    """What multiplies by the normalization."""
    scale = v.f.splat(v.f.word(SCALE, v.element), v.count, v.element)
    return lambda x: v.do("fmul", x, scale)
