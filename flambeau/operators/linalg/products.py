"""Products of matrices and vectors in linalg: matrix_power, matrix_exp, multi_dot, cross, vecdot, vander,
diagonal."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...executors.interpreter import exponential
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, check_dim, record, record_one, record_pair
from ...tensor.warned import warn_once
from ..calls.out import EXACT, Out
from ..declaration.definition import arithmetic_dtype, broadcast_shapes, operator, result_dtype
from ..declaration.domain import not_implemented
from ..declaration.registry import NAMESPACES, api
from ..products.composed import multiply_chain
from ..shapes.joining import cat
from .solve import inv
from .support import adjoint, conj, identity, require_same_type, same

NAMESPACES["linalg"]["matmul"] = NAMESPACES["torch"]["matmul"]


@api("linalg", out=True, judge="first")
def matrix_power(A: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices by repeated squaring; negative ones of the inverse.

    >>> import flambeau as torch
    >>> torch.linalg.matrix_power(torch.tensor([[2., 0.], [0., 3.]]), 2)
    tensor([[4., 0.],
            [0., 9.]])
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    if n == 0:
        return A.clone().copy_(identity(A.shape[-1], A))
    if n < 0:
        A, n = inv(A), -n
    result: Tensor | None = None
    square = A
    while True:
        if n & 1:
            result = square if result is None else result @ square
        n >>= 1
        if not n:
            break
        square = square @ square
    assert result is not None
    return result.clone() if result is A else result


@api("torch", "Tensor", out=True, name="matrix_power", judge="first")
def _matrix_power(input: Tensor, n: int) -> Tensor:
    """See ``linalg.matrix_power``.

    >>> import flambeau as torch
    >>> torch.matrix_power(torch.tensor([[2., 0.], [0., 3.]]), 2)
    tensor([[4., 0.],
            [0., 9.]])
    """
    return matrix_power(input, n)


@operator(
    "linalg_matrix_exp",
    lambda operands, attributes: same(operands[0]),
    compute=lambda operands: arithmetic_dtype(operands[0].dtype),
)
def MATRIX_EXP(m: Any, A: Any) -> Any:
    return exponential.matrix_exp(A)


@MATRIX_EXP.derivative("A", keeps="A")
def _(ctx: Any, grad: Tensor, A: Tensor) -> Any:
    """The upper right block of exp [[A^H, G], [0, A^H]] (Mathias, 1996)."""
    turned, n = adjoint(A), A.shape[-1]
    top = cat([turned, grad], -1)
    bottom = cat([turned.new_zeros(turned.shape), turned], -1)
    return record(MATRIX_EXP, (cat([top, bottom], -2),))[..., :n, n:]


@api("linalg")
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices.

    >>> import flambeau as torch
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_exp: The input tensor A must have at least 2 dimensions.")
    if A.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.SCALAR_NAMES[A.dtype]}"
        )
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_exp: A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    return record_one(MATRIX_EXP, A)


@api("torch", "Tensor", name="matrix_exp")
def _matrix_exp(input: Tensor) -> Tensor:
    """See ``linalg.matrix_exp``.

    >>> import flambeau as torch
    >>> torch.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return matrix_exp(input)


@api("linalg", out=Out("multi_dot(): expected out tensor to have dtype {result} but got {out}"))
def multi_dot(tensors: Any) -> Tensor:
    """The product of a chain of matrices in the cheapest order; the first and the last may be vectors.

    >>> import flambeau as torch
    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)]).shape
    torch.Size([2])
    """
    chain = list(tensors)
    n = len(chain)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for i, x in enumerate(chain):
        ends = i in (0, n - 1)
        if x.ndim not in ((1, 2) if ends else (2,)):
            which = "the first tensor" if i == 0 else "the last tensor" if ends else f"tensor {i}"
            raise RuntimeError(
                f"multi_dot(): {which} must be {'1D or 2D' if ends else '2D'} but got {x.ndim}D"
            )
    shapes = [list(x.shape) for x in chain]
    first, last = chain[0].ndim == 1, chain[-1].ndim == 1
    if first:
        chain[0] = chain[0].reshape(1, -1)
    if last:
        chain[-1] = chain[-1].reshape(-1, 1)
    for i in range(n - 1):
        if chain[i].dtype is not chain[i + 1].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{dtypes.c_name(chain[0].dtype)} and tensor {i + 1} {dtypes.c_name(chain[i + 1].dtype)}"
            )
        if chain[i].shape[1] != chain[i + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {shapes[i]} and {shapes[i + 1]} cannot be "
                "multiplied"
            )
    product = multiply_chain(chain)
    return product.reshape(([] if first else [product.shape[0]]) + ([] if last else [product.shape[1]]))


