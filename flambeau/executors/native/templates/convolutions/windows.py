"""Patches as columns and back (``unfold``, ``fold``), over the kernels of ``movement/windows.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...arguments import Argument, words
from ...llvm.emitter import BFLOAT16, FLOAT16
from ...llvm.lanes import FLOATING
from ...movement.windows import NUMBERS, POINTERS, columns_kernel, planes_kernel
from ...plan import Call, Plan
from ...recurrent.rounding import narrowed
from ..shapes.movement import bytes_moved

_TASK = 1 << 13     # elements of columns that are worth a task of its own


def _columns(signature: Signature) -> Plan | None:
    """(N, C, H, W) as columns (N, C * kernel, windows)."""
    x, out = signature.geometries[0], signature.outputs[0]
    kernel, dilation, padding, stride = signature.attributes
    size = out.dtype.itemsize
    if not out.numel or x.dtype is not out.dtype or size > 8:
        return None
    strides = (x.strides[0], x.strides[1], x.strides[2], x.strides[3])
    given = _given(x.shape[1], strides, x.shape[2:], kernel, dilation, padding, stride)
    return _plan(signature, columns_kernel(size), given, x, x.shape[0] * x.shape[1], out.numel)


def _planes(signature: Signature) -> Plan | None:
    """Columns (N, C * kernel, windows) summed into (N, C, H, W)."""
    x, out = signature.geometries[0], signature.outputs[0]
    space, kernel, dilation, padding, stride = signature.attributes
    dtype = out.dtype.numpy
    if not out.numel or not x.numel or x.dtype is not out.dtype or dtype not in FLOATING:
        return None
    across = _counts(space, kernel, dilation, padding, stride)[1]
    strides = (x.strides[0], x.strides[1], across * x.strides[2], x.strides[2])
    given = _given(out.shape[1], strides, space, kernel, dilation, padding, stride)
    planes = out.shape[0] * out.shape[1]
    if dtype not in (FLOAT16, BFLOAT16):
        return _plan(signature, planes_kernel(dtype), given, x, planes, x.numel)
    call = _call(planes_kernel(dtype), {**given, "target": lambda w: w.workspace(0)}, x, planes, x.numel)
    return Plan([call, narrowed(dtype, out.numel, 0)], workspace=-(-4 * out.numel // 64) * 64,
                traffic=bytes_moved(signature) + 8.0 * out.numel)


def _counts(space: Sequence[int], kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
            stride: Sequence[int]) -> list[int]:
    """How many windows there are in each direction."""
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, d, p, s in zip(space, kernel, dilation, padding, stride)]


def _given(inner: int, strides: Sequence[int], space: Sequence[int], kernel: Sequence[int],
           dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]) -> dict[str, Argument]:
    given: dict[str, Argument] = dict(zip(("inner", "s_outer", "s_inner", "s_b", "s_w"), (inner, *strides)))
    out = _counts(space, kernel, dilation, padding, stride)
    for name, values in (("space", space), ("out", out), ("kernel", kernel), ("stride", stride),
                         ("padding", padding), ("dilation", dilation)):
        given |= {f"{name}_b": values[0], f"{name}_w": values[1]}
    return given


def _plan(signature: Signature, function: SupportsIndex, given: dict[str, Argument], x: Geometry, planes: int,
          elements: int) -> Plan:
    call = _call(function, {**given, "target": lambda w: w.output(0)}, x, planes, elements)
    return Plan([call], traffic=bytes_moved(signature))


def _call(function: SupportsIndex, given: dict[str, Argument], x: Geometry, planes: int,
          elements: int) -> Call:
    made = words(POINTERS, NUMBERS, {**given, "source": lambda w: w.input(0, x)})
    return Call(function, made, planes, grain=max(1, _TASK // max(1, elements // planes)))


TEMPLATES = {"im2col": _columns, "col2im": _planes}
