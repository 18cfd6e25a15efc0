"""Elements that follow from their position: arange, linspace, and the triangles of matrices."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np

from .....graph.node import Signature
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    Dtype,
    element,
    literal,
    memory_type,
    register_type,
)
from ...movement.copying import Place, bits_of, filled
from ...movement.spaces import Nest, Space, fused, rank_for, split
from ...plan import Call, Plan, Template, Words
from .movement import bytes_moved

_HALF = (FLOAT16, BFLOAT16)
_REAL = (FLOAT32, FLOAT64, *_HALF)


# --- arange -------------------------------------------------------------------------------------------------

def _arange(signature: Signature) -> Plan | None:
    """start + i step: integers in 64 bits, floating numbers in double precision, half types in single, in
    groups (Note: rounding of ranges)."""
    out = signature.outputs[0]
    dtype = np.dtype(out.dtype.numpy)
    kinds = signature.geometries
    if not out.numel or not all(isinstance(k, type) and issubclass(k, (int, float)) for k in kinds):
        return None
    whole = dtype.kind in "iu"
    if not (whole and all(issubclass(k, int) for k in kinds)) and dtype not in _REAL:
        return None
    return _filled(signature, _arange_kernel(dtype), INT64 if whole else _work(dtype))


def _filled(signature: Signature, kernel: SupportsIndex, work: Dtype) -> Plan:
    """The plan of a vector that follows from two numbers of a type."""
    words = Words()
    words.output()
    for operand in (0, 1):
        words.number(operand, work)
    count = signature.outputs[0].numel
    words.constant(count)
    space = Space((count,), ((1,),))
    cut = split(space, signature.outputs[0].dtype.itemsize)
    Nest(1, 1, 4).place(words, space, cut)
    return Plan([Call(kernel, words, cut.tasks, cut.grain)], traffic=1.0 * signature.nbytes)


def _work(dtype: Dtype) -> Dtype:
    """The type in which floating numbers are computed."""
    return FLOAT32 if dtype in _HALF else FLOAT64


@kernel("arange")
def _arange_kernel(dtype: Dtype) -> str:
    module = Module()
    kind, whole = memory_type(dtype), dtype.kind in "iu"
    work = "i64" if whole else register_type(_work(dtype))
    with module.kernel("arange") as f:
        to, start, step = f.word(0, "ptr"), f.word(1, work), f.word(2, work)
        grouped = f.emit(f"and i64 {f.word(3)}, {-2 * (32 // dtype.itemsize)}")
        with Nest(1, 1, 4).rows(f) as row, f.loop(row.first, row.last) as i:
            if whole:
                x = f.add(start, f.mul(i, step)) if kind == "i64" else _wrapped(f, start, i, step, kind)
            else:
                x = f.choose(f.compare("slt", i, grouped), register_type(dtype),
                             _in_group(f, start, i, step, dtype), _counted(f, start, i, step, dtype))
            f.store(x, f.at(to, i, kind), dtype)
    return module.text()


def _counted(f: Function, start: str, i: str, step: str, dtype: Dtype) -> str:
    """start + i step, rounded to the type of the elements."""
    work = register_type(_work(dtype))
    x = f.emit(f"sitofp i64 {i} to {work}")
    if dtype == FLOAT64:
        return f.fma(work, x, step, start)
    x = f.emit(f"fadd {work} {start}, {f.emit(f'fmul {work} {x}, {step}')}")
    return f.emit(f"fptrunc double {x} to float") if dtype == FLOAT32 else f.rounded(x, dtype)


def _in_group(f: Function, start: str, i: str, step: str, dtype: Dtype) -> str:
    ahead = f.emit(f"and i64 {i}, {32 // dtype.itemsize - 1}")
    begin = _counted(f, start, f.sub(i, ahead), step, dtype)
    begin = f.emit(f"fpext float {begin} to double") if dtype == FLOAT32 else begin
    return _counted(f, begin, ahead, step, dtype)


def _wrapped(f: Function, start: str, i: str, step: str, kind: str) -> str:
    x = f.emit(f"add i64 {start}, {f.emit(f'mul i64 {i}, {step}')}")
    return f.emit(f"trunc i64 {x} to {kind}")


# --- linspace -----------------------------------------------------------------------------------------------

def _linspace(signature: Signature) -> Plan | None:
    """From either end the nearer half, in steps of the elements' own type."""
    out = signature.outputs[0]
    dtype, kinds = np.dtype(out.dtype.numpy), signature.geometries
    if out.numel < 2 or dtype not in _REAL or kinds[2] is not type(None) \
            or not all(isinstance(k, type) and issubclass(k, (int, float)) for k in kinds[:2]):
        return None
    return _filled(signature, _linspace_kernel(dtype), FLOAT32 if dtype in _HALF else dtype)