# --- cross --------------------------------------------------------------------------------------------------


def _cross_geometry(operands: Any, attributes: Any) -> Geometry:
    a, b = operands
    return contiguous(broadcast_shapes([a.shape, b.shape]), result_dtype(operands), a.device)


@operator("linalg_cross", _cross_geometry, compute=lambda operands: arithmetic_dtype(result_dtype(operands)))
def CROSS(m: Any, input: Any, other: Any, dim: int) -> Any:
    if input.shape != other.shape:
        input, other = m.broadcast_arrays(input, other)
    result = m.empty(input.shape, input.dtype)
    after = (slice(None),) * (-1 - dim)
    places: list[Any] = [(..., k, *after) for k in range(3)]
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        i, j = places[i], places[j]
        result[places[k]] = input[i] * other[j] - input[j] * other[i]
    return result


@CROSS.derivative("input", keeps="other")
def _(ctx: Any, grad: Tensor, other: Tensor) -> Any:
    return record(CROSS, (conj(other), grad), ctx.attributes)


@CROSS.derivative("other", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    return record(CROSS, (grad, conj(input)), ctx.attributes)


@api("linalg", out=EXACT._replace(apart="pointwise"))
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors with 3 elements along ``dim``.

    >>> import flambeau as torch
    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    found = check_dim(dim, input.ndim)
    if input.shape[found] != 3 or other.shape[found] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[found]} and "
            f"{other.shape[found]}"
        )
    if input.dtype is not other.dtype:
        names = dtypes.SCALAR_NAMES
        raise RuntimeError(f"expected scalar type {names[input.dtype]} but found {names[other.dtype]}")
    if input.dtype is dtypes.bool_:
        raise not_implemented("cross", input.dtype)
    return record_pair(CROSS, input, other, (found - input.ndim,))


@api("torch", "Tensor", out=EXACT, name="cross")
def _cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along ``dim`` (deprecated default: the first dimension with 3 elements).

    >>> import flambeau as torch
    >>> torch.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim "
            "explicitly "
            "or simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of "
            "linalg.cross in a future release.")
        shape = broadcast_shapes([input.shape, other.shape])
        if 3 not in shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = shape.index(3)
    return cross(input, other, dim=dim)


@api("linalg", out=Out("linalg.vecdot: Expected out of dtype{Result} but found {Out}"), judge="first")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Dot products along ``dim``, the first operand conjugated.

    >>> import flambeau as torch
    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    if x.dtype.category < dtypes.FLOATING:
        raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input. Got "
                           f"{dtypes.SCALAR_NAMES[x.dtype]}")
    require_same_type(x, y, "linalg.vecdot", "x", "y")
    if x.ndim == y.ndim == 1 and x.shape != y.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor {list(x.shape)} and src "
                           f"{list(y.shape)} to have the same number of elements, but got {x.numel()} and "
                           f"{y.numel()} elements respectively")
    return (conj(x) * y).sum(dim)


@api("linalg")
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Vandermonde matrices: the powers 0 to N - 1 of the elements, as rows.

    >>> import flambeau as torch
    >>> torch.linalg.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    x = x if x.ndim else x.reshape(1)
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    if x.dtype is dtypes.bool_ or x.dtype in dtypes.LOW_PRECISION:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got "
                           f"{dtypes.SCALAR_NAMES[x.dtype]}")
    if x.dtype.category < dtypes.FLOATING:
        x = x.to(dtypes.int64)
    powers = x.unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)
    return cat([x.new_ones(*x.shape, 1), powers], -1)


@api("torch", "Tensor", judge="first")
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal.

    >>> import flambeau as torch
    >>> torch.trace(torch.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype is dtypes.bool_:
        raise not_implemented("trace", input.dtype)
    return input.diagonal().sum()


@api("linalg", name="diagonal", judge="first")
def _diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices (a view).

    >>> import flambeau as torch
    >>> torch.linalg.diagonal(torch.eye(2))
    tensor([1., 1.])
    """
    return A.diagonal(offset, dim1, dim2)
