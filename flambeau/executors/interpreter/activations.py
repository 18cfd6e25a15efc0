"""Kernels of activation functions, with few passes over memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import rounded
from .blocks import Array, blockwise
from .choice import where
from .special import erf

__all__ = [
    "gelu",
    "gelu_gradient",
    "gelu_tanh",
    "gelu_tanh_gradient",
    "log_softmax",
    "log_softmax_gradient",
    "mish",
    "rectified_gradient",
    "sigmoid",
    "sigmoid_gradient",
    "silu",
    "silu_gradient",
    "softmax",
    "softmax_gradient",
    "softplus",
    "tanh_gradient",
]

_SQRT_HALF = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)
_SQRT_2_PI = math.sqrt(2 / math.pi)
_CUBE = 0.044715


# --- the logistic function and tanh -------------------------------------------------------------------------

_ones: dict[Any, Array] = {}


def _one(like: Array) -> Array:
    """The number 1 of an array's type: to make an array of a Python number takes as long as to add it."""
    numpy_type = like.dtype
    found = _ones.get(numpy_type)
    if found is None:
        found = _ones[numpy_type] = np.ones((), numpy_type)
    return found


def _sigmoid_into(out: Array, x: Array) -> None:
    one = _one(out)
    np.negative(x, out)
    np.exp(out, out)    # infinite for x far below 0, where the quotient is 0
    np.add(out, one, out)
    np.divide(one, out, out)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return blockwise(_sigmoid_into, x)


def _sigmoid_gradient_into(out: Array, grad: Array, output: Array) -> None:
    np.subtract(_one(out), output, out)
    np.multiply(out, output, out)
    np.multiply(out, grad, out)


def sigmoid_gradient(grad: Any, output: Any) -> Any:
    """grad * output * (1 - output)."""
    return blockwise(_sigmoid_gradient_into, grad, output)


def _tanh_gradient_into(out: Array, grad: Array, output: Array) -> None:
    np.multiply(output, output, out)
    np.subtract(_one(out), out, out)
    np.multiply(out, grad, out)


def tanh_gradient(grad: Any, output: Any) -> Any:
    """grad * (1 - output^2)."""
    return blockwise(_tanh_gradient_into, grad, output)


# --- rectifiers ---------------------------------------------------------------------------------------------

def rectified_gradient(grad: Any, output: Any, threshold: Any) -> Any:
    """grad where output is above the threshold (or NaN), else 0."""
    return where(output <= threshold, grad.dtype.type(0), grad)


def _silu_into(out: Array, x: Array) -> None:
    _sigmoid_into(out, x)
    out *= x


def silu(x: Any) -> Any:
    """x * sigmoid(x)."""
    return blockwise(_silu_into, x)


def _silu_gradient_into(out: Array, grad: Array, x: Array) -> None:
    s = np.empty_like(out)
    _sigmoid_into(s, x)
    np.subtract(1, s, out=out)  # s (1 + x (1 - s))
    out *= x
    out += 1
    out *= s
    out *= grad


def silu_gradient(grad: Any, x: Any) -> Any:
    """The gradient of silu."""
    return blockwise(_silu_gradient_into, grad, x)


def _softplus_into(out: Array, x: Array) -> None:
    np.abs(x, out=out)
    np.negative(out, out=out)
    np.exp(out, out=out)
    np.log1p(out, out=out)
    out += np.maximum(x, 0)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return blockwise(_softplus_into, x)


def _mish_into(out: Array, x: Array) -> None:
    _softplus_into(out, x)
    np.tanh(out, out=out)
    out *= x


def mish(x: Any) -> Any:
    """x * tanh(softplus(x))."""
    return blockwise(_mish_into, x)


# --- gelu ---------------------------------------------------------------------------------------------------

def _gelu_into(out: Array, x: Array) -> None:
    out[...] = erf(x * out.dtype.type(_SQRT_HALF))
    out += 1
    out *= x
    out *= 0.5


def gelu(x: Any) -> Any:
    """x times the normal distribution function of x."""
    return blockwise(_gelu_into, x)


def _gelu_gradient_into(out: Array, grad: Array, x: Array) -> None:
    density = np.multiply(x, x)  # cdf + x pdf
    density *= -0.5
    np.exp(density, out=density)
    density *= x
    density *= _DENSITY
    out[...] = erf(x * out.dtype.type(_SQRT_HALF))
    out += 1
    out *= 0.5
    out += density
    out *= grad


def gelu_gradient(grad: Any, x: Any) -> Any:
    """The gradient of gelu."""
    return blockwise(_gelu_gradient_into, grad, x)


def _inner_tanh(x: Array) -> Array:
    inner = np.multiply(x, x)
    inner *= _CUBE
    inner += 1
    inner *= x
    inner *= _SQRT_2_PI
    return np.tanh(inner, out=inner)


def _gelu_tanh_into(out: Array, x: Array) -> None:
    np.add(_inner_tanh(x), 1, out=out)
    out *= x
    out *= 0.5


