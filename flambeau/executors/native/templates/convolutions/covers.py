"""Convolutions whose kernel covers all of the input once: products of matrices.

The last layers of classifiers and discriminators are such, and, transposed, the first one of a generator.
With V elements of an example, and of the weight of an output channel:

    y (N, O) = x (N, V) weight (O, V)^T,    grad_x = grad weight,    grad_weight = grad^T x
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype
from ...plan import Plan
from ...products.blocking import Matrix, Problem, Target, product_plan
from ...products.epilogue import Added, Operand

_SINGLE = 1, 1, 1


def is_whole(x: Geometry, weight: Geometry, y: Geometry, attributes: Sequence[Any]) -> bool:
    """Whether y has one pixel, for which all of x is read as it lies, once."""
    _, padding, dilation, groups, *_ = attributes
    return groups == 1 and all(n == 1 for n in y.shape[2:]) and x.shape[1:] == weight.shape[1:] \
        and not any(padding) and all(d == 1 for d in dilation) and x.is_contiguous and weight.is_contiguous


def _compute(dtype: Dtype) -> Dtype:
    return dtype if dtype == FLOAT64 else FLOAT32


def forward_plan(signature: Signature, dtype: Dtype) -> Plan:
    """Of y."""
    x, weight, bias = signature.geometries
    y, volume, compute = signature.outputs[0], math.prod(x.shape[1:]), _compute(dtype)
    added = None
    if isinstance(bias, Geometry):
        added = Added(Operand(2, bias, (0, 0, 0, 0, bias.strides[0])), compute, None)
    return product_plan(Problem(
        x.shape[0], weight.shape[0], volume, _SINGLE, Matrix(0, x, volume, 1), Matrix(1, weight, 1, volume),
        Target(y.strides[0], y.strides[1]), dtype, dtype, compute, added))


def input_plan(signature: Signature, dtype: Dtype) -> Plan:
    """Of the gradient by x."""
    grad, weight = signature.geometries
    (batch, outs, *_), volume = grad.shape, math.prod(weight.shape[1:])
    return product_plan(Problem(
        batch, volume, outs, _SINGLE, Matrix(0, grad, grad.strides[0], grad.strides[1]),
        Matrix(1, weight, volume, 1), Target(volume, 1), dtype, dtype, _compute(dtype)))


def weight_plan(signature: Signature, dtype: Dtype) -> Plan:
    """Of the gradient by the weight."""
    grad, x = signature.geometries
    (batch, outs, *_), volume = grad.shape, math.prod(x.shape[1:])
    return product_plan(Problem(
        outs, volume, batch, _SINGLE, Matrix(0, grad, grad.strides[1], grad.strides[0]),
        Matrix(1, x, volume, 1), Target(volume, 1), dtype, dtype, _compute(dtype)))
