"""Matrix products: mm, bmm and matmul."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtypes import c_name, int8, int32, uint8
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, record, record_pair, view
from ...tensor.recording import casting
from ..calls.out import EXACT
from ..creation.casting import cast
from ..declaration import prices
from ..declaration.definition import broadcast_shapes, operand_dtype, operator
from ..declaration.registry import api
from ..pointwise.arithmetic import conjugate as conjugated
from ..shapes.shape import reshape
from ..shapes.transposing import TRANSPOSE
from .operands import (
    batched_shape,
    multiplied_shape,
    refuse_bool,
    require_same_dtype,
    require_scalar_type,
    require_tensor,
    rows_of,
    transposed,
)
from .vector_products import dot, mv

# --- two matrices -------------------------------------------------------------------------------------------


def _mm_geometry(operands: Any, attributes: Any) -> Geometry:
    a = require_tensor(operands[0], "mm", "input", 1)
    b = require_tensor(operands[1], "mm", "mat2", 2)
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"{'self' if a.ndim != 2 else 'mat2'} must be a matrix")
    shape = multiplied_shape(a, b)
    require_same_dtype(a, b)
    refuse_bool(a, "addmm_impl_cpu_", a, b)
    return contiguous(shape, a.dtype, a.device)


def _matmul_kernel(m: Any, input: Any, mat2: Any) -> Any:
    return m.matmul(input, mat2)


def _product(name: str, infer: Callable[..., Geometry]) -> Operator:
    """C = A B, of matrices or batches of them: dA = dC B^T and dB = A^T dC are such products again."""
    product = operator(name, infer, compute=operand_dtype, price=prices.product)(_matmul_kernel)

    @product.derivative("input", keeps="mat2")
    def _(ctx: Any, grad: Tensor, mat2: Tensor) -> Any:
        return record(product, (grad, transposed(mat2)))

    @product.derivative("mat2", keeps="input")
    def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
        return record(product, (transposed(input), grad))

    return product


MM = _product("mm", _mm_geometry)


@api("torch", "Tensor", out=EXACT)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices: (N, K) by (K, M) gives (N, M).

    >>> import flambeau as torch
    >>> torch.mm(torch.tensor([[1., 2.]]), torch.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    return record_pair(MM, input, mat2)


@api("torch", out=EXACT)
def _int_mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices of 8-bit integers, in 32 bits: (N, K) by (K, M) gives (N, M).

    >>> import flambeau as torch
    >>> torch._int_mm(torch.tensor([[100]], dtype=torch.int8), torch.tensor([[4]], dtype=torch.int8))
    tensor([[400]], dtype=torch.int32)
    """
    a, b = input._geometry, mat2._geometry
    for name, g in (("self", a), ("mat2", b)):
        if g.ndim != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {g.ndim}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError("int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got "
                           f"{a.shape[1]} and {b.shape[0]}")
    if a.dtype not in (int8, uint8):
        raise RuntimeError("int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got "
                           f"{c_name(a.dtype)}")
    if b.dtype is not int8:
        raise RuntimeError("int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got "
                           f"{c_name(b.dtype)}")
    return record_pair(MM, cast(input, int32), cast(mat2, int32))


# --- batches ------------------------------------------------------------------------------------------------


def _bmm_geometry(operands: Any, attributes: Any) -> Geometry:
    a = require_tensor(operands[0], "bmm", "input", 1)
    b = require_tensor(operands[1], "bmm", "mat2", 2)
    shape = batched_shape(a, b)
    require_scalar_type(a, b)
    refuse_bool(a, "bmm", a, b)
    return contiguous(shape, a.dtype, a.device)


BMM = _product("bmm", _bmm_geometry)


