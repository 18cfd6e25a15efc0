"""How reductions begin, go on and end: in registers of the elements' type, in blocks, in a wider type.

Note: sums. Single precision is added up in vector lanes over a block, the blocks in double precision; parts
of a row that several tasks have added are combined in their order. So errors stay small, and no result
depends on the number of threads.
"""

from __future__ import annotations

import numpy as np

from ..llvm.build import Function
from ..llvm.emitter import FLOAT32, FLOAT64, Dtype, literal, register_type

BLOCK = 4096    # elements that are added up in single precision


def wide(kind: str, dtype: Dtype) -> Dtype:
    """The type in which blocks are combined."""
    return FLOAT64 if kind in ("sum", "prod") and dtype == FLOAT32 else dtype


def identity(kind: str, dtype: Dtype) -> str:
    """The result of reducing nothing."""
    if kind in ("sum", "prod"):
        return literal(int(kind == "prod"), dtype)
    if dtype.kind == "b":
        return literal(kind == "all", dtype)
    if dtype.kind == "f":
        return literal(-np.inf if kind == "max" else np.inf, dtype)
    limits = np.iinfo(dtype)
    return literal(limits.min if kind == "max" else limits.max, dtype)


def combined(f: Function, kind: str, dtype: Dtype, x: str, y: str, loose: bool = True) -> str:
    """Two parts as one. ``loose``: LLVM may change the order, to use vectors."""
    held = register_type(dtype)
    if kind in ("sum", "prod"):
        step = "add" if kind == "sum" else "mul"
        step = f"f{step}{' reassoc nsz' if loose else ''}" if dtype.kind == "f" else step
        return f.emit(f"{step} {held} {x}, {y}")
    if dtype.kind == "b":
        return f.emit(f"{'or' if kind == 'any' else 'and'} i1 {x}, {y}")
    if dtype.kind == "f":
        name = {"max": "llvm.maximum", "min": "llvm.minimum"}[kind] + (".f32" if held == "float" else ".f64")
    else:
        name = f"llvm.{'s' if dtype.kind == 'i' else 'u'}{kind}.{held}"
    return f.call(name, held, [held, held], [x, y], flags="nsz" if dtype.kind == "f" else "")


def widened(f: Function, kind: str, dtype: Dtype, x: str) -> str:
    """A part in the type in which blocks are combined."""
    return x if wide(kind, dtype) == dtype else f.emit(f"fpext float {x} to double")


def result(kind: str, dtype: Dtype, register: str, total: str) -> str:
    """The line that defines a reduction's result."""
    held = register_type(dtype)
    if wide(kind, dtype) == dtype:
        return f"  {register} = bitcast {held} {total} to {held}"
    return f"  {register} = fptrunc double {total} to float"
