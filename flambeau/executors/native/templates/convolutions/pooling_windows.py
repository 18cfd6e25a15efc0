"""What templates of pooling share: elements, and windows as arguments of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...arguments import Argument
from ...convolution.problem import Three, three
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from ...plan import Call, Plan
from ...quantity import whole
from ...vectors import Elements, elements

_TYPES = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16)


def elements_of(*geometries: Geometry) -> Elements | None:
    """The elements of operands and results, if there are kernels for them."""
    dtype = geometries[0].dtype.numpy
    if any(g.numel == 0 for g in geometries) or dtype not in _TYPES:
        return None
    return elements(dtype)


def axes(name: str, values: Three) -> dict[str, Argument]:
    """One argument for each dimension."""
    return {f"{name}_{axis}": value for axis, value in zip("abw", values)}


def window_axes(space: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
                dilation: Sequence[int], extents: Sequence[int]) -> dict[str, Argument]:
    """Windows over a space."""
    given: dict[str, Argument] = {}
    for name, values, fill in (("space", space, 1), ("out", extents, 1), ("kernel", kernel, 1),
                               ("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1)):
        given |= axes(name, three(values, fill))
    return given


def counted_axes(space: Sequence[int], padding: Sequence[int], include_pad: bool,
                 divisor: int | None) -> dict[str, Argument]:
    """Which elements of windows count; or what is counted instead."""
    low = axes("low", three([-p if include_pad else 0 for p in padding], 0))
    high = axes("high", three([n + p if include_pad else n for n, p in zip(space, padding)], 1))
    return {**low, **high, "divisor": divisor or 0}


def is_met(space: Sequence[int], attributes: Sequence[Any]) -> bool:
    """Whether every window meets the space."""
    kernel, stride, padding, dilation, extents = attributes
    return all(map(_is_met_along, space, kernel, stride, padding, dilation, extents))


@whole
def _is_met_along(n: int, k: int, s: int, p: int, d: int, count: int) -> bool:
    return all(any(0 <= i * s - p + t * d < n for t in range(k)) for i in range(count))


def plan_of(signature: Signature, call: Call) -> Plan:
    """The plan of one call, that takes as long as memory does."""
    moved = [g.nbytes for g in (*signature.geometries, *signature.outputs) if isinstance(g, Geometry)]
    return Plan([call], traffic=1.0 * sum(moved))
