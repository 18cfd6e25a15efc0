"""Masked operations that keep the shape: cumulative ones, softmax and its relatives, division by norms."""

from __future__ import annotations

from typing import Any

from .. import operators as ops
from ..operators import NAMESPACES
from ..tensor import Tensor
from ._masks import converted, dimensions, filled, highest, lowest
from .reductions import norm


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running sums in which masked elements count 0.

    >>> import flambeau as torch
    >>> torch.masked.cumsum(torch.tensor([1., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    input = converted(input, dtype)
    return filled(input, mask, 0).cumsum(dimensions(input, dim)[0], dtype=input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running products in which masked elements count 1.

    >>> import flambeau as torch
    >>> torch.masked.cumprod(torch.tensor([1., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 3.])
    """
    input = converted(input, dtype)
    return filled(input, mask, 1).cumprod(dimensions(input, dim)[0], dtype=input.dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Softmax over what the mask leaves; masked elements get 0.

    >>> import flambeau as torch
    >>> torch.masked.softmax(torch.tensor([1., 2., 1.]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    input = converted(input, dtype)
    return filled(input, mask, lowest(input.dtype, "amax")).softmax(dimensions(input, dim)[0])


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Logarithms of ``softmax``; masked elements get -inf.

    >>> import flambeau as torch
    >>> torch.masked.log_softmax(torch.tensor([1., 2., 1.]), 0, mask=torch.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    input = converted(input, dtype)
    return filled(input, mask, lowest(input.dtype, "amax")).log_softmax(dimensions(input, dim)[0])


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """``softmax`` of the negated input.

    >>> import flambeau as torch
    >>> torch.masked.softmin(torch.tensor([1., 2., 1.]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    input = converted(input, dtype)
    return (-filled(input, mask, highest(input.dtype, "amin"))).softmax(dimensions(input, dim)[0])


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """What the mask leaves, divided by its norm (at least ``eps``); masked elements get 0.

    >>> import flambeau as torch
    >>> torch.masked.normalize(torch.tensor([3., 5., 4.]), 2, 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    input = converted(input, dtype)
    size = norm(input, ord, dim, keepdim=True, mask=mask)
    least = ops.tensor(eps, dtype=size.dtype, device=size.device)
    return filled(input, mask, 0) / ops.maximum(size, least)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), masked elements counting -inf.

    >>> import flambeau as torch
    >>> torch.masked.logaddexp(torch.tensor([1.]), torch.tensor([2.]), other_mask=torch.tensor([False]))
    tensor([1.])
    """
    input, other = converted(input, dtype), converted(other, dtype)
    add: Any = NAMESPACES["torch"]["logaddexp"]
    result: Tensor = add(
        filled(input, input_mask, lowest(input.dtype, "logaddexp")),
        filled(other, other_mask, lowest(other.dtype, "logaddexp")),
    )
    return result