def gelu_tanh(x: Any) -> Any:
    """gelu with the distribution function approximated by tanh."""
    return blockwise(_gelu_tanh_into, x)


def _gelu_tanh_gradient_into(out: Array, grad: Array, x: Array) -> None:
    t = _inner_tanh(x)
    slope = np.multiply(x, x)  # of the argument of tanh, times x
    slope *= 3 * _CUBE
    slope += 1
    slope *= x
    slope *= _SQRT_2_PI
    np.multiply(t, t, out=out)
    np.subtract(1, out, out=out)
    out *= slope
    out += t
    out += 1
    out *= 0.5
    out *= grad


def gelu_tanh_gradient(grad: Any, x: Any) -> Any:
    """Its gradient."""
    return blockwise(_gelu_tanh_gradient_into, grad, x)


# --- softmax ------------------------------------------------------------------------------------------------

_BLOCK = 1 << 15    # elements that stay in the cache between steps
_NARROW = 64        # elements of a row that is short
_largest: Any = np.maximum.reduce   # arrays' methods call these by way of Python
_sum: Any = np.add.reduce


def _rowwise(step: Any, x: Array, dim: int, *others: Array) -> Array:
    """``step(out, x, axis, *others)`` on groups of whole rows that fit the cache."""
    out = np.empty(x.shape, x.dtype)
    if x.ndim == 0:
        step(out.reshape(1), x.reshape(1), 0, *[o.reshape(1) for o in others])
        return out
    if x.size == 0:
        return out
    last = dim == x.ndim - 1
    if last and 1 < x.shape[-1] <= _NARROW < x.size and all(a.flags.c_contiguous for a in (x, *others)):
        return _narrow(step, x, *others)
    if x.size <= _BLOCK or not last or not all(a.flags.c_contiguous for a in (x, *others)):
        step(out, x, dim, *others)
        return out
    width = x.shape[-1]
    rows = max(1, _BLOCK // width)
    flat_out, flat = out.reshape(-1, width), [a.reshape(-1, width) for a in (x, *others)]
    for start in range(0, flat_out.shape[0], rows):
        part = slice(start, start + rows)
        step(flat_out[part], flat[0][part], 1, *[f[part] for f in flat[1:]])
    return out


def _narrow(step: Any, x: Array, *others: Array) -> Array:
    """Short rows, transposed block by block: NumPy reduces long columns much faster than short rows."""
    width = x.shape[-1]
    out = np.empty(x.shape, x.dtype)
    flat_out, flat = out.reshape(-1, width), [a.reshape(-1, width) for a in (x, *others)]
    rows = _BLOCK // width
    for start in range(0, flat_out.shape[0], rows):
        part = slice(start, start + rows)
        columns = [np.ascontiguousarray(f[part].T) for f in flat]
        result = np.empty_like(columns[0])
        step(result, columns[0], 0, *columns[1:])
        flat_out[part] = result.T
    return out


def _softmax_into(out: Array, x: Array, axis: int) -> None:
    np.subtract(x, _largest(x, axis, None, None, True), out=out)
    np.exp(out, out=out)
    out /= _sum(out, axis, None, None, True)


def softmax(x: Any, dim: int) -> Any:
    """exp(x) / sum(exp(x)) along a dimension."""
    return _rowwise(_softmax_into, x, dim)


def _log_softmax_into(out: Array, x: Array, axis: int) -> None:
    np.subtract(x, _largest(x, axis, None, None, True), out=out)
    total = _sum(np.exp(out), axis, None, None, True)
    out -= np.log(total, out=total)


def log_softmax(x: Any, dim: int, narrow: Any = None) -> Any:
    """x - log(sum(exp(x))) along a dimension; ``narrow``: the type to which sum and logarithm are rounded."""
    if narrow is None or not x.size:
        return _rowwise(_log_softmax_into, x, dim)
    shifted = x - x.max(axis=dim, keepdims=True)
    total = rounded(np.exp(shifted).sum(axis=dim, keepdims=True), narrow)
    shifted -= rounded(np.log(total), narrow)
    return shifted


def _softmax_gradient_into(out: Array, grad: Array, axis: int, output: Array) -> None:
    np.multiply(grad, output, out=out)
    total = _sum(out, axis, None, None, True)
    np.subtract(grad, total, out=out)
    out *= output


def softmax_gradient(grad: Any, output: Any, dim: int) -> Any:
    """output * (grad - sum(grad * output))."""
    return _rowwise(_softmax_gradient_into, grad, dim, output)


def _log_softmax_gradient_into(out: Array, grad: Array, axis: int, output: Array) -> None:
    np.exp(output, out=out)
    out *= _sum(grad, axis, None, None, True)
    np.subtract(grad, out, out=out)


def log_softmax_gradient(grad: Any, output: Any, dim: int) -> Any:
    """grad - exp(output) * sum(grad)."""
    return _rowwise(_log_softmax_gradient_into, grad, dim, output)
