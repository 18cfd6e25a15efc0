"""The gradient of a view that shows a part: zeros of the whole's shape, with the gradient in that part."""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, record_one, view
from ..declaration.definition import operator


def _embed_kernel(m: Any, grad: Any, whole: Geometry, part: Geometry, *how: Any) -> Any:
    result = m.zeros(whole.numel, grad.dtype)
    if whole.numel:
        m.strided(result, part.shape, part.strides, part.offset)[...] = grad
    return result.reshape(whole.shape)


EMBED = operator("view_backward", lambda operands, attributes: attributes[0], kind="move")(_embed_kernel)


@EMBED.derivative("grad")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view(ctx.attributes[2], grad, ctx.attributes[3])


def embed(grad: Tensor, shape: Any, operator: Operator, attributes: tuple[Any, ...]) -> Tensor:
    """Zeros of ``shape`` where the view that ``operator`` describes holds ``grad``."""
    g = grad._geometry
    whole = contiguous(shape, g.dtype, g.device)
    part = operator.infer((whole,), attributes)
    return record_one(EMBED, grad, (whole, part, operator, attributes))


def gradient_is_embedded(operator: Operator) -> Operator:
    """Declare the derivative of a view without overlaps."""
    @operator.derivative("input")
    def _(ctx: Any, grad: Tensor) -> Tensor:
        return embed(grad, ctx.operand_geometry(0).shape, operator, ctx.attributes)
    return operator
