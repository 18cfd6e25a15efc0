"""Convolutions: forward, and the gradients by input and weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....layouts import reads_last
from ...convolution import planes
from ...convolution.depthwise import depthwise_plan, depthwise_weight_plan
from ...convolution.depthwise_rows import has_rows, has_weight_rows, rows_plan, rows_weight_plan
from ...convolution.few_plan import MOST_OUTS, few_plan, has_few, reads_dense
from ...convolution.forward import beside_in, has_pairs, product_plan, without_empty
from ...convolution.point_plan import has_points, point_plan
from ...convolution.problem import Problem, forward_problem, input_problem, joined
from ...convolution.weight import weight_plan
from ...convolution.winograd import winograd_of
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from ...plan import Plan
from ...quantity import whole
from ..shapes.relaying import plan_by_copies
from . import covers

_TYPES = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16)
_WHOLE = (FLOAT32, FLOAT64)     # what is computed is what is stored
# Fewer channels than this are not worth a transform, or vectors of channels.
_WINOGRAD, _NARROW = 16, 16
# Of the gradient by the weight, fewer leave much of a tile's columns empty.
_HALF = 32
# A weight costs as much as so many products with it; of the gradient by the weight, a sum (with stride 2).
_WEIGHTS = 64
_SUMS = 128
# So few output channels of one input channel are not worth a matrix product.
_FEW = 4


def _usable(signature: Signature) -> Any:
    """The NumPy type of all operands and the result, if there is a native form."""
    geometries = [g for g in (*signature.geometries, *signature.outputs) if isinstance(g, Geometry)]
    dtype = geometries[0].dtype
    if any(g.dtype is not dtype or g.numel == 0 for g in geometries) or dtype.numpy not in _TYPES:
        return None
    return dtype.numpy


def _row_major(weight: Geometry) -> int:
    """How many taps lie side by side: all of them, or 0."""
    volume = 1
    for n, s in zip(reversed(weight.shape[2:]), reversed(weight.strides[2:])):
        if n != 1 and s != volume:
            return 0
        volume *= n
    return volume


def _beside(problem: Problem, weight: Geometry) -> int:
    """How many taps there are of which channels lie side by side, or 0."""
    return math.prod(weight.shape[2:]) if beside_in(problem) != "taps" else 0


def _is_depthwise(problem: Problem) -> bool:
    return problem.groups > 1 and problem.ins == 1 and problem.outs <= _FEW


def _products(problem: Problem, mode: str, each: int = _WEIGHTS) -> int:
    """Products for each pair of channels, and what it costs to transform, store and read the weights."""
    w = winograd_of(mode)
    if w is None:
        return problem.products // (problem.groups * problem.ins * problem.outs) + 9 * each
    height, _, width = (joined(problem) or problem).phases[0].grid
    return problem.batch * w.products(height) * w.products(width) + w.weights**2 * each


def _mode(problem: Problem, volume: int, dtype: Any, halved: int) -> str:
    """How the products are done; see ``convolution/kernel.py``.

    ``halved``: what a weight costs with stride 2, in products; 0: Winograd's way is not worth while there.
    """
    phase = problem.phases[0]
    if len(problem.phases) == 1 and len(phase.taps) == volume == 9 and problem.span == (3, 1, 3) \
            and phase.grid[1] == 1 \
            and problem.step[0] == problem.step[2] <= 2 and min(problem.ins, problem.outs) >= _WINOGRAD \
            and dtype != FLOAT64:
        if problem.step[0] == 1:
            return _cheapest(problem, ("winograd4", "winograd2", "taps"), _WEIGHTS)
        if halved:
            return _cheapest(problem, ("winograd_halved", "taps"), halved)
    if halved and volume == 9 and dtype != FLOAT64 and problem.ins >= _WINOGRAD \
            and problem.outs > MOST_OUTS and joined(problem):
        return _cheapest(problem, ("winograd_doubled", "taps"), halved)
    if len(without_empty(problem)[0].phases) == len(phase.taps) == 1 \
            and problem.step == (1, 1, 1) and problem.ins >= _NARROW \
            and phase.grid == problem.extents and problem.before == phase.taps[0].offset:
        return "pointwise"
    return "narrow" if problem.ins < _NARROW and len(problem.phases) == 1 else "taps"


def _cheapest(problem: Problem, modes: tuple[str, ...], each: int) -> str:
    return _mode_of(modes, *[_products(problem, mode, each) for mode in modes])


@whole
def _mode_of(modes: tuple[str, ...], *costs: int) -> str:
    """The mode that costs least."""
    return modes[costs.index(min(costs))]


def _halved(dtype: Any) -> int:
    """Of ``_mode``; products in pairs are half as many, which is less than Winograd's with stride 2."""
    return 0 if has_pairs("taps", dtype) else _WEIGHTS