@api("torch", "Tensor", out=EXACT)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices: (B, N, K) by (B, K, M) gives (B, N, M).

    >>> import flambeau as torch
    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).shape
    torch.Size([2, 1, 1])
    """
    return record_pair(BMM, input, mat2)


# --- any number of dimensions -------------------------------------------------------------------------------


def _matmul_geometry(operands: Any, attributes: Any) -> Geometry:
    a, b = operands
    if a.ndim == 2 or b.ndim == 2:
        return _folded_geometry(a, b)
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
    if a.shape[-1] != b.shape[-2]:
        count = contiguous(batch, a.dtype).numel
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {a.shape[-1]}] "
            f"but got: [{count}, {b.shape[-2]}]."
        )
    require_scalar_type(a, b)
    refuse_bool(a, "bmm", a, b)
    return contiguous((*batch, a.shape[-2], b.shape[-1]), a.dtype, a.device)


def _folded_geometry(a: Geometry, b: Geometry) -> Geometry:
    """One of the two is a single matrix: PyTorch lays the batch of the other out as rows."""
    (*outer, rows, depth), (*other, expected, columns) = a.shape, b.shape
    if depth != expected:
        if b.ndim == 2:
            one, two = (a.numel // max(depth, 1), depth), (expected, columns)
        else:
            one, two = (b.numel // max(expected, 1), expected), (depth, rows)
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({one[0]}x{one[1]} and {two[0]}x{two[1]})"
        )
    if a.ndim == 2:
        refuse_bool(a, "bmm", a, b)
    require_same_dtype(a, b)
    refuse_bool(a, "addmm_impl_cpu_", a, b)
    return contiguous((*(outer if b.ndim == 2 else other), rows, columns), a.dtype, a.device)


MATMUL = operator("matmul", _matmul_geometry, compute=operand_dtype, grad_name="UnsafeViewBackward0",
                  price=prices.product)(_matmul_kernel)


@MATMUL.derivative("input", keeps="mat2")
def _(ctx: Any, grad: Tensor, mat2: Tensor) -> Any:
    if ctx.operand_geometry(0).ndim == 2:  # one matrix for the whole batch: its gradient is one product
        return record(MM, (_rows(grad), _rows(mat2, conjugate=True).t()))
    return record(MATMUL, (grad, transposed(mat2)))


@MATMUL.derivative("mat2", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    if ctx.operand_geometry(1).ndim == 2:
        rows = rows_of(input.shape)
        return record(
            MM, (transposed(reshape(input, rows, input.shape[-1])), reshape(grad, rows, grad.shape[-1]))
        )
    return record(MATMUL, (transposed(input), grad))


def _rows(x: Tensor, conjugate: bool = False) -> Tensor:
    """(..., N, M) as the matrix (N, ...M)."""
    n = x.shape[-2]
    order = (x.ndim - 2, *range(x.ndim - 2), x.ndim - 1)
    flat = reshape(x.permute(order), n, x.numel() // n if n else 0)
    return conjugated(flat) if conjugate and x.is_complex() else flat


@api("torch", "Tensor", out=EXACT)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Product of vectors, matrices or batches of matrices.

    (..., N, K) by (..., K, M) gives (..., N, M), the leading dimensions broadcast; a vector (K) counts as a
    row on the left and as a column on the right, and that dimension is dropped from the result.

    >>> import flambeau as torch
    >>> torch.matmul(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
    torch.Size([5, 2, 4])
    """
    a, b = input._geometry.ndim, other._geometry.ndim
    if a == 2 and b == 2:
        return record_pair(MM, input, other)
    if a > 1 and b > 1:
        return record_pair(MATMUL, input, other)
    return _with_vector(input, other, a, b)


def _with_vector(input: Tensor, other: Tensor, a: int, b: int) -> Tensor:
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if casting.active:
        input, other = casting.lowered_operands((input, other)) or (input, other)
    if a == 1 and b == 1:
        return dot(input, other)
    if b == 1:
        if a == 2:
            return mv(input, other)
        shape = input.shape
        return reshape(mv(reshape(input, rows_of(shape), shape[-1]), other), *shape[:-1])
    if b == 2:
        return reshape(mm(reshape(input, 1, input.shape[0]), other), other.shape[1])
    turned = view(TRANSPOSE, other, (-2, -1))
    rows = turned.shape
    return reshape(mv(reshape(turned, rows_of(rows), rows[-1]), input), *rows[:-1])
