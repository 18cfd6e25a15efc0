"""linear: the product with a transposed weight, plus a bias."""

from __future__ import annotations

from math import prod
from typing import Any

from ...dtypes import SCALAR_NAMES
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...tensor import GradFn, Tensor, record, record_three, seen, state, view
from ..calls.complaints import FAILURES
from ..calls.out import EXACT, store
from ..declaration import prices
from ..declaration.definition import operand_dtype, operator
from ..declaration.registry import api, failed
from ..pointwise.arithmetic import conjugate
from ..shapes.shape import VIEW, reshape
from ..shapes.transposing import TRANSPOSE, T, is_exchanged
from .matmul import MATMUL, MM, matmul
from .operands import refuse_bool, require_same_dtype, require_tensor, rows_of
from .vector_products import MV


def linear_geometry(operands: Any, attributes: Any) -> Geometry:
    """(*, K) times the transpose of (N, K) gives (*, N)."""
    x = require_tensor(operands[0], "linear", "input", 1)
    w = require_tensor(operands[1], "linear", "weight", 2)
    b = operands[2] if isinstance(operands[2], Geometry) else None
    if x.ndim == 0 or w.ndim == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {w.ndim}D"
        )
    if w.ndim != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {w.ndim}D")
    (*rows, depth), (columns, expected) = x.shape, w.shape
    if depth != expected:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows_of(x.shape)}x{x.shape[-1]} and "
            f"{w.shape[1]}x{w.shape[0]})"
        )
    if b is None:
        require_same_dtype(x, w)
    else:
        require_addable(b, x, w)
        if b.ndim > 1 and len(rows) > 1:
            raise RuntimeError("a bias of several dimensions")  # which is added otherwise
        expandable(b, (prod(rows), columns))
    refuse_bool(x, "addmm_impl_cpu_")
    return contiguous((*rows, columns), x.dtype, x.device)


def require_addable(bias: Geometry, a: Geometry, b: Geometry) -> None:
    """What is added to a product must have the product's type."""
    if a.dtype is not b.dtype and a.dtype is not bias.dtype:
        if a.ndim > 2 and not a.is_contiguous:  # rows that are not under each other are multiplied in batches
            require_same_dtype(a, b)
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {SCALAR_NAMES[a.dtype]} and "
            f"{SCALAR_NAMES[b.dtype]}"
        )
    if bias.dtype is not b.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {SCALAR_NAMES[bias.dtype]} and "
            f"{SCALAR_NAMES[b.dtype]}"
        )


def expandable(g: Geometry, shape: tuple[int, ...]) -> None:
    """Raise unless a tensor broadcasts to exactly ``shape``."""
    lead = len(shape) - g.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.{SCALAR_NAMES[g.dtype]}Tensor{{{list(g.shape)}}}, size={list(shape)}): the "
            f"number of sizes provided ({len(shape)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({g.ndim})"
        )
    extents = tuple(g.shape)
    for d in range(g.ndim - 1, -1, -1):
        if extents[d] != 1 and extents[d] != shape[lead + d]:
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[lead + d]}) must match the existing size "
                f"({g.shape[d]}) at non-singleton dimension {lead + d}.  Target sizes: {list(shape)}.  "
                f"Tensor sizes: {list(g.shape)}"
            )


def _linear_kernel(m: Any, input: Any, weight: Any, bias: Any) -> Any:
    return m.linear(input, weight, bias)


def _linear_input(ctx: Any, grad: Tensor, weight: Tensor) -> Any:
    if weight._geometry.dtype.is_complex:
        weight = conjugate(weight)
    if is_exchanged(grad._geometry):    # so that the rows of the product lie one after the other
        return view(TRANSPOSE, record(MATMUL, (view(TRANSPOSE, grad, (0, 1)), weight)), (0, 1))
    return record(
        MM if grad._geometry.ndim == 2 else MATMUL if grad._geometry.ndim > 2 else MV,
        (grad, weight) if grad._geometry.ndim > 1 else (weight.t(), grad),
    )


