"""prod: the product of elements, whose gradient is the product of the others."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.operator import Operator, Rows
from ...tensor import Tensor, record, state
from ..calls.axes import normalize_dims
from ..declaration.definition import arithmetic_dtype, operand_dtype, operator
from ..declaration.registry import api
from ..pointwise.comparison import where
from .cumulative import products_of_others
from .reduction import converted, kept, reduction_geometry, require_tensor_input, spread


def _prod_kernel(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    if dtype is dtypes.bool_:
        return m.all(input, axis=dims, keepdims=keepdim)
    return m.prod(input, axis=dims, keepdims=keepdim, dtype=arithmetic_dtype(dtype).numpy)


def _prod_gradient(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    """PyTorch keeps the product too: what is written to it makes backward fail."""
    dims, keepdim, _ = ctx.attributes
    if input.numel() == 0 or input.ndim == 0:
        return spread(grad, dims, keepdim, input.shape)
    if not state.enabled and not input.is_complex():
        grad, output = (kept(x, dims, keepdim, input.shape) for x in (grad, output))
        return _by_quotients(grad, input, output, dims)
    if len(dims) == input.ndim:
        flat = grad.reshape(1) * products_of_others(input.reshape(-1), 0)
        return flat.reshape(input.shape)
    return kept(grad, dims, keepdim, input.shape) * products_of_others(input, dims[0])


def _by_quotients(grad: Tensor, input: Tensor, output: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Quotients of the whole product, which nobody differentiates: at a zero the product of all others.

    Where there is a zero the others' gradients are 0, or NaN if a factor is not finite.
    """
    zero = input == 0
    others = record(PROD_DIM, (input.masked_fill(zero, 1),), (dims, True, input.dtype))
    zeros = zero.sum(dims, keepdim=True)
    whole = where(zero.any(), others, output)
    of_others = where(zeros == 0, whole * grad / input, others * 0)
    return where(zero, where(zeros == 1, others * grad, 0), of_others)


def _prod_operator(grad_name: str) -> Operator:
    op = operator("prod", reduction_geometry, compute=operand_dtype, grad_name=grad_name,
                  rows=Rows(passes=1))(_prod_kernel)
    op.derivative("input", keeps="input output")(_prod_gradient)
    return op


PROD = _prod_operator("ProdBackward0")
PROD_DIM = _prod_operator("ProdBackward1")


@api("torch", "Tensor", out=True, judge="first")
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product of all elements, or along one dimension.

    >>> import flambeau as torch
    >>> torch.prod(torch.tensor([[1, 2], [3, 4]]), 0)
    tensor([3, 8])
    """
    require_tensor_input(input, "prod")
    if dim is not None and not hasattr(dim, "__index__"):
        raise TypeError(
            f"prod() received an invalid combination of arguments - got (Tensor, {type(dim).__name__}), but "
            "expected one of:\n * (Tensor input, *, torch.dtype dtype = None)\n * (Tensor input, int dim, "
            "bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n"
        )
    g = input._geometry
    if dtype is None:
        dtype = dtypes.int64 if g.dtype.category < dtypes.FLOATING else g.dtype
    else:
        input = converted(input, dtype)
    return record(
        PROD if dim is None else PROD_DIM,
        (input,),
        (normalize_dims(dim, g.ndim, keepdim), keepdim, dtype),
    )
