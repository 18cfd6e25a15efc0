"""Running sums, products and extrema: cumsum, cumprod, cummax, cummin, logcumsumexp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes, return_types
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, check_dim, record, record_one
from ..calls.out import EXPECTED, POINTWISE
from ..declaration.definition import arithmetic_dtype, contiguous_as_first, operand_dtype, operator
from ..declaration.domain import not_implemented
from ..declaration.registry import api
from ..pointwise.arithmetic import conjugate
from ..shapes.joining import cat
from .along import place
from .reduction import converted


def _cumulative_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    return contiguous(g.shape, attributes[1], g.device)


def _cumulative_dtype(name: str, input: Tensor, dtype: Any) -> tuple[Tensor, Any]:
    g = input._geometry
    if dtype is None:
        return input, dtypes.int64 if g.dtype.category < dtypes.FLOATING else g.dtype
    if dtype is dtypes.bool_:
        raise not_implemented(f"{name}_out_cpu", dtype)
    return converted(input, dtype), dtype


_WIDE = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}


# --- cumsum -------------------------------------------------------------------------------------------------


@operator("cumsum", _cumulative_geometry, compute=operand_dtype)
def CUMSUM(m: Any, input: Any, dim: int, dtype: Any) -> Any:
    if not input.ndim:
        return input
    return m.cumsum(input, axis=dim, dtype=_running_dtype(input, dtype))


def _running_dtype(input: Any, dtype: Any) -> Any:
    """The type of a running sum or product: in single precision it would drift, so it is kept in double
    precision, as PyTorch does."""
    wide = _WIDE.get(input.dtype)
    return wide if dtype.category >= dtypes.FLOATING and wide is not None else arithmetic_dtype(dtype).numpy


@CUMSUM.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    dim = ctx.attributes[0]
    return grad.flip(dim).cumsum(dim).flip(dim) if grad.ndim else grad


@api("torch", "Tensor", out=POINTWISE, inplace=True)
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums along ``dim``.

    >>> import flambeau as torch
    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    found = check_dim(dim, input._geometry.ndim)
    input, dtype = _cumulative_dtype("cumsum", input, dtype)
    return record_one(CUMSUM, input, (found, dtype))


# --- cumprod ------------------------------------------------------------------------------------------------


@operator("cumprod", _cumulative_geometry, compute=operand_dtype)
def CUMPROD(m: Any, input: Any, dim: int, dtype: Any) -> Any:
    return m.cumprod(input, axis=dim, dtype=_running_dtype(input, dtype)) if input.ndim else input


@operator("linear_recurrence", contiguous_as_first, compute=operand_dtype)
def RECURRENCE(m: Any, input: Any, factor: Any, dim: int, backwards: bool) -> Any:
    """y[i] = x[i] + f[i] y[i-1]; backwards, its transpose: y[i] = x[i] + f[i+1] y[i+1]."""
    y = m.moveaxis(m.array(input), dim, 0)
    f = m.moveaxis(factor, dim, 0)
    if backwards:
        for i in range(len(y) - 2, -1, -1):
            y[i] += f[i + 1] * y[i + 1]
    else:
        for i in range(1, len(y)):
            y[i] += f[i] * y[i - 1]
    return m.moveaxis(y, 0, dim)


@RECURRENCE.derivative("input", keeps="factor")
def _(ctx: Any, grad: Tensor, factor: Tensor) -> Any:
    dim, backwards = ctx.attributes
    return record(RECURRENCE, (grad, conjugate(factor)), (dim, not backwards))


@RECURRENCE.derivative("factor", keeps="factor output")
def _(ctx: Any, grad: Tensor, factor: Tensor, output: Tensor) -> Any:
    dim, backwards = ctx.attributes
    through = record(RECURRENCE, (grad, conjugate(factor)), (dim, not backwards))
    if backwards:
        return _shifted(through, dim, 0) * conjugate(output)
    return through * conjugate(_shifted(output, dim, 0))


def _shifted(x: Tensor, dim: int, first: int) -> Tensor:
    """Every element moved one place up, ``first`` in front."""
    n = x.shape[dim]
    front = x.narrow(dim, 0, 1)
    fill = front.new_ones(front.shape) if first else front.new_zeros(front.shape)
    return cat([fill, x.narrow(dim, 0, n - 1)], dim)


def _cumprod_gradient(grad: Tensor, input: Tensor, dim: int) -> Tensor:
    """Exact where factors are zero, too: (product of the factors before) x (a recurrence over those
    behind). Of 16-bit types in single precision."""
    if input.dtype in dtypes.LOW_PRECISION:
        wide = arithmetic_dtype(input.dtype)
        return _cumprod_gradient(grad.to(wide), input.to(wide), dim).to(input.dtype)
    factors = conjugate(input)
    before = _shifted(factors.cumprod(dim), dim, 1)
    return before * record(RECURRENCE, (grad, factors), (dim, True))


@CUMPROD.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    if not input.ndim or not input.numel():
        return grad
    return _cumprod_gradient(grad, input.to(grad.dtype), ctx.attributes[0])


def products_of_others(input: Tensor, dim: int) -> Tensor:
    """For each element the (conjugate) product of all others along ``dim``: the gradient of a product."""
    n = input.shape[dim]
    last = input.narrow(dim, 0, 1)

    rest = list(input.shape)
    rest[dim] = n - 1
    grad = cat([input.new_zeros(rest), last.new_ones(last.shape)], dim)
    return _cumprod_gradient(grad, input, dim)


@api("torch", "Tensor", out=POINTWISE, inplace=True)
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products along ``dim``.

    >>> import flambeau as torch
    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    found = check_dim(dim, input._geometry.ndim)
    input, dtype = _cumulative_dtype("cumprod", input, dtype)
    return record_one(CUMPROD, input, (found, dtype))


# --- running extrema ----------------------------------------------------------------------------------------


def _extrema_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    g = operands[0]
    return contiguous(g.shape, g.dtype, g.device), contiguous(g.shape, dtypes.int64, g.device)


def _extrema_kernel(name: str) -> Callable[..., Any]:
    def kernel(m: Any, input: Any, dim: int) -> Any:
        if not input.ndim:
            return input, m.zeros((), np.int64)
        values = getattr(m, name).accumulate(input, axis=dim)
        # The last position at which the running value was met: NaN stays where it came last.
        met = (input == values) | (input != input)
        shape = [-1 if d == dim else 1 for d in range(input.ndim)]
        positions = np.arange(input.shape[dim]).reshape(shape)
        return values, np.maximum.accumulate(np.where(met, positions, 0), axis=dim)

    return kernel


def _extrema_operator(name: str, ufunc: str) -> Operator:
    op = operator(name, _extrema_geometry, compute=operand_dtype, non_differentiable_outputs=(1,))(
        _extrema_kernel(ufunc)
    )

    @op.derivative("input", keeps="output1", holds="input")
    def _(ctx: Any, grads: Any, indices: Tensor) -> Any:
        if grads[0] is None or not grads[0].ndim:
            return grads[0]
        return place(grads[0], indices, indices.shape, ctx.attributes[0], accumulate=True)

    return op


CUMMAX = _extrema_operator("cummax", "maximum")
CUMMIN = _extrema_operator("cummin", "minimum")


def _refuse_complex(input: Tensor, name: str) -> None:
    if input.is_complex():
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtypes.SCALAR_NAMES[input.dtype]}'")


@api("torch", "Tensor", out=EXPECTED, judge="first")
def cummax(input: Tensor, dim: int) -> Any:
    """Running maxima along ``dim`` and their indices.

    >>> import flambeau as torch
    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """
    _refuse_complex(input, "cummax")
    return return_types.made("cummax", record(CUMMAX, (input,), (check_dim(dim, input.ndim),)))


@api("torch", "Tensor", out=EXPECTED, judge="first")
def cummin(input: Tensor, dim: int) -> Any:
    """Running minima along ``dim`` and their indices.

    >>> import flambeau as torch
    >>> torch.cummin(torch.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    _refuse_complex(input, "cummin")
    return return_types.made("cummin", record(CUMMIN, (input,), (check_dim(dim, input.ndim),)))


# --- logcumsumexp -------------------------------------------------------------------------------------------


@operator("logcumsumexp", contiguous_as_first, compute=operand_dtype)
def LOGCUMSUMEXP(m: Any, input: Any, dim: int) -> Any:
    if not input.ndim or not input.size:
        return input
    if input.dtype.kind == "c":
        return _complex_logcumsumexp(input, dim)
    return m.logaddexp.accumulate(input, axis=dim, dtype=_WIDE.get(input.dtype))


def _complex_logcumsumexp(x: Any, dim: int) -> Any:
    """Step by step; phases add up without being wrapped."""
    terms = np.moveaxis(np.array(x), dim, 0)
    for i in range(1, len(terms)):
        swap = terms[i].real > terms[i - 1].real
        high, low = np.where(swap, terms[i], terms[i - 1]), np.where(swap, terms[i - 1], terms[i])
        gap = np.where(np.isneginf(high.real), -np.inf, low - high)
        terms[i] = high + np.log1p(np.exp(gap))
    return np.moveaxis(terms, 0, dim)


@LOGCUMSUMEXP.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    """grad_i = sum over j >= i of grad_j exp(x_i - y_j), positive and negative gradients summed apart as
    logarithms."""
    dim = ctx.attributes[0]
    if not input.ndim or not input.numel():
        return grad
    least = float("-inf")
    if input.is_complex():
        none = grad == 0
        terms = grad.masked_fill(none, 1).log().masked_fill(none, least) - conjugate(output)
        return (terms.flip(dim).logcumsumexp(dim).flip(dim) + conjugate(input)).exp()
    empty = output == least  # nothing has been added up yet, so nothing flows back
    output = output.masked_fill(empty, 0)
    up_only, down_only = (grad <= 0) | empty, (grad >= 0) | empty
    positive = grad.masked_fill(up_only, 1).log().masked_fill(up_only, least) - output
    negative = (-grad).masked_fill(down_only, 1).log().masked_fill(down_only, least) - output
    up = (positive.flip(dim).logcumsumexp(dim).flip(dim) + input).exp()
    down = (negative.flip(dim).logcumsumexp(dim).flip(dim) + input).exp()
    return up - down


@api("torch", "Tensor", out=EXPECTED._replace(apart="pointwise"))
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    r"""Logarithms of running sums of exponentials: :math:`y_i = \log \sum_{j \le i} e^{x_j}`.

    >>> import flambeau as torch
    >>> torch.logcumsumexp(torch.zeros(2), 0)
    tensor([0.0000, 0.6931])
    """
    if input.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{dtypes.SCALAR_NAMES[input.dtype]}'"
        )
    return record_one(LOGCUMSUMEXP, input, (check_dim(dim, input.ndim),))
