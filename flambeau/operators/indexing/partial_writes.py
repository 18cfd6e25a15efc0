"""``input`` with one part replaced, out of place: select_scatter, slice_scatter, diagonal_scatter."""

from __future__ import annotations

from typing import Any

from ...dtypes import from_numpy_dtype
from ...graph.geometry import Geometry, contiguous, dense_like
from ...graph.operator import Operator
from ...tensor import Tensor, record, view
from ..calls.out import EXACT
from ..declaration.definition import operator
from ..declaration.registry import api
from ..shapes.diagonals import DIAGONAL
from ..shapes.slicing import SELECT, SLICE


def _geometry(operands: Any, attributes: Any) -> Geometry:
    g, src = operands
    part: Geometry = attributes[0].infer((g,), attributes[1])
    if part.shape != src.shape:
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src.shape)}, slice size = {list(part.shape)}")
    return dense_like(g.shape, g, g.dtype)


def _kernel(m: Any, input: Any, src: Any, how: Operator, arguments: tuple[Any, ...]) -> Any:
    result = m.array(input, order="C")
    part: Any = how.infer((contiguous(input.shape, from_numpy_dtype(input.dtype)),), arguments)
    if result.size:
        m.strided(result.reshape(-1), part.shape, part.strides, part.offset)[...] = src
    return result


def _declare(name: str) -> Operator:
    op = operator(name, _geometry)(_kernel)

    @op.derivative("input")
    def _(ctx: Any, grad: Tensor) -> Tensor:
        how, arguments = ctx.attributes
        return record(op, (grad, grad.new_zeros(ctx.operand_geometry(1).shape)), (how, arguments))

    @op.derivative("src")
    def _(ctx: Any, grad: Tensor) -> Tensor:
        return view(ctx.attributes[0], grad, ctx.attributes[1])
    return op


SELECT_SCATTER = _declare("select_scatter")
SLICE_SCATTER = _declare("slice_scatter")
DIAGONAL_SCATTER = _declare("diagonal_scatter")


@api("torch", "Tensor", out=True, judge="first")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """``input`` with ``src`` at one position of a dimension.

    >>> import flambeau as torch
    >>> torch.zeros(2, 2).select_scatter(torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return record(SELECT_SCATTER, (input, src.to(input.dtype)), (SELECT, (dim, int(index))))


@api("torch", "Tensor", out=EXACT, judge="first")
def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Tensor:
    """``input`` with ``src`` in a slice of a dimension.

    >>> import flambeau as torch
    >>> torch.zeros(4).slice_scatter(torch.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    return record(SLICE_SCATTER, (input, src.to(input.dtype)), (SLICE, (dim, start, end, step)))


@api("torch", "Tensor", out=True, judge="first")
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """``input`` with ``src`` on a diagonal.

    >>> import flambeau as torch
    >>> torch.zeros(2, 2).diagonal_scatter(torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return record(DIAGONAL_SCATTER, (input, src.to(input.dtype)), (DIAGONAL, (offset, dim1, dim2)))
