"""Fourier transforms of many signals: one in each lane, or two real ones.

A task reads its signals into two buffers in the thread's scratch memory, transforms them there
(``fourier_stages.py``) and writes them. The inverse transform is that of the signals with their real and
imaginary parts exchanged, exchanged again. Real signals a and b are transformed as a + i b, from which theirs
follow: the first is the even part of the spectrum, the second the odd one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ....graph.geometry import Geometry
from ....graph.node import Signature
from ....graph.strides import row_major_strides
from ..llvm.build import Module
from ..llvm.code import kernel
from ..llvm.emitter import FLOAT32, FLOAT64, Dtype
from ..llvm.floats import Floats
from ..llvm.machine import machine
from ..movement.spaces import fused
from ..plan import Call, Plan, Words
from .fourier_stages import (
    EACH,
    FINE,
    RADICES,
    Complex,
    add,
    define_transform,
    passes,
    read,
    subtract,
    write,
    write_table,
)
from .movement import Template

LONGEST = 1 << 14   # both buffers of the longest fit the second cache
FEWEST = 4          # signals that are worth it, of any length
ALONE = 70e3        # nanoseconds, as modelled for whole lanes: up to there signals alone as well
OUTER = 3           # extents around the one that is transformed
# Words; SWAPPED: 1 for the inverse transform.
SOURCE, TARGET, TABLE, LENGTH, SIGNALS, STEP_IN, STEP_OUT, SCALE, SWAPPED, SHAPE = range(10)
TOLD = SHAPE + 3 * OUTER


class _Place(NamedTuple):
    """Where a transform reads or writes: "input", "output" or "workspace"; strides in bytes."""

    name: str
    strides: tuple[int, ...]


# --- plans --------------------------------------------------------------------------------------------------

def _fft(signature: Signature) -> Plan | None:
    g, out = signature.geometries[0], signature.outputs[0]
    dims, sizes, kind, inverse, norm = signature.attributes
    dtype = np.dtype(out.dtype.to_real().numpy)
    if dtype not in (FLOAT32, FLOAT64) or dtype != g.dtype.to_real().numpy or not out.numel or not g.numel:
        return None
    size = 2 * dtype.itemsize
    total = math.prod(sizes)
    scale = {"backward": 1 / total if inverse else 1.0, "forward": 1.0 if inverse else 1 / total,
             "ortho": total ** -0.5}[norm]
    source = _Place("input", tuple([s * g.dtype.itemsize for s in g.strides]))
    target = _Place("output", tuple([s * out.dtype.itemsize for s in out.strides]))
    order = list(zip(dims, sizes))[::-1]
    if kind == "c2r":
        order = [*order[1:], order[0]]
    between = target
    if kind == "c2r" and len(order) > 1:
        between = _Place("workspace", tuple([size * s for s in row_major_strides(g.shape)]))
    shape = g.shape if kind == "c2r" else out.shape
    room = size * g.numel if between.name == "workspace" else 0
    calls, cost = [], 0.0
    for k, (d, n) in enumerate(order):
        last = k == len(order) - 1
        own = "c2c"
        if (kind == "c2r" and last) or (kind == "r2c" and k == 0):
            own = kind
        elif k == 0 and not g.dtype.is_complex:
            own = "r2w"
        found = _call(own, n, d % len(shape), shape, source, target if last else between,
                      scale if last else 1.0, inverse, g, room)
        if found is None:
            return None
        calls += [_tabled(dtype, n, room), found[0]]
        cost += found[1] + 1000 + 2 * n
        room += -(-size * n // 64) * 64
        source = between
    return Plan(calls, workspace=room, nanoseconds=cost)


def _tabled(dtype: Dtype, n: int, at: int) -> Call:
    """The call that makes the table of exp(-2 pi i k / n)."""
    words = Words()
    words.workspace(at)
    words.constant(n)
    return Call(_table_kernel(dtype), words, 1, scratch=32 * (FINE + LONGEST // FINE + 1))


def _call(kind: str, n: int, d: int, shape: Sequence[int], source: _Place, target: _Place, scale: float,
          inverse: bool, g: Geometry, table: int) -> tuple[Call, float] | None:
    """One dimension's transform with the table at a place of the workspace, and what it costs.

    ``kind``: as the operator's, or "r2w": of real signals the whole spectrum.
    """
    told = passes(n) if n <= LONGEST else None
    others = [i for i in range(len(shape)) if i != d]
    space = fused([shape[i] for i in others], [[p.strides[i] for i in others] for p in (source, target)])
    signals = space.size
    each = n * (60.0 + 12.0 * math.log2(n) + 2.5 * sum(r for r in (told or ())[::EACH] if r > max(RADICES)))
    if told is None or (signals < FEWEST and each / 3 > ALONE) or len(space.extents) > OUTER:
        return None
    words = Words()
    for place in (source, target):
        if place.name == "input":
            words.input(0, g)
        elif place.name == "output":
            words.output(0)
        else:
            words.workspace(0)
    words.workspace(table)
    words.constant(n, signals, source.strides[d], target.strides[d])
    dtype = np.dtype(g.dtype.to_real().numpy)
    words.real(scale, dtype)
    words.constant(int(inverse))    # of real signals it is the conjugate
    fill = OUTER - len(space.extents)
    words.constant(*[1] * fill, *space.extents)
    for own in space.strides:
        words.constant(*[0] * fill, *own)
    words.constant(*told)
    size = dtype.itemsize
    lanes = machine().vector // size
    wide = lanes if kind == "c2c" else 2 * lanes
    tasks = -(-signals // wide)
    scratch = 4 * 8 * lanes + 4 * (n + lanes) * machine().vector
    along = (source.strides[d] == (size if kind[0] == "r" else 2 * size),
             target.strides[d] == (size if kind[-1] == "r" else 2 * size))
    call = Call(_kernel(kind, dtype, along), words, tasks, max(1, int(20_000 / each)), scratch)
    return call, each / 3 * tasks


# --- code ---------------------------------------------------------------------------------------------------

@kernel("fourier_table")
def _table_kernel(dtype: Dtype) -> str:
    module = Module()
    with module.kernel("fourier_table") as f:
        write_table(f, dtype, f.word(0, "ptr"), f.word(1))
    return module.text()


@kernel("fourier")
def _kernel(kind: str, dtype: Dtype, lie_along: tuple[bool, bool]) -> str:
    module = Module()
    transform = define_transform(module, dtype)
    groups = 1 if kind == "c2c" else 2
    with module.kernel("fourier") as f:
        v = Floats(f, dtype)
        with f.loop(f.begin, f.end) as task:
            first = f.mul(task, groups * v.count)
            rows = [Signals(v, f.add(first, k * v.count), k, lie_along) for k in range(groups)]
            x = f.at(f.scratch, 4 * v.count, "i64")
            y = f.at(x, f.mul(f.add(f.word(LENGTH), v.count), 2), v.kind)
            {"c2c": _read_complex, "r2c": _read_real, "r2w": _read_real, "c2r": _read_half}[kind](v, rows, x)
            found = f.run(transform, x, y, f.at(f.words, TOLD, "i64"), f.word(TABLE, "ptr"))
            assert found is not None
            {"c2c": _write_complex, "r2c": _write_half, "r2w": _write_whole, "c2r": _write_real}[kind](
                v, rows, found)
    return module.text()


class Signals:
    """The signals of one vector. Lanes beyond the last signal do the same as the last."""

    def __init__(self, v: Floats, first: str, group: int, lie_along: tuple[bool, bool]) -> None:
        f = self.f = v.f
        self.v, self.lie_along = v, lie_along
        count = f.word(SIGNALS)
        extents = [f.word(SHAPE + d) for d in range(OUTER)]
        strides = [[f.word(SHAPE + OUTER * (side + 1) + d) for d in range(OUTER)] for side in (0, 1)]
        self.places = [f.at(f.scratch, (2 * group + side) * v.count, "i64") for side in (0, 1)]
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

    def _base(self, side: int, i: str) -> str:
        f = self.f
        return f.at(f.word(TARGET if side else SOURCE, "ptr"),
                    f.mul(i, f.word(STEP_OUT if side else STEP_IN)), "i8")

    def _at(self, side: int, i: str, part: int) -> str:
        base = self.f.at(self._base(side, i), part, "i8")
        return self.f.emit(f"getelementptr i8, ptr {base}, {self.v.wide} {self.offsets[side]}")

    def _rows(self, side: int, i: str) -> list[str]:
        base = self._base(side, i)
        return [self.f.at(base, self.f.read("i64", self.f.at(self.places[side], lane, "i64"), 8), "i8")
                for lane in range(self.v.count)]

    def read(self, i: str, count: int, parts: int, left: str) -> list[list[str]]:
        """Elements from i on, ``count`` of them (``left`` there are): their parts, a signal in each lane."""
        v, f = self.v, self.f
        if not self.lie_along[0]:
            everything = f.first_lanes(v.count, v.count)
            places = [self._at(0, i, v.dtype.itemsize * part) for part in range(parts)]
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
                v.scatter(value, self._at(1, i, v.dtype.itemsize * part), everything)
            return
        mask = f.first_lanes(f.mul(left, len(values[0])), v.count)
        for row, value in zip(self._rows(1, i), v.transposed([x for parts in values for x in parts])):
            f.write_masked(v.kind, value, row, mask)


@contextmanager
def _blocks(v: Floats, along: bool, parts: int, end: str) -> Iterator[tuple[str, int, str, list[str]]]:
    """A loop over elements, as many at a time as are a vector where they lie one behind the other.

    What it gives: the first one, how many at most, how many there are left, all their numbers.
    """
    f = v.f
    count = v.count // parts if along else 1
    with f.loop(0, end, count) as i:
        yield i, count, f.sub(end, i), [f.add(i, k) for k in range(count)]


def _exchanged(v: Floats, z: Sequence[str]) -> Complex:
    """The parts of a number, exchanged where the transform is an inverse one."""
    f = v.f
    inverse = f.compare("ne", f.word(SWAPPED), 0)
    return f.choose(inverse, v.kind, z[1], z[0]), f.choose(inverse, v.kind, z[0], z[1])


def _scaled(v: Floats) -> Callable[[str], str]:
    scale = v.f.splat(v.f.word(SCALE, v.element), v.count, v.element)
    return lambda x: v.do("fmul", x, scale)


def _read_complex(v: Floats, rows: list[Signals], x: str) -> None:
    with _blocks(v, rows[0].lie_along[0], 2, v.f.word(LENGTH)) as (i, count, left, numbers):
        for k, z in zip(numbers, rows[0].read(i, count, 2, left)):
            write(v, _exchanged(v, z), x, k)


def _write_complex(v: Floats, rows: list[Signals], x: str) -> None:
    scaled = _scaled(v)
    with _blocks(v, rows[0].lie_along[1], 2, v.f.word(LENGTH)) as (i, _, left, numbers):
        rows[0].write([[scaled(part) for part in _exchanged(v, read(v, x, k))] for k in numbers], i, left)


def _read_real(v: Floats, rows: list[Signals], x: str) -> None:
    with _blocks(v, rows[0].lie_along[0], 1, v.f.word(LENGTH)) as (i, count, left, numbers):
        a, b = [row.read(i, count, 1, left) for row in rows]
        for k, real, imaginary in zip(numbers, a, b):
            write(v, (real[0], imaginary[0]), x, k)


def _write_real(v: Floats, rows: list[Signals], x: str) -> None:
    """Of an inverse transform the parts are exchanged."""
    scaled = _scaled(v)
    with _blocks(v, rows[0].lie_along[1], 1, v.f.word(LENGTH)) as (i, _, left, numbers):
        found = [read(v, x, k) for k in numbers]
        for row, part in zip(rows, (1, 0)):
            row.write([[scaled(z[part])] for z in found], i, left)


def _write_half(v: Floats, rows: list[Signals], x: str) -> None:
    _write_spectra(v, rows, x, v.f.add(v.f.div(v.f.word(LENGTH), 2), 1))


def _write_whole(v: Floats, rows: list[Signals], x: str) -> None:
    _write_spectra(v, rows, x, v.f.word(LENGTH))


def _write_spectra(v: Floats, rows: list[Signals], x: str, end: str) -> None:
    """a = (z + z*) / 2 and b = (z - z*) / 2 i, where z* is the conjugate of z at the opposite frequency."""
    f, n, scaled = v.f, v.f.word(LENGTH), _scaled(v)
    zero = v.number(0)
    inverse = f.compare("ne", f.word(SWAPPED), 0)
    halves = v.number(0.5), f.choose(inverse, v.kind, v.number(-0.5), v.number(0.5))
    with _blocks(v, rows[0].lie_along[1], 2, end) as (i, _, left, numbers):
        spectra: list[list[list[str]]] = [[], []]
        for k in numbers:
            opposite = f.choose(f.compare("eq", k, 0), "i64", "0", f.most(f.sub(n, k), 0))
            z, other = read(v, x, k), read(v, x, opposite)
            both, apart = add(v, z, other), subtract(v, z, other)
            for own, parts in zip(spectra, ((both[0], apart[1]), (both[1], v.do("fsub", zero, apart[0])))):
                own.append([scaled(v.do("fmul", part, half)) for part, half in zip(parts, halves)])
        for row, own in zip(rows, spectra):
            row.write(own, i, left)


def _read_half(v: Floats, rows: list[Signals], x: str) -> None:
    """z = a + i b, and at the opposite frequency the same of the conjugates; parts exchanged."""
    f, n, zero = v.f, v.f.word(LENGTH), v.number(0)
    with _blocks(v, rows[0].lie_along[0], 2, f.add(f.div(n, 2), 1)) as (i, count, left, numbers):
        for k, a, b in zip(numbers, *[row.read(i, count, 2, left) for row in rows]):
            with f.when(f.compare("sle", f.mul(k, 2), n)):
                alone = f.emit(f"or i1 {f.compare('eq', k, 0)}, {f.compare('eq', f.mul(k, 2), n)}")
                ai, bi = [f.choose(alone, v.kind, zero, y) for y in (a[1], b[1])]
                other: Complex = (v.do("fsub", b[0], ai), v.do("fadd", a[0], bi))
                write(v, other, x, f.choose(alone, "i64", k, f.sub(n, k)))
                write(v, (v.do("fadd", ai, b[0]), v.do("fsub", a[0], bi)), x, k)


TEMPLATES: dict[str, Template] = {"fft": _fft}
