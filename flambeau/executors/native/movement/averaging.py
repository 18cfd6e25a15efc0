"""Sums at positions that an index gives, divided by how many elements each is of."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .... import dtypes
from ....graph.geometry import Geometry
from ....graph.strides import row_major_strides
from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernel
from ..llvm.emitter import FLOAT32, Dtype, register_type
from ..plan import Call, Words
from ..recurrent.rounding import cleared
from .copying import bits_of
from .indexed import Index, Side, walked
from .spaces import Nest, fused, rank_for, split

_COUNT = 4      # bytes of a count, which is in single precision
_FIRST = 3      # the words before those of the nest: both pointers, and what is added to each count


def averaged(out: Geometry, shape: Sequence[int], where: Index, dim: int, include_self: bool, room: int,
             dtype: Dtype) -> tuple[list[Call], int]:
    """The calls that count elements in the workspace at ``room``, and divide sums of ``dtype``; the bytes.

    The sums are the result, or, of another type than that, begin the workspace. ``shape``: of the index.
    Where the index was expanded, as many elements come everywhere, and one is counted for all.
    """
    alike = [d != dim and not s and n == m
             for d, (s, n, m) in enumerate(zip(where.strides, shape, out.shape))]
    held, counted = ([1 if same else n for same, n in zip(alike, own)] for own in (out.shape, shape))
    strides = row_major_strides(held)
    one = Side([0] * len(held), bits_of(np.float32(1), np.dtype(FLOAT32)), constant=True)
    to = Side([0 if d == dim else s for d, s in enumerate(strides)], place=room)
    counts = walked("add", counted, one, to,
                    [where._replace(step=strides[dim])], dtypes.float32)
    divided = _divided(out, [0 if same else s for same, s in zip(alike, strides)], include_self, room, dtype)
    size = math.prod(held)
    return [cleared(FLOAT32, size, room), counts, divided], -(-_COUNT * size // 64) * 64


def _divided(out: Geometry, steps: Sequence[int], include_self: bool, room: int, dtype: Dtype) -> Call:
    size = dtype.itemsize
    words = Words()
    if dtype == out.dtype.numpy:
        words.output(0)
    else:
        words.workspace(0)
    words.workspace(room)
    words.real(float(include_self), np.float32)
    space = fused(out.shape, ([s * size for s in out.strides], [s * _COUNT for s in steps]))
    cut, rank = split(space, 2 * size + _COUNT), rank_for(space)
    Nest(rank, 2, _FIRST).place(words, space, cut)
    return Call(_kernel(rank, dtype), words, cut.tasks, cut.grain)


@kernel("averages")
def _kernel(rank: int, dtype: Dtype) -> str:
    module = Module()
    with module.kernel("averages") as f:
        pointers, more = [f.word(0, "ptr"), f.word(1, "ptr")], f.word(2, "float")
        nest = Nest(rank, 2, _FIRST)
        wide, step = nest.step(f, 0), nest.step(f, 1)
        adjacent = f.compare("eq", wide, dtype.itemsize)
        with nest.rows(f) as row:
            places = [f.at(p, offset, "i8") for p, offset in zip(pointers, row.offsets)]
            for distance in ("0", str(_COUNT)):
                alike = f.emit(f"and i1 {adjacent}, {f.compare('eq', step, distance)}")
                with f.when(alike):
                    _divide(f, dtype, places, (str(dtype.itemsize), distance), more, row.width(f))
            with f.otherwise(f.emit(f"and i1 {adjacent}, {f.compare('ule', step, _COUNT)}")):
                _divide(f, dtype, places, (wide, step), more, row.width(f))
    return module.text()


def _divide(f: Function, dtype: Dtype, places: Sequence[str], steps: Sequence[str], more: str,
            columns: str) -> None:
    """A row of sums, by counts of at least 1."""
    kind = register_type(dtype)
    with f.loop(0, columns) as i:
        total, count = [f.at(p, f.mul(i, step), "i8") for p, step in zip(places, steps)]
        number = f.emit(f"fadd float {f.read('float', count, _COUNT)}, {more}")
        number = f.call("llvm.maxnum.f32", "float", ["float", "float"], [number, "1.0"])
        if kind == "double":
            number = f.emit(f"fpext float {number} to double")
        quotient = f.emit(f"fdiv {kind} {f.read(kind, total, dtype.itemsize)}, {number}")
        f.write(kind, quotient, total, dtype.itemsize)
