"""Matrix products: mm, bmm, matmul, mv and dot."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..dtypes import BOOL, INTEGER, SCALAR_NAMES, c_name, dtype, int8, int32, uint8
from ..graph.geometry import Geometry, contiguous
from ..graph.operator import Operator
from ..tensor import Tensor, casting, record, record_pair, view
from . import prices
from .casting import cast
from .definition import arithmetic_dtype, broadcast_shapes, operator
from .out import EXACT, Out
from .registry import api
from .shape import reshape
from .transposing import TRANSPOSE, T


def product_dtype(operands: Any) -> dtype:
    """The type in which a product of these operands is computed."""
    return arithmetic_dtype(operands[0].dtype)


def require_tensor(g: Any, function: str, argument: str, position: int) -> Geometry:
    """The geometry of an operand; a TypeError if it is not a tensor."""
    if not isinstance(g, Geometry):
        name = "NoneType" if g is type(None) else g.__name__
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {name}"
        )
    return g


def refuse_bool(g: Geometry, name: str, *unless_empty: Geometry) -> None:
    """Products of truth values are not defined, except for some where there is nothing to multiply."""
    if g.dtype.category == BOOL and all(other.numel for other in unless_empty):
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


def transposed(x: Tensor) -> Tensor:
    """The last two dimensions exchanged and, for complex numbers, conjugated."""
    turned = view(T, x) if x._geometry.ndim == 2 else view(TRANSPOSE, x, (-2, -1))
    return turned.conj() if x._geometry.dtype.is_complex else turned


# --- two matrices -------------------------------------------------------------------------------------------


def multiplied_shape(a: Geometry, b: Geometry) -> tuple[int, int]:
    """The shape of the product of two matrices."""
    (rows, depth), (expected, columns) = a.shape, b.shape
    if depth != expected:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{depth} and {expected}x{columns})"
        )
    return rows, columns


def _mm_geometry(operands: Any, attributes: Any) -> Geometry:
    a = require_tensor(operands[0], "mm", "input", 1)
    b = require_tensor(operands[1], "mm", "mat2", 2)
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"{'self' if a.ndim != 2 else 'mat2'} must be a matrix")
    shape = multiplied_shape(a, b)
    require_same_dtype(a, b)
    refuse_bool(a, "addmm_impl_cpu_", a, b)
    return contiguous(shape, a.dtype, a.device)


def require_same_dtype(a: Geometry, b: Geometry) -> None:
    """Matrix products do not promote."""
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(a.dtype)} != {c_name(b.dtype)}"
        )


def _matmul_kernel(m: Any, input: Any, mat2: Any) -> Any:
    return m.matmul(input, mat2)


def _product(name: str, infer: Callable[..., Geometry]) -> Operator:
    """C = A B, of matrices or batches of them: dA = dC B^T and dB = A^T dC are such products again."""
    product = operator(name, infer, compute=product_dtype, price=prices.product)(_matmul_kernel)

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


def batched_shape(a: Geometry, b: Geometry) -> tuple[int, int, int]:
    """The shape of (B, N, K) by (B, K, M)."""
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError(f"batch{1 if a.ndim != 3 else 2} must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] "
            f"but got: [{b.shape[0]}, {b.shape[1]}]."
        )
    return a.shape[0], a.shape[1], b.shape[2]


def require_scalar_type(a: Geometry, b: Geometry) -> None:
    """Batched products do not promote."""
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[a.dtype]} but found {SCALAR_NAMES[b.dtype]}")


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


# --- vectors ------------------------------------------------------------------------------------------------


def _mv_geometry(operands: Any, attributes: Any) -> Geometry:
    a = require_tensor(operands[0], "mv", "input", 1)
    b = require_tensor(operands[1], "mv", "vec", 2)
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})"
        )
    if a.dtype is not b.dtype:
        first = SCALAR_NAMES[b.dtype]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {first}, {SCALAR_NAMES[a.dtype]}, and "
            f"{first}"
        )
    refuse_bool(a, "addmv_impl_cpu", a)
    return contiguous((a.shape[0],), a.dtype, a.device)


@operator("mv", _mv_geometry, compute=product_dtype)
def MV(m: Any, input: Any, vec: Any) -> Any:
    return m.matmul(input, vec)


@MV.derivative("input", keeps="vec")
def _(ctx: Any, grad: Tensor, vec: Tensor) -> Any:
    return grad.reshape(-1, 1) * (vec.conj() if vec.is_complex() else vec)


@MV.derivative("vec", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    return record(MV, (transposed(input), grad))


_MV = Out("addmv input tensors must have the same dtype, but got {Out}, {Result}, and {Result}")


@api("torch", "Tensor", out=_MV)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector: (N, K) by (K) gives (N).

    >>> import flambeau as torch
    >>> torch.mv(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """
    if input._geometry.dtype.category == INTEGER:
        _mv_geometry((input._geometry, vec._geometry), ())
        return _whole_sum(input * vec, 1)
    return record_pair(MV, input, vec)


