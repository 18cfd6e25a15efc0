"""Activations and their gradients."""

from __future__ import annotations

import math
from typing import Any

from ..expressions.elements import maximum, where
from ..expressions.expression import Expression, compare, constant, select
from ..expressions.functions import absolute
from .elementary import exp, log1p, normal_slope, sigmoid, tanh, times_normal

_SQRT_2_PI = math.sqrt(2 / math.pi)
_CUBE = 0.044715


def rectify(x: Expression) -> Expression:
    """max(x, 0); a zero keeps its sign, as NaN stays."""
    return select(compare("<", x, 0), constant(x, 0), x)


def leaky(x: Expression, slope: Any) -> Expression:
    """x where positive, else slope * x."""
    return where(compare(">", x, 0), x, x * slope)


def sigmoid_gradient(grad: Expression, output: Expression) -> Expression:
    """grad * output * (1 - output)."""
    return (1 - output) * output * grad


def tanh_gradient(grad: Expression, output: Expression) -> Expression:
    """grad * (1 - output^2)."""
    return (1 - output * output) * grad


def rectified_gradient(grad: Expression, output: Expression, threshold: Any) -> Expression:
    """grad where output is above the threshold (or NaN), else 0."""
    return where(compare("<=", output, threshold), constant(grad, 0), grad)


def silu(x: Expression) -> Expression:
    """x * sigmoid(x)."""
    return sigmoid(x) * x


def silu_gradient(grad: Expression, x: Expression) -> Expression:
    """The gradient of silu."""
    s = sigmoid(x)
    return ((1 - s) * x + 1) * s * grad


def softplus(x: Expression) -> Expression:
    """log(1 + exp(x)), without overflow."""
    return log1p(exp(-absolute(x))) + maximum(x, 0)


def mish(x: Expression) -> Expression:
    """x * tanh(softplus(x))."""
    return tanh(softplus(x)) * x


def gelu(x: Expression) -> Expression:
    """x times the normal distribution function of x."""
    return times_normal(x)


def gelu_gradient(grad: Expression, x: Expression) -> Expression:
    """The gradient of gelu."""
    return normal_slope(x) * grad


def _inner_tanh(x: Expression) -> Expression:
    return tanh((x * x * _CUBE + 1) * x * _SQRT_2_PI)


def gelu_tanh(x: Expression) -> Expression:
    """gelu with the distribution function approximated by tanh."""
    return (_inner_tanh(x) + 1) * x * 0.5


def gelu_tanh_gradient(grad: Expression, x: Expression) -> Expression:
    """Its gradient."""
    t = _inner_tanh(x)
    slope = (x * x * (3 * _CUBE) + 1) * x * _SQRT_2_PI
    return (((1 - t * t) * slope + t) + 1) * 0.5 * grad
