"""Elements that follow from their position: arange, linspace, and the triangles of matrices."""

from __future__ import annotations

import numpy as np

from ....graph.node import Signature
from ..llvm.build import Function, Module
from ..llvm.code import kernel
from ..llvm.emitter import FLOAT32, FLOAT64, INT64, literal, memory_type
from ..plan import Call, Plan, Words
from .copying import Place, bits_of, element, filled
from .movement import Template, bytes_moved
from .nest import Nest, Space, fused, rank_for, split

_REAL = (FLOAT32, FLOAT64)


# --- arange -------------------------------------------------------------------------------------------------

def _arange(signature: Signature) -> Plan | None:
    """start + i step: integers in 64 bits, floating numbers in double precision, in groups (Note: rounding of
    ranges)."""
    out = signature.outputs[0]
    dtype = np.dtype(out.dtype.numpy)
    kinds = signature.geometries
    if not out.numel or not all(isinstance(k, type) and issubclass(k, (int, float)) for k in kinds):
        return None
    whole = dtype.kind in "iu"
    if not (whole and all(issubclass(k, int) for k in kinds)) and dtype not in _REAL:
        return None
    words = Words()
    words.output()
    for operand in (0, 1):
        words.number(operand, INT64 if whole else FLOAT64)
    words.constant(out.numel)
    space = Space((out.numel,), ((1,),))
    cut = split(space, dtype.itemsize)
    Nest(1, 1, 4).place(words, space, cut)
    return Plan([Call(_arange_kernel(dtype), words, cut.tasks, cut.grain)], traffic=float(signature.nbytes))


@kernel("arange")
def _arange_kernel(dtype: np.dtype[np.generic]) -> str:
    module = Module()
    kind = memory_type(dtype)
    work = "i64" if dtype.kind in "iu" else "double"
    with module.kernel("arange") as f:
        to, start, step = f.word(0, "ptr"), f.word(1, work), f.word(2, work)
        grouped = f.emit(f"and i64 {f.word(3)}, {-2 * (32 // dtype.itemsize)}")
        with Nest(1, 1, 4).rows(f) as row, f.loop(row.first, row.last) as i:
            if work == "i64":
                x = f.add(start, f.mul(i, step)) if kind == "i64" else _wrapped(f, start, i, step, kind)
            else:
                x = f.choose(f.compare("slt", i, grouped), kind, _in_group(f, start, i, step, kind),
                             _counted(f, start, i, step, kind))
            f.write(kind, x, f.at(to, i, kind), dtype.itemsize)
    return module.text()


def _counted(f: Function, start: str, i: str, step: str, kind: str) -> str:
    """start + i step, rounded to the type of the elements."""
    x = f.emit(f"sitofp i64 {i} to double")
    if kind == "double":
        return f.fma(kind, x, step, start)
    x = f.emit(f"fadd double {start}, {f.emit(f'fmul double {x}, {step}')}")
    return f.emit(f"fptrunc double {x} to float")


def _in_group(f: Function, start: str, i: str, step: str, kind: str) -> str:
    ahead = f.emit(f"and i64 {i}, {(8 if kind == 'float' else 4) - 1}")
    begin = _counted(f, start, f.sub(i, ahead), step, kind)
    begin = f.emit(f"fpext float {begin} to double") if kind == "float" else begin
    return _counted(f, begin, ahead, step, kind)


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
    words = Words()
    words.output()
    for operand in (0, 1):
        words.number(operand, dtype)
    words.constant(out.numel)
    space = Space((out.numel,), ((1,),))
    cut = split(space, dtype.itemsize)
    Nest(1, 1, 4).place(words, space, cut)
    return Plan([Call(_linspace_kernel(dtype), words, cut.tasks, cut.grain)],
                traffic=float(signature.nbytes))


@kernel("linspace")
def _linspace_kernel(dtype: np.dtype[np.generic]) -> str:
    module = Module()
    kind = memory_type(dtype)
    with module.kernel("linspace") as f:
        to, first, last, count = f.word(0, "ptr"), f.word(1, kind), f.word(2, kind), f.word(3)
        top = f.sub(count, 1)
        intervals = f.emit(f"sitofp i64 {top} to {kind}")
        step = f.emit(f"fdiv {kind} {f.emit(f'fsub {kind} {last}, {first}')}, {intervals}")
        back = f.emit(f"fneg {kind} {step}")
        half = f.div(count, 2)
        with Nest(1, 1, 4).rows(f) as row, f.loop(row.first, row.last) as i:
            before, after = [f.emit(f"sitofp i64 {n} to {kind}") for n in (i, f.sub(top, i))]
            x = f.choose(f.compare("slt", i, half), kind, f.fma(kind, before, step, first),
                         f.fma(kind, after, back, last))
            f.write(kind, x, f.at(to, i, kind), dtype.itemsize)
    return module.text()


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
                traffic=float(signature.nbytes))


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
