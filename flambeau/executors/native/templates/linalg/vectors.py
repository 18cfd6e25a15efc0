"""The cross product of vectors of three elements."""

from __future__ import annotations

from .....graph.node import Signature
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype, register_type
from ...movement.spaces import Nest, fused, rank_for, split
from ...plan import Call, Plan, Words
from ..indexing.indexing import expanded
from ..shapes.movement import bytes_moved

_FIRST = 6      # the words before those of the nest: pointers, and each one's stride along the vectors


def _cross(signature: Signature) -> Plan | None:
    a, b = signature.geometries
    out, dim = signature.outputs[0], signature.attributes[0]
    dtype = out.dtype.numpy
    if not out.numel or dtype not in (FLOAT32, FLOAT64) or not a.dtype is b.dtype is out.dtype:
        return None
    size, along = dtype.itemsize, out.ndim + dim
    strides = [[s * size for s in own] for own in
               (out.strides, expanded(a, out.shape), expanded(b, out.shape))]
    words = Words()
    words.output(0)
    words.input(0, a)
    words.input(1, b)
    words.constant(*[own[along] for own in strides])
    space = fused([n for d, n in enumerate(out.shape) if d != along],
                  [[s for d, s in enumerate(own) if d != along] for own in strides])
    cut = split(space, 9 * size)
    rank = rank_for(space)
    Nest(rank, 3, _FIRST).place(words, space, cut)
    return Plan([Call(_kernel(rank, dtype), words, cut.tasks, cut.grain)], traffic=bytes_moved(signature))


@kernel("cross")
def _kernel(rank: int, dtype: Dtype) -> str:
    """Rounded as the interpreter does: both products, then the difference."""
    module = Module()
    with module.kernel("cross") as f:
        pointers, along = [f.word(k, "ptr") for k in range(3)], [f.word(3 + k) for k in range(3)]
        nest = Nest(rank, 3, _FIRST)
        steps = [nest.step(f, k) for k in range(3)]
        with nest.rows(f) as row:
            places = [f.at(p, offset, "i8") for p, offset in zip(pointers, row.offsets)]
            adjacent = "true"
            for step in steps:
                adjacent = f.emit(f"and i1 {adjacent}, {f.compare('eq', step, dtype.itemsize)}")
            with f.when(adjacent):
                _vectors(f, dtype, places, along, [str(dtype.itemsize)] * 3, row.width(f))
            with f.otherwise(adjacent):
                _vectors(f, dtype, places, along, steps, row.width(f))
    return module.text()


def _vectors(f: Function, dtype: Dtype, places: list[str], along: list[str], steps: list[str],
             count: str) -> None:
    """So many vectors: of the result, of both operands."""
    kind, size = register_type(dtype), dtype.itemsize
    with f.loop(0, count) as i:
        elements = [[f.at(f.at(place, f.mul(i, step), "i8"), f.mul(own, k), "i8") for k in range(3)]
                    for place, step, own in zip(places, steps, along)]
        x, y = [[f.read(kind, p, size) for p in own] for own in elements[1:]]
        for k, (p, q) in enumerate(((1, 2), (2, 0), (0, 1))):
            products = [f.emit(f"fmul {kind} {x[i]}, {y[j]}") for i, j in ((p, q), (q, p))]
            f.write(kind, f.emit(f"fsub {kind} {products[0]}, {products[1]}"), elements[0][k], size)


TEMPLATES = {"linalg_cross": _cross}