@kernel("linspace")
def _linspace_kernel(dtype: Dtype) -> str:
    module = Module()
    kind = register_type(dtype)
    with module.kernel("linspace") as f:
        to, first, last, count = f.word(0, "ptr"), f.word(1, kind), f.word(2, kind), f.word(3)
        top = f.sub(count, 1)
        intervals = _rounded(f, f"sitofp i64 {top} to {kind}", dtype)
        first, last = f.rounded(first, dtype), f.rounded(last, dtype)
        width = _rounded(f, f"fsub {kind} {last}, {first}", dtype)
        step = _rounded(f, f"fdiv {kind} {width}, {intervals}", dtype)
        back = f.emit(f"fneg {kind} {step}")
        half = f.div(count, 2)
        with Nest(1, 1, 4).rows(f) as row, f.loop(row.first, row.last) as i:
            before, after = [_rounded(f, f"sitofp i64 {n} to {kind}", dtype) for n in (i, f.sub(top, i))]
            x = f.choose(f.compare("slt", i, half), kind, _further(f, first, before, step, dtype),
                         _further(f, last, after, back, dtype))
            f.store(x, f.at(to, i, memory_type(dtype)), dtype)
    return module.text()


def _rounded(f: Function, instruction: str, dtype: Dtype) -> str:
    return f.rounded(f.emit(instruction), dtype)


def _further(f: Function, begin: str, count: str, step: str, dtype: Dtype) -> str:
    """begin + count step (Note: rounding of ranges)."""
    kind = register_type(dtype)
    if dtype not in _HALF:
        return f.fma(kind, count, step, begin)
    return _rounded(f, f"fadd {kind} {begin}, {_rounded(f, f'fmul {kind} {count}, {step}', dtype)}", dtype)


# --- the identity -------------------------------------------------------------------------------------------

def _eye(signature: Signature) -> Plan | None:
    """Zeros, and ones on the diagonal."""
    out = signature.outputs[0]
    size = out.dtype.itemsize
    if not out.numel or size > 8:
        return None
    one = bits_of(1, np.dtype(out.dtype.numpy))
    return Plan([filled(Place((1,)), (out.numel,), size),
                 filled(Place((out.shape[1] + 1,)), (min(out.shape),), size, bits=one)],
                traffic=1.0 * signature.nbytes)


# --- triangles ----------------------------------------------------------------------------------------------

def _triangle(signature: Signature) -> Plan | None:
    """The elements above or below a diagonal, zeros elsewhere."""
    g, out = signature.geometries[0], signature.outputs[0]
    diagonal, upper = signature.attributes
    size = out.dtype.itemsize
    if not out.numel or g.dtype is not out.dtype or size > 8:
        return None
    batch = fused(g.shape[:-2], (out.strides[:-2], g.strides[:-2]))
    strides = [tuple([s * size for s in (*own, *operand[-2:])])
               for own, operand in zip(batch.strides, (out.strides, g.strides))]
    # The third operand is the row's number, from the diagonal on.
    space = Space((*batch.extents, *g.shape[-2:]), (*strides, (*[0] * len(batch.extents), 1, 0)))
    words = Words()
    words.output()
    words.input(0, g)
    words.constant(diagonal)
    rank = rank_for(space)
    cut = split(space, 2 * size)
    Nest(rank, 3, 3).place(words, space, cut)
    return Plan([Call(_triangle_kernel(rank, size, upper, g.strides[-1] == 1), words, cut.tasks, cut.grain)],
                traffic=bytes_moved(signature))


@kernel("triangle")
def _triangle_kernel(rank: int, size: int, upper: bool, unit: bool) -> str:
    module = Module()
    kind = element(size)
    with module.kernel("triangle") as f:
        to, source, diagonal = f.word(0, "ptr"), f.word(1, "ptr"), f.word(2)
        nest = Nest(rank, 3, 3)
        step = str(size) if unit else nest.step(f, 1)
        with nest.rows(f) as row:
            into, at = f.at(to, row.offsets[0], "i8"), f.at(source, row.offsets[1], "i8")
            edge = f.sub(f.add(row.offsets[2], diagonal), row.first)
            with f.loop(0, row.width(f)) as i:
                x = f.read(kind, f.at(at, f.mul(i, step), "i8"), size)
                keep = f.compare("sge" if upper else "sle", i, edge)
                f.write(kind, f.choose(keep, kind, x, literal(0, np.dtype(f"i{size}"))), f.at(into, i, kind),
                        size)
    return module.text()


TEMPLATES: dict[str, Template] = {"arange": _arange, "linspace": _linspace, "eye": _eye,
                                  "tril": _triangle, "triu": _triangle}
