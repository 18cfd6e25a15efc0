"""Pooling where channels lie side by side, in operands and results; None where they do not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import SupportsIndex, cast

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....layouts import lies_in
from ...arguments import Argument, words
from ...convolution import pooling_last
from ...convolution.problem import three
from ...llvm.compiling.code import kernels
from ...llvm.compiling.effort import Effort
from ...llvm.emitter import INT64
from ...plan import Call, Plan
from ...quantity import at_once
from ...vectors import Elements, elements
from .pooling_windows import axes, counted_axes, elements_of, is_met, plan_of, window_axes

# Elements that are worth a task of its own.
_TASK = 1 << 13
# Channels of a task of those that add to sums; fewer of 16-bit elements, whose sums are kept elsewhere.
_CHUNK, _NARROW_CHUNK = 64, 16


_MODULES = {"max_pool": pooling_last.max_module, "max_pool_values": pooling_last.values_module,
            "adaptive_max_pool": pooling_last.adaptive_module, "avg_pool": pooling_last.average_module,
            "pool_scatter": pooling_last.scatter_module}


@kernels("pool_last", Effort.FEW)
def _code(name: str, kernel: str) -> str:
    return _MODULES[kernel](elements(name))


def _kernel(e: Elements, name: str) -> SupportsIndex:
    return _code(e.name, name)[name]


def _elements(signature: Signature, dims: int) -> Elements | None:
    """The elements, if channels are what lies side by side, before and after."""
    x, results = signature.geometries[0], signature.outputs
    if x.ndim != dims + 2 or x.strides[1] != 1 or math.prod(x.shape[2:]) >= 1 << 31:
        return None
    if (x.strides[-1] == 1 and x.shape[-1] != 1) or any(g.strides[1] != 1 for g in results):
        return None
    return elements_of(x, results[0])


def _strides(g: Geometry, prefix: str) -> dict[str, Argument]:
    return {f"{prefix}_n": g.strides[0], **axes(prefix, three(g.strides[2:], 0))}


def _places(signature: Signature, extents: Sequence[int]) -> dict[str, Argument]:
    x, out = signature.geometries[0], signature.outputs[0]
    return {"channels": x.shape[1], **_strides(x, "s"), **_strides(out, "t"),
            **axes("space", three(x.shape[2:], 1)), **axes("out", three(extents, 1)),
            "source": lambda w: w.input(0, x), "target": lambda w: w.output(0),
            "positions": lambda w: w.output(1)}


def _rows(signature: Signature, given: dict[str, Argument]) -> tuple[int, int]:
    """Tasks and their grain: a row of results each."""
    x, rows = signature.geometries[0], cast(int, given["out_a"])
    tasks = x.shape[0] * rows
    return tasks, at_once(_TASK * tasks, x.numel)


def max_pool(signature: Signature) -> Plan | None:
    """Maxima over windows, and where they are."""
    x, attributes = signature.geometries[0], signature.attributes
    e = _elements(signature, len(attributes[0]))
    if e is None or not is_met(x.shape[2:], attributes):
        return None
    kernel, stride, padding, dilation, extents = attributes
    given = _places(signature, extents) \
        | window_axes(x.shape[2:], kernel, stride, padding, dilation, extents)
    alone = len(signature.outputs) == 1
    made = words(pooling_last.MEANS_POINTERS if alone else pooling_last.MAXIMA_POINTERS,
                 pooling_last.WINDOWS, given)
    kernel = _kernel(e, "max_pool_values" if alone else "max_pool")
    return plan_of(signature, Call(kernel, made, *_rows(signature, given)))


def adaptive_max_pool(signature: Signature) -> Plan | None:
    """The same of windows that share out the space."""
    sizes, = signature.attributes
    e = _elements(signature, len(sizes))
    if e is None:
        return None
    given = _places(signature, sizes)
    made = words(pooling_last.MAXIMA_POINTERS, pooling_last.PLACES, given)
    return plan_of(signature, Call(_kernel(e, "adaptive_max_pool"), made, *_rows(signature, given)))


def avg_pool(signature: Signature) -> Plan | None:
    """Means over windows."""
    x = signature.geometries[0]
    kernel, stride, padding, extents, include_pad, divisor = signature.attributes
    e = _elements(signature, len(kernel))
    if e is None or not isinstance(divisor, (int, type(None))):
        return None
    space = x.shape[2:]
    given = _places(signature, extents) \
        | window_axes(space, kernel, stride, padding, (1,) * len(kernel), extents) \
        | counted_axes(space, padding, include_pad, divisor)
    made = words(pooling_last.MEANS_POINTERS, pooling_last.MEANS, given)
    return plan_of(signature, Call(_kernel(e, "avg_pool"), made, *_rows(signature, given)))


def pool_scatter(signature: Signature) -> Plan | None:
    """Values added up at their positions."""
    grad, positions = signature.geometries
    space, dims = signature.attributes
    out, size = signature.outputs[0], math.prod(space)
    order = (1, *range(dims + 1, 1, -1), 0)
    if positions.ndim != dims + 2 or positions.strides[1] != 1 or positions.dtype.numpy != INT64 \
            or out.is_contiguous or not lies_in(out.shape, out.strides, order):
        return None
    e = elements_of(grad, positions, out)
    if e is None:
        return None
    channels, apart = out.shape[1], e.itemsize != e.width
    chunk = min(channels, _NARROW_CHUNK if apart else _CHUNK)
    chunks = -(-channels // chunk)
    given: dict[str, Argument] = {
        "size": size, "channels": channels, "chunks": chunks, "chunk": chunk, "s_c": grad.strides[1],
        **_strides(grad, "s"), **_strides(positions, "p"), **axes("out", three(positions.shape[2:], 1)),
        "source": lambda w: w.input(0, grad), "positions": lambda w: w.input(1, positions),
        "target": lambda w: w.output(0), "status": lambda w: w.status()}
    made = words(pooling_last.SCATTER_POINTERS, pooling_last.SCATTER, given)
    call = Call(_kernel(e, "pool_scatter"), made, out.shape[0] * chunks,
                at_once(_TASK, size * chunk), scratch=size * chunk * e.width + 64 if apart else 0)
    return plan_of(signature, call)