def _kind(problem: Problem, mode: str, dtype: Any, source: Geometry) -> str:
    """Which kernels compute a forward product or a gradient by the input; ``copied``: few, of a copy."""
    if _is_depthwise(problem):
        return "rows" if has_rows(problem) else "depthwise"
    if winograd_of(mode) is None and has_few(problem, dtype):
        if reads_dense(problem):
            return "few"
        if not source.is_contiguous:
            return "copied"
    return "product"


def _copies(operands: Sequence[Geometry], result: Geometry) -> list[int] | None:
    """Which operands to copy where kernels want pixels side by side but channels are; None where not."""
    if result.is_contiguous:
        return None
    return [i for i, g in enumerate(operands) if not g.is_contiguous]


def _forward(signature: Signature) -> Plan | None:
    dtype = _usable(signature)
    if dtype is None:
        return None
    x, weight, bias = signature.geometries
    if not isinstance(bias, Geometry):
        bias = None
    elif bias.strides[0] != 1 and bias.shape[0] != 1:
        return None
    if covers.is_whole(x, weight, signature.outputs[0], signature.attributes):
        return covers.forward_plan(signature, dtype)
    problem = forward_problem(x, weight, signature.outputs[0], signature.attributes)
    volume = _row_major(weight)
    mode = _mode(problem, volume or _beside(problem, weight), dtype, _halved(dtype))
    copies = _copies((x, weight), signature.outputs[0])
    if copies is not None and (_is_small(problem) or mode == "narrow"):
        return plan_by_copies(_forward, signature, copies)
    kind = _kind(problem, mode, dtype, x)
    if mode == "narrow" and kind in ("few", "copied", "product") and dtype in _WHOLE \
            and planes.has_planes(problem, volume, dtype):
        return planes.forward_plan(problem, dtype, (x, weight, bias))
    if kind == "copied":
        return plan_by_copies(_forward, signature, [0])
    return _plan(kind, problem, dtype, (x, weight, bias), volume, mode, False)


def _is_small(problem: Problem) -> bool:
    """Whether there are so few channels that kernels go along the pixels."""
    return _is_depthwise(problem) or problem.outs <= MOST_OUTS


def _plan(kind: str, problem: Problem, dtype: Any, operands: Any, volume: int, mode: str,
          turned: bool) -> Plan | None:
    if kind in ("rows", "depthwise"):
        return (rows_plan if kind == "rows" else depthwise_plan)(problem, dtype, *operands)
    if kind == "few":
        return few_plan(problem, dtype, operands)
    if dtype in _WHOLE and mode in ("taps", "pointwise") and has_points(problem, dtype):
        return point_plan(problem, dtype, operands)
    return product_plan(problem, dtype, operands, volume, mode, turned)


def _input(signature: Signature) -> Plan | None:
    dtype = _usable(signature)
    if dtype is None:
        return None
    grad, weight = signature.geometries
    if covers.is_whole(signature.outputs[0], weight, grad, signature.attributes[1:]):
        return covers.input_plan(signature, dtype)
    problem = input_problem(grad, weight, signature.outputs[0], signature.attributes)
    volume = _row_major(weight)
    copies = _copies((grad, weight), signature.outputs[0])
    if copies is not None and _is_small(problem):
        return plan_by_copies(_input, signature, copies)
    mode = _mode(problem, volume or _beside(problem, weight), dtype, _halved(dtype))
    kind = _kind(problem, mode, dtype, grad)
    if kind == "copied":
        return plan_by_copies(_input, signature, [0])
    return _plan(kind, problem, dtype, (grad, weight, None), volume, mode, True)


def _weight(signature: Signature) -> Plan | None:
    dtype = _usable(signature)
    if dtype is None:
        return None
    grad, x = signature.geometries
    result = signature.outputs[0]
    if covers.is_whole(x, result, grad, signature.attributes[1:]):
        return covers.weight_plan(signature, dtype)
    problem = forward_problem(x, result, grad, signature.attributes[1:])
    halved = _SUMS if min(problem.ins, problem.outs) >= _HALF else 0
    mode = _mode(problem, math.prod(result.shape[2:]), dtype, halved)
    narrow = mode == "narrow" or (mode == "taps" and problem.ins < _HALF)
    if narrow or _is_depthwise(problem):
        copies = [i for i, g in enumerate((grad, x))
                  if not g.is_contiguous and reads_last(g.shape, g.strides)]
        if copies or not result.is_contiguous:
            return plan_by_copies(_weight, signature, copies)
    volume = _row_major(result)
    if _is_depthwise(problem):
        weight_of = rows_weight_plan if has_weight_rows(problem, volume) else depthwise_weight_plan
        return weight_of(problem, dtype, grad, x)
    if narrow and planes.has_planes(problem, volume, dtype):
        return planes.weight_plan(problem, dtype, grad, x, result)
    return weight_plan(problem, dtype, grad, x, result, mode)


TEMPLATES = {"convolution": _forward, "convolution_input": _input, "convolution_weight": _weight}
