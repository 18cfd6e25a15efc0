"""Selection along a dimension that keeps the memory format, of which padding and resampling are made."""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry
from ...tensor import Tensor, record
from ..creation.memory_formats import suggested_geometry
from ..declaration.definition import operator
from .indexing import INDEX_SELECT, INDEX_SELECT_BACKWARD


def _selected(operands: Any, attributes: Any) -> Geometry:
    (x, index), (dim,) = operands, attributes
    return suggested_geometry((*x.shape[:dim], index.numel, *x.shape[dim + 1:]), x)


def _added(operands: Any, attributes: Any) -> Geometry:
    return suggested_geometry(attributes[1], operands[0])


SELECT_IN_FORMAT = operator("index_select", _selected)(INDEX_SELECT.kernel)
ADD_IN_FORMAT = operator("index_select_backward", _added)(INDEX_SELECT_BACKWARD.kernel)


@SELECT_IN_FORMAT.derivative("input", keeps="index", once=False)
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record(ADD_IN_FORMAT, (grad, index), (ctx.attributes[0], ctx.operand_geometry(0).shape))


@ADD_IN_FORMAT.derivative("grad", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record(SELECT_IN_FORMAT, (grad, index), (ctx.attributes[0],))
