"""Diagonals: the view, and tensors made from one."""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry, contiguous
from ...layouts import contiguous_format
from ...tensor import Tensor, check_dim, record_one, view, view_operator
from ..calls.out import EXACT
from ..declaration.definition import operator
from ..declaration.registry import api
from .view_backward import gradient_is_embedded


def _diagonal_rule(g: Geometry, offset: int, dim1: int, dim2: int) -> Geometry:
    a, b = check_dim(dim1, g.ndim), check_dim(dim2, g.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = max(
        0, min(g.shape[a], g.shape[b] - offset) if offset >= 0 else min(g.shape[a] + offset, g.shape[b])
    )
    start = g.offset
    if length:
        start += offset * g.strides[b] if offset >= 0 else -offset * g.strides[a]
    kept = [d for d in range(g.ndim) if d not in (a, b)]
    return g.with_view([*[g.shape[d] for d in kept], length],
                       [*[g.strides[d] for d in kept], g.strides[a] + g.strides[b]], start)


DIAGONAL = gradient_is_embedded(view_operator("diagonal", _diagonal_rule))


@api("torch", "Tensor", judge="first")
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The view of a diagonal; it becomes the last dimension.

    >>> import flambeau as torch
    >>> torch.arange(9).reshape(3, 3).diagonal(1)
    tensor([1, 5])
    """
    return view(DIAGONAL, input, (offset, dim1, dim2))


def _diag_embed_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    offset, dim1, dim2 = attributes
    a, b = check_dim(dim1, g.ndim + 1), check_dim(dim2, g.ndim + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = g.shape[-1] + abs(offset)
    shape = list(g.shape[:-1])
    for d in sorted((a, b)):
        shape.insert(d, n)
    return contiguous(shape, g.dtype, g.device)


@operator("diag_embed", _diag_embed_geometry)
def DIAG_EMBED(m: Any, input: Any, offset: int, dim1: int, dim2: int) -> Any:
    n = input.shape[-1] + abs(offset)
    matrices = m.zeros((*input.shape[:-1], n, n), input.dtype)
    rows = m.arange(input.shape[-1]) + max(-offset, 0)
    matrices[..., rows, rows + offset] = input
    return m.moveaxis(matrices, (-2, -1), (dim1, dim2))


@DIAG_EMBED.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view(DIAGONAL, grad, ctx.attributes)


@api("torch", "Tensor", judge="first")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension of ``input`` as a diagonal: (..., N) gives (..., N, N).

    >>> import flambeau as torch
    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = input.ndim + 1
    return record_one(DIAG_EMBED, input, (offset, check_dim(dim1, ndim), check_dim(dim2, ndim)))


@api("torch", "Tensor", out=EXACT, judge="first")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with a vector as its diagonal, or the diagonal of a matrix.

    >>> import flambeau as torch
    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim == 2:
        return view(DIAGONAL, input, (diagonal, 0, 1)).clone(memory_format=contiguous_format)
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")


@api("torch", "Tensor", judge="first")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of ``input`` as its diagonal.

    >>> import flambeau as torch
    >>> torch.diagflat(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(input.reshape(-1), offset)


@api("torch", "Tensor", out=EXACT, judge="first")
def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of a diagonal.

    >>> import flambeau as torch
    >>> torch.diagonal_copy(torch.arange(4).view(2, 2))
    tensor([0, 3])
    """
    return diagonal(input, offset, dim1, dim2).clone()