def _whole_sum(products: Tensor, dim: int) -> Tensor:
    """The sum of whole products in their own type: a kernel of both, which the library of products lacks."""
    return products.sum(dim, dtype=products.dtype)


def _dot_geometry(operands: Any, attributes: Any) -> Geometry:
    a = require_tensor(operands[0], "dot", "input", 1)
    b = require_tensor(operands[1], "dot", "tensor", 2)
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {SCALAR_NAMES[a.dtype]} and "
            f"{SCALAR_NAMES[b.dtype]}"
        )
    if a.numel != b.numel:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.numel}] and src [{b.numel}] to have the same "
            f"number of elements, but got {a.numel} and {b.numel} elements respectively"
        )
    refuse_bool(a, "dot")
    return contiguous((), a.dtype, a.device)


@operator("dot", _dot_geometry, compute=product_dtype)
def DOT(m: Any, input: Any, tensor: Any) -> Any:
    return m.dot(input, tensor)


@operator("vdot", _dot_geometry, compute=product_dtype)
def VDOT(m: Any, input: Any, other: Any) -> Any:
    return m.vdot(input, other)


@DOT.derivative("input", keeps="tensor")
def _(ctx: Any, grad: Tensor, tensor: Tensor) -> Any:
    return grad * (tensor.conj() if tensor.is_complex() else tensor)


@DOT.derivative("tensor", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    return grad * (input.conj() if input.is_complex() else input)


@VDOT.derivative("input", keeps="other")
def _(ctx: Any, grad: Tensor, other: Tensor) -> Any:
    return (grad.conj() if grad.is_complex() else grad) * other


@VDOT.derivative("other", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    return grad * input


_DOT = Out("result dtype {Out} does not match input dtype {Result}")


@api("torch", "Tensor", out=_DOT)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements.

    >>> import flambeau as torch
    >>> torch.dot(torch.tensor([2, 3]), torch.tensor([2, 1]))
    tensor(7)
    """
    if input._geometry.dtype.category == INTEGER:
        _dot_geometry((input._geometry, tensor._geometry), ())
        return _whole_sum(input * tensor, 0)
    return record_pair(DOT, input, tensor)


@api("torch", "Tensor", out=_DOT)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product with the first vector conjugated.

    >>> import flambeau as torch
    >>> torch.vdot(torch.tensor([1j]), torch.tensor([1j]))
    tensor(1.+0.j)
    """
    return record(VDOT if input.is_complex() else DOT, (input, other))


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


MATMUL = operator("matmul", _matmul_geometry, compute=product_dtype, grad_name="UnsafeViewBackward0",
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
    return flat.conj() if conjugate and x.is_complex() else flat


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


def rows_of(shape: Any) -> int:
    """The number of rows of (..., K): the product of all extents but the last."""
    *rows, _ = shape
    return prod(rows)
