"""Pooling: maxima, averages, and the operators that follow positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...arguments import Argument, words
from ...convolution import pooling, pooling_maxima, pooling_positions
from ...convolution.problem import three
from ...llvm.compiling.code import kernels
from ...llvm.compiling.effort import Effort
from ...llvm.emitter import INT64
from ...plan import Call, Plan, Template
from ...quantity import at_once, most
from ...vectors import Elements, elements
from ..shapes.relaying import relaid
from . import pooling_last
from .pooling_windows import axes, counted_axes, elements_of, is_met, plan_of, window_axes

# Elements that are worth a task of its own.
_TASK = 1 << 13


@kernels("pool", Effort.FEW)
def _window_code(name: str, kernel: str, step: int) -> str:
    make = {"max_pool": pooling_maxima.max_module, "max_pool_values": pooling_maxima.values_module,
            "avg_pool": pooling.average_module}[kernel]
    return make(elements(name), step)


@kernels("pool_plane", Effort.FEW)
def _plane_code(name: str, kernel: str) -> str:
    make = {"avg_pool_backward": pooling.average_backward_module,
            "pool_scatter": pooling_positions.scatter_module, "pool_gather": pooling_positions.gather_module,
            "adaptive_max_pool": pooling_positions.adaptive_module,
            "adaptive_max_pool_wide": pooling_positions.adaptive_wide_module}[kernel]
    return make(elements(name))


def _window_kernel(e: Elements, kernel: str, step: int) -> SupportsIndex:
    return _window_code(e.name, kernel, step)[kernel]


def _plane_kernel(e: Elements, kernel: str, wide: bool = False) -> SupportsIndex:
    return _plane_code(e.name, f"{kernel}_wide" if wide else kernel)[kernel]


def _planes(g: Geometry, dims: int, prefix: str = "s") -> dict[str, Argument] | None:
    """The strides of (..., *space); the dimensions before the space must be one or two."""
    lead = g.ndim - dims
    if lead > 2 or dims > 3 or any(n >= 1 << 30 for n in g.shape[lead:]):
        return None
    outer, inner = (0, 0, *g.strides[:lead])[-2:]
    a, b, w = three(g.strides[lead:], 0)
    return {f"{prefix}_outer": outer, f"{prefix}_inner": inner, f"{prefix}_a": a, f"{prefix}_b": b,
            f"{prefix}_w": w}


def _inner(g: Geometry, dims: int) -> int:
    return g.shape[g.ndim - dims - 1] if g.ndim > dims else 1


def _call(function: SupportsIndex, given: Any, size: int, planes: int, scratch: int = 0) -> Call:
    return Call(function, given, planes, grain=at_once(_TASK, most(1, size)), scratch=scratch)


def _windows(signature: Signature, attributes: Sequence[Any]) -> dict[str, Argument] | None:
    """What the kernels of windows want to know. Attributes: kernel, stride, padding, dilation, extents."""
    x = signature.geometries[0]
    kernel, stride, padding, dilation, extents = attributes
    dims = len(kernel)
    strides = _planes(x, dims)
    space = x.shape[x.ndim - dims:]
    if strides is None or math.prod(space) >= 1 << 31:
        return None
    return {**strides, "inner": _inner(x, dims),
            **window_axes(space, kernel, stride, padding, dilation, extents)}


def _step(given: dict[str, Argument]) -> int:
    """The distance of neighbouring windows in memory, if there is a special way to read them."""
    if given["s_w"] != 1 and given["space_w"] != 1:
        return 0
    return {1: 1, 2: 2}.get(given["stride_w"], 0)  # type: ignore[arg-type]


def _is_wide(e: Elements, adjacent: int, kernel: int, stride: int, count: int) -> bool:
    """Whether rows of a window are better read as vectors than a tap of so many windows."""
    if adjacent != 1 or kernel < 4:
        return False
    across = -(-count // e.lanes) * kernel * (1 if stride <= 2 else 4)
    return 2 * count * -(-kernel // e.lanes) < across


def _max_pool(signature: Signature) -> Plan | None:
    x, out = signature.geometries[0], signature.outputs[0]
    e = elements_of(x, out)
    given = _windows(signature, signature.attributes)
    space = x.shape[x.ndim - len(signature.attributes[0]):]
    if e is None or given is None or not is_met(space, signature.attributes):
        return None
    alone = len(signature.outputs) == 1
    given |= {"source": lambda w: w.input(0, x), "target": lambda w: w.output(0),
              "positions": lambda w: w.output(1)}
    pointers = pooling_maxima.VALUE_POINTERS if alone else pooling_maxima.PLACE_POINTERS
    made = words(pointers, pooling.SPACE, given)
    planes = out.numel // math.prod(signature.attributes[4])
    kernel = _window_kernel(e, "max_pool_values" if alone else "max_pool", _step(given))
    return plan_of(signature, _call(kernel, made, x.numel // planes, planes))


def _avg_pool(signature: Signature) -> Plan | None:
    x, out = signature.geometries[0], signature.outputs[0]
    kernel, stride, padding, extents, include_pad, divisor = signature.attributes
    e = elements_of(x, out)
    given = _windows(signature, (kernel, stride, padding, (1,) * len(kernel), extents))
    if e is None or given is None or not isinstance(divisor, (int, type(None))):
        return None
    step = pooling.INSIDE if _is_wide(e, x.strides[-1], kernel[-1], stride[-1], extents[-1]) else _step(given)
    given |= {**counted_axes(x.shape[x.ndim - len(kernel):], padding, include_pad, divisor),
              "source": lambda w: w.input(0, x), "target": lambda w: w.output(0)}
    made = words(pooling.AVERAGE_POINTERS, pooling.AVERAGE, given)
    planes = out.numel // math.prod(extents)
    return plan_of(signature, _call(_window_kernel(e, "avg_pool", step), made, x.numel // planes, planes))


def _avg_pool_backward(signature: Signature) -> Plan | None:
    grad, out = signature.geometries[0], signature.outputs[0]
    shape, kernel, stride, padding, extents, include_pad, divisor = signature.attributes[:7]
    dims = len(kernel)
    e, strides = elements_of(grad, out), _planes(grad, dims)
    space = shape[len(shape) - dims:]
    if e is None or strides is None or not isinstance(divisor, (int, type(None))):
        return None
    given: dict[str, Argument] = {
        **strides, "inner": _inner(grad, dims),
        **window_axes(space, kernel, stride, padding, (1,) * dims, extents),
        **counted_axes(space, padding, include_pad, divisor),
        "source": lambda w: w.input(0, grad), "target": lambda w: w.output(0)}
    made = words(pooling.AVERAGE_POINTERS, pooling.AVERAGE, given)
    size = math.prod(space)
    call = _call(_plane_kernel(e, "avg_pool_backward"), made, size, out.numel // size, size * e.width + 64)
    return plan_of(signature, call)


def _follow(x: Geometry, positions: Geometry, dims: int, size: int) -> dict[str, Argument] | None:
    """Strides of values and positions; ``out``: the extents of the positions."""
    mine, theirs = _planes(x, dims), _planes(positions, dims, "p")
    if mine is None or theirs is None or positions.dtype.numpy != INT64:
        return None
    extents = three(positions.shape[positions.ndim - dims:], 1)
    return {**mine, **theirs, **axes("out", extents), "inner": _inner(positions, dims), "size": size,
            "source": lambda w: w.input(0, x), "positions": lambda w: w.input(1, positions),
            "target": lambda w: w.output(0), "status": lambda w: w.status()}


def _pool_scatter(signature: Signature) -> Plan | None:
    grad, positions = signature.geometries
    space, dims = signature.attributes
    out, size = signature.outputs[0], math.prod(space)
    e = elements_of(grad, positions, out)
    given = _follow(grad, positions, dims, size)
    if e is None or given is None or not out.is_contiguous:
        return None
    made = words(pooling_positions.FOLLOW_POINTERS, pooling_positions.FOLLOW, given)
    call = _call(_plane_kernel(e, "pool_scatter"), made, size, out.numel // size, size * e.width + 64)
    return plan_of(signature, call)


def _pool_gather(signature: Signature) -> Plan | None:
    x, positions = signature.geometries
    dims, = signature.attributes
    out = signature.outputs[0]
    e = elements_of(x, positions, out)
    space = x.shape[x.ndim - dims:]
    given = _follow(x, positions, dims, math.prod(space))
    if e is None or given is None:
        return None
    _, given["space_b"], given["space_w"] = three(space, 1)
    made = words(pooling_positions.FOLLOW_POINTERS, pooling_positions.GATHER, given)
    size = math.prod(out.shape[out.ndim - dims:])
    return plan_of(signature, _call(_plane_kernel(e, "pool_gather"), made, size, out.numel // size))


def _adaptive_max_pool(signature: Signature) -> Plan | None:
    x, out = signature.geometries[0], signature.outputs[0]
    sizes, = signature.attributes
    dims = len(sizes)
    e, strides = elements_of(x, out), _planes(x, dims)
    if e is None or strides is None:
        return None
    given = {**strides, **axes("space", three(x.shape[x.ndim - dims:], 1)), **axes("out", three(sizes, 1)),
             "inner": _inner(x, dims), "source": lambda w: w.input(0, x), "target": lambda w: w.output(0),
             "positions": lambda w: w.output(1)}
    made = words(pooling_positions.ADAPTIVE_POINTERS, pooling_positions.ADAPTIVE, given)
    planes = out.numel // math.prod(sizes)
    wide = x.strides[-1] == 1 and x.shape[-1] >= 4 * sizes[-1]
    kernel = _plane_kernel(e, "adaptive_max_pool", wide)
    return plan_of(signature, _call(kernel, made, x.numel // planes, planes))


def _either(last: Template, planes: Template) -> Template:
    """What goes along channels where these lie side by side; else what writes planes."""
    def find(signature: Signature) -> Plan | None:
        return last(signature) or planes(signature)
    return find


# The other kernels write planes.
TEMPLATES = {**dict.fromkeys(("max_pool", "max_pool_values"),
                             _either(pooling_last.max_pool, relaid(_max_pool))),
             "avg_pool": _either(pooling_last.avg_pool, relaid(_avg_pool)),
             "avg_pool_backward": relaid(_avg_pool_backward),
             "pool_scatter": _either(pooling_last.pool_scatter, relaid(_pool_scatter)),
             "pool_gather": relaid(_pool_gather),
             "adaptive_max_pool": _either(pooling_last.adaptive_max_pool, relaid(_adaptive_max_pool))}
