"""Fourier transforms of many signals: one in each lane.

A task reads its signals into two buffers in the thread's scratch memory, transforms them there
(``fourier_stages.py``) and writes them. The inverse transform is that of the signals with their real and
imaginary parts exchanged, exchanged again. Real signals are those of ``fourier_reals.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....graph.strides import row_major_strides
from ...llvm.build import Module
from ...llvm.compiling.code import kernel
from ...llvm.compiling.machine import machine
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype
from ...llvm.floats import Floats
from ...movement.spaces import fused
from ...plan import Call, Plan, Template, Words
from .fourier_reals import (
    read_half,
    read_half_of_pairs,
    read_pairs,
    read_single,
    write_half,
    write_pairs,
    write_single,
    write_whole,
)
from .fourier_signals import LENGTH, OUTER, SWAPPED, TABLE, TOLD, Signals, blocks, scaled
from .fourier_stages import (
    EACH,
    FINE,
    RADICES,
    Complex,
    define_transform,
    passes,
    read,
    write,
    write_table,
)

LONGEST = 1 << 14   # both buffers of the longest fit the second cache
FEWEST = 4          # signals that are worth it, of any length
ALONE = 70e3        # nanoseconds, as modelled for whole lanes: up to there signals alone as well


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
        calls += found[0]
        cost += found[1] + 1000 + 2 * n
        room += found[2]
        source = between
    return Plan(calls, workspace=room, nanoseconds=cost)


def _tabled(dtype: Dtype, n: int, count: int, at: int) -> Call:
    """The call that makes the table of exp(-2 pi i k / n) for all k below count."""
    words = Words()
    words.workspace(at)
    words.constant(n, count)
    return Call(_table_kernel(dtype), words, 1, scratch=32 * (FINE + LONGEST // FINE + 1))


def _call(kind: str, n: int, d: int, shape: Sequence[int], source: _Place, target: _Place, scale: float,
          inverse: bool, g: Geometry, room: int) -> tuple[list[Call], float, int] | None:
    """One dimension's transform: the calls that make its tables, behind ``room`` bytes of the workspace, and
    its own; what it costs; the room of the tables.

    ``kind``: as the operator's, or "r2w": of real signals the whole spectrum.
    """
    paired = kind != "c2c" and n % 2 == 0
    length = n // 2 if paired else n
    told = passes(length) if n <= LONGEST else None
    others = [i for i in range(len(shape)) if i != d]
    space = fused([shape[i] for i in others], [[p.strides[i] for i in others] for p in (source, target)])
    signals = space.size
    slow = sum(r for r in (told or ())[::EACH] if r > max(RADICES))
    each = length * (60.0 + 12.0 * math.log2(n) + 2.5 * slow)
    if told is None or (signals < FEWEST and each / 3 > ALONE) or len(space.extents) > OUTER:
        return None
    dtype = np.dtype(g.dtype.to_real().numpy)
    size = dtype.itemsize
    lanes = machine().vector // size
    turns = (n if kind == "r2w" else length) if paired else 0
    tables = [2 * size * (count + lanes) for count in (length, turns)]
    pairs = (paired and kind[0] == "r", paired and kind[-1] == "r")
    words = Words()
    for place in (source, target):
        if place.name == "input":
            words.input(0, g)
        elif place.name == "output":
            words.output(0)
        else:
            words.workspace(0)
    words.workspace(room)
    words.workspace(room + tables[0])
    words.constant(length, signals, source.strides[d] * (1 + pairs[0]), target.strides[d] * (1 + pairs[1]))
    words.real(scale, dtype)
    words.constant(int(inverse))    # of real signals it is the conjugate
    fill = OUTER - len(space.extents)
    words.constant(*[1] * fill, *space.extents)
    for own in space.strides:
        words.constant(*[0] * fill, *own)
    words.constant(*told)
    tasks = -(-signals // lanes)
    scratch = 2 * 8 * lanes + 4 * (length + lanes) * machine().vector
    along = (source.strides[d] == (size if kind[0] == "r" else 2 * size),
             target.strides[d] == (size if kind[-1] == "r" else 2 * size))
    calls = [_tabled(dtype, length, length, room)]
    if turns:
        calls.append(_tabled(dtype, n, turns, room + tables[0]))
    calls.append(Call(_kernel(kind, paired, dtype, along), words, tasks, max(1, int(20_000 / each)), scratch))
    return calls, each / 3 * tasks, -(-sum(tables) // 64) * 64


# --- code ---------------------------------------------------------------------------------------------------

@kernel("fourier_table")
def _table_kernel(dtype: Dtype) -> str:
    module = Module()
    with module.kernel("fourier_table") as f:
        write_table(f, dtype, f.word(0, "ptr"), f.word(1), f.word(2))
    return module.text()


@kernel("fourier")
def _kernel(kind: str, paired: bool, dtype: Dtype, lie_along: tuple[bool, bool]) -> str:
    module = Module()
    transform = define_transform(module, dtype)
    pairs = (paired and kind[0] == "r", paired and kind[-1] == "r")
    with module.kernel("fourier") as f:
        v = Floats(f, dtype)
        with f.loop(f.begin, f.end) as task:
            rows = Signals(v, f.mul(task, v.count), lie_along, pairs)
            x = f.at(f.scratch, 2 * v.count, "i64")
            y = f.at(x, f.mul(f.add(f.word(LENGTH), v.count), 2), v.kind)
            _reader(kind, paired)(v, rows, x, y)
            found = f.run(transform, x, y, f.at(f.words, TOLD, "i64"), f.word(TABLE, "ptr"))
            assert found is not None
            _writer(kind, paired)(v, rows, found)
    return module.text()


def _exchanged(v: Floats, z: Sequence[str]) -> Complex:
    """The parts of a number, exchanged where the transform is an inverse one."""
    f = v.f
    inverse = f.compare("ne", f.word(SWAPPED), 0)
    return f.choose(inverse, v.kind, z[1], z[0]), f.choose(inverse, v.kind, z[0], z[1])


def _read_complex(v: Floats, rows: Signals, x: str, y: str) -> None:
    with blocks(v, rows.lie_along[0], 2, v.f.word(LENGTH)) as (i, count, left, numbers):
        for k, z in zip(numbers, rows.read(i, count, 2, left)):
            write(v, _exchanged(v, z), x, k)


def _write_complex(v: Floats, rows: Signals, x: str) -> None:
    make = scaled(v)
    with blocks(v, rows.lie_along[1], 2, v.f.word(LENGTH)) as (i, _, left, numbers):
        rows.write([[make(part) for part in _exchanged(v, read(v, x, k))] for k in numbers], i, left)


def _reader(kind: str, paired: bool) -> Callable[[Floats, Signals, str, str], None]:
    if kind == "c2c":
        return _read_complex
    if kind == "c2r":
        return read_half_of_pairs if paired else read_half
    return read_pairs if paired else read_single


def _writer(kind: str, paired: bool) -> Callable[[Floats, Signals, str], None]:
    if kind == "c2c":
        return _write_complex
    if kind == "c2r":
        return write_pairs if paired else write_single
    return partial(write_half if kind == "r2c" else write_whole, paired=paired)


TEMPLATES: dict[str, Template] = {"fft": _fft}