def _linear_weight(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    if not state.enabled and _is_plain(grad) and _is_plain(input):
        return record(MM, (_rows(grad, True), _rows(input)))
    if input._geometry.ndim != 2:
        if is_exchanged(grad._geometry) and is_exchanged(input._geometry):  # rows of both in another order
            grad, input = view(TRANSPOSE, grad, (0, 1)), view(TRANSPOSE, input, (0, 1))
        grad, input = _matrix(grad), _matrix(input)
    if input._geometry.dtype.is_complex:
        input = conjugate(input)
    return record(MM, (view(T, grad), input))


def _is_plain(x: Tensor) -> bool:
    """Whether x is nothing but real numbers that lie row by row."""
    g = x._geometry
    return x.__class__ is Tensor and g.is_contiguous and g.numel > 0 and not g.dtype.is_complex \
        and not x._sparse


def _rows(x: Tensor, turned: bool = False) -> Tensor:
    """Plain (*, K) as rows, or as columns; no history is recorded."""
    g = x._geometry
    columns = g.shape[-1]
    shape, strides = (g.numel // columns, columns), (columns, 1)
    return seen(x, g.with_view(shape[::-1], strides[::-1], g.offset) if turned
                else g.with_view(shape, strides, g.offset))


def _matrix(x: Tensor) -> Tensor:
    """(*, K) as rows."""
    g = x._geometry
    *rows, columns = g.shape
    shape = prod(rows), columns
    return view(VIEW, x, (shape,)) if g.is_contiguous else reshape(x, shape)


def _linear_bias(ctx: Any, grad: Tensor) -> Tensor:
    return grad


def _linear_operator(grad_name: str) -> Operator:
    """The operator of one number of dimensions: they differ in the name of the grad_fn alone."""
    op = operator("linear", linear_geometry, compute=operand_dtype, grad_name=grad_name,
                  price=prices.product)(_linear_kernel)
    op.derivative("input", keeps="weight")(_linear_input)
    op.derivative("weight", keeps="input")(_linear_weight)
    op.derivative("bias")(_linear_bias)
    return op


class _BiasFirst(GradFn):
    """A product and a sum as PyTorch's ``addmm`` has its operands: the bias, the input, the weight."""

    __slots__ = ()

    @property
    def shown(self) -> tuple[int, ...]:
        """The operands that are there."""
        return (2, 0, 1) if self.signature.geometries[-1] is not type(None) else (0, 1)


LINEAR = _linear_operator("AddmmBackward0")
LINEAR_FOLDED = _linear_operator("ViewBackward0")
LINEAR_UNBIASED = _linear_operator("MmBackward0")
LINEAR_FOLDED_UNBIASED = _linear_operator("UnsafeViewBackward0")
for _each in (LINEAR, LINEAR_UNBIASED):
    _each.grad_class = type(_each.grad_class, (_BiasFirst,),
                            {"__slots__": (), "__module__": "torch.autograd"})


@api("nn.functional", judge="never")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: (..., K) by (M, K) gives (..., M); the bias has shape (M).

    >>> import flambeau as torch
    >>> torch.nn.functional.linear(torch.tensor([[1., 2.]]), torch.tensor([[3., 4.]]), torch.tensor([1.]))
    tensor([[12.]])
    """
    if out is not None:
        return store(linear(input, weight, bias), out, "linear", EXACT)
    try:
        if weight._geometry.ndim == 1:
            if bias is not None and (bias.ndim or input.ndim == 2):
                raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
            product = matmul(input, weight)
            return product if bias is None else product + bias
        if input._geometry.ndim == 2:
            op = LINEAR_UNBIASED if bias is None else LINEAR
        else:
            op = LINEAR_FOLDED_UNBIASED if bias is None else LINEAR_FOLDED
        return record_three(op, input, weight, bias)
    except FAILURES:
        if isinstance(bias, Tensor) and bias.ndim > 1 and input.ndim > 2 and weight.ndim == 2:
            return matmul(input, weight.t()) + bias     # it is added to matrices, not to rows
        return failed("nn.functional", "linear", input, weight, bias)
