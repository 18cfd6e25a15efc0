"""Norms: logsumexp, vector and matrix norms, dist."""

from __future__ import annotations

from math import inf
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator, Rows
from ...tensor import Tensor, check_dim, record_one
from ..calls.arguments import is_integer
from ..calls.axes import normalize_dims, reduced_shape
from ..calls.out import EXACT, Out
from ..declaration.definition import arithmetic_dtype, between_steps, operand_dtype, operator
from ..declaration.registry import api, called
from ..reductions.reduction import kept, reduction_geometry
from .support import conj, require_matrix
from .svd import svdvals

# --- logsumexp ----------------------------------------------------------------------------------------------


@operator("logsumexp", reduction_geometry, rows=Rows(passes=2))
def LOGSUMEXP(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.logsumexp(input.astype(arithmetic_dtype(dtype).numpy), dims, keepdim, between_steps(dtype))


@LOGSUMEXP.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    dims, keepdim, _ = ctx.attributes
    shape = input.shape
    share = (input - kept(output, dims, keepdim, shape)).exp()
    return kept(grad, dims, keepdim, shape) * conj(share)


@api("torch", "Tensor", "special", out=True, judge="first")
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    r"""The logarithm of the sum of exponentials, :math:`\log \sum_i e^{x_i}`, without overflow.

    >>> import flambeau as torch
    >>> torch.logsumexp(torch.zeros(2), 0)
    tensor(0.6931)
    """
    g = input._geometry
    dtype = dtypes.get_default_dtype() if g.dtype.category < dtypes.FLOATING else g.dtype
    return record_one(LOGSUMEXP, input, (normalize_dims(dim, g.ndim, keepdim), keepdim, dtype))


# --- vector norms -------------------------------------------------------------------------------------------


def _norm_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    _, dims, keepdim, dtype = attributes
    return contiguous(reduced_shape(g.shape, dims, keepdim), dtype.to_real(), g.device)


def norm_kernel(m: Any, input: Any, p: float, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    """(sum |x|^p)^(1/p), in the type in which ``dtype`` is computed."""
    return norm_of(m, input.astype(arithmetic_dtype(dtype).numpy, copy=False), p, dims, keepdim)


def norm_of(m: Any, x: Any, p: float, dims: tuple[int, ...], keepdim: bool) -> Any:
    """``norm_kernel`` in the type of x."""
    if p == 2:
        square = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
        return m.sqrt(m.sum(square, axis=dims, keepdims=keepdim))
    if p == 0:
        return m.sum(x != 0, axis=dims, keepdims=keepdim, dtype=x.real.dtype)
    x = m.abs(x)
    if p in (inf, -inf):
        return (m.max if p > 0 else m.min)(x, axis=dims, keepdims=keepdim)
    if p == 1:
        return m.sum(x, axis=dims, keepdims=keepdim)
    total = m.sum(m.integer_safe_power(x, x.dtype.type(p)), axis=dims, keepdims=keepdim)
    return m.integer_safe_power(total, x.dtype.type(1 / p))


def _norm_operator(name: str) -> Operator:
    return operator(name, _norm_geometry, compute=operand_dtype,
                    rows=Rows(passes=1, dims=lambda signature: signature.attributes[1]))(norm_kernel)


VECTOR_NORM = _norm_operator("linalg_vector_norm")
DIST = _norm_operator("dist")


def _norm_gradient(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Any:
    """x / |x| (|x| / norm)^(p-1), and zero where it is not defined."""
    p, dims, keepdim, _ = ctx.attributes
    shape = input.shape
    grad, norm = kept(grad, dims, keepdim, shape), kept(output, dims, keepdim, shape)
    if p == 0:
        return None
    if p == 2:
        return grad * (input / norm).masked_fill(norm.eq(0), 0)
    if p == 1:
        return grad * _direction(input)
    size = input.abs()
    if p in (inf, -inf):
        extreme = (size == norm) | (size.isnan() & norm.isnan())
        share = extreme / extreme.sum(dims, True) if dims else extreme
        return grad * share * _direction(input)
    if p < 1:
        inner = (_direction(input) * size.pow(p - 1)).masked_fill(input.eq(0), 0)
        return inner * grad * norm.pow(1 - p)
    if p < 2:
        inner = _direction(input) * size.pow(p - 1)
        return inner * (grad / norm.pow(p - 1)).masked_fill(norm.eq(0), 0)
    return input * size.pow(p - 2) * (grad / norm.pow(p - 1)).masked_fill(norm.eq(0), 0)


def _direction(x: Tensor) -> Tensor:
    return x.sgn()


VECTOR_NORM.derivative("input", keeps="input output")(_norm_gradient)
DIST.derivative("input", keeps="input output")(_norm_gradient)


def _record_norm(op: Operator, x: Tensor, p: float, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    g = x._geometry
    dims = normalize_dims(dim, g.ndim, keepdim)
    if not g.numel and (p < 0 or p == inf):
        shown = f"{p:g}"
        if dim is None or dim == ():
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the "
                "operation does not have an identity"
            )
        for d in dims:
            if g.shape[d] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {shown} norm on the dimension {d}because this "
                    "dimension is empty and the operation does not have an identity"
                )
    return record_one(op, x, (p, dims, keepdim, dtype or g.dtype))


def require_floating(x: Tensor, function: str) -> None:
    """Refuse integers."""
    if x.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.SCALAR_NAMES[x.dtype]}"
        )


def _check_norm_dtype(x: Tensor, dtype: Any, function: str) -> None:
    if dtype is None:
        return
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{function}: dtype should be floating point or complex. Got {dtypes.SCALAR_NAMES[dtype]}"
        )
    if dtype.is_complex is not x.dtype.is_complex:
        kinds = ("complex", "complex") if x.dtype.is_complex else ("real", "real")
        raise RuntimeError(
            f"{function}: dtype should be {kinds[0]} for {kinds[1]} inputs, but got "
            f"{dtypes.SCALAR_NAMES[dtype]}"
        )
    if dtypes.promote_types(x.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{function}: the dtype of the input ({dtypes.SCALAR_NAMES[x.dtype]}) should be convertible "
            f"without narrowing to the specified dtype ({dtypes.SCALAR_NAMES[dtype]})"
        )


def norm_along(x: Tensor, dim: Any) -> Tensor:
    """Euclidean norms along a dimension, which is kept."""
    return _record_norm(VECTOR_NORM, x, 2, dim, True, None)


@api("linalg", out=EXACT, judge="first")
def vector_norm(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    r"""The vector norm :math:`(\sum_i |x_i|^p)^{1/p}`; p = 0 counts, and infinities give the extreme
    absolute value.

    >>> import flambeau as torch
    >>> torch.linalg.vector_norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    require_floating(x, "linalg.vector_norm")
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    _check_norm_dtype(x, dtype, "linalg.vector_norm")
    return _record_norm(VECTOR_NORM, x, ord, dim, keepdim, dtype)


@api("linalg", out=Out("linalg.matrix_norm expected out tensor dtype {Result} but got: {Out}"))
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """A matrix norm: 'fro', 'nuc', or 1, 2, inf and their negatives; (..., N, M) gives (...).

    >>> import flambeau as torch
    >>> torch.linalg.matrix_norm(torch.ones(2, 2))
    tensor(2.)
    """
    name = "linalg.matrix_norm"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    require_floating(A, name)
    _check_norm_dtype(A, dtype, name)
    if ord not in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if isinstance(dim, int) or len(dim) != 2:
        given = dim if isinstance(dim, int) else " ".join(map(str, dim))
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {given}")
    rows, columns = check_dim(dim[0], A.ndim), check_dim(dim[1], A.ndim)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, dtype=dtype)
    if dtype is not None:
        A = A.to(dtype)
    if ord in ("nuc", 2, -2):
        require_matrix(A, name)
        return _spectral_norm(A, ord, rows, columns, keepdim)
    if abs(ord) == inf:
        rows, columns = columns, rows
    sums = vector_norm(A, 1, rows, keepdim)
    remaining = columns if keepdim or columns < rows else columns - 1
    if ord > 0 and not sums.shape[remaining]:
        return sums.detach().sum(remaining, keepdim)
    return sums.amax(remaining, keepdim) if ord > 0 else sums.amin(remaining, keepdim)


def _spectral_norm(A: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    others = [d for d in range(A.ndim) if d not in (rows, columns)]
    values = svdvals(A.permute(*others, rows, columns))
    if ord == "nuc":
        result = values.sum(-1)
    elif ord > 0 and not values.shape[-1]:
        result = values.detach().sum(-1)
    else:
        result = values.amax(-1) if ord > 0 else values.amin(-1)
    return result.reshape(reduced_shape(A.shape, (rows, columns), True)) if keepdim else result


@api("linalg", out=EXACT, judge="first")
def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A vector norm or a matrix norm, depending on the dimensions.

    >>> import flambeau as torch
    >>> torch.linalg.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    count = None if dim is None else 1 if is_integer(dim) else len(dim)
    if ord is None:
        require_floating(A, "linalg.vector_norm")
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if count is not None and count not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and A.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    if isinstance(ord, str) or count == 2 or (dim is None and A.ndim == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


@api("torch", out=EXACT, name="norm", judge="first", as_is=("dim",))
@called("norm")
def _norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The norm of all elements, or along dimensions (see ``linalg.norm`` for what the orders mean).

    >>> import flambeau as torch
    >>> torch.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    if p == "fro" and (dim is None or is_integer(dim) or len(dim) <= 2):
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if isinstance(p, str):
        return matrix_norm(input, p, tuple(range(input.ndim)) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, 2.0 if p is None else p, dim, keepdim, dtype=dtype)


@api("torch", out=True, judge="first")
def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares along one or two dimensions.

    >>> import flambeau as torch
    >>> torch.frobenius_norm(torch.tensor([[3., 4.]]), 1)
    tensor([5.])
    """
    return vector_norm(input, 2, dim, keepdim)


@api("torch", out=True)
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices.

    >>> import flambeau as torch
    >>> torch.nuclear_norm(torch.eye(3))
    tensor(3.)
    """
    return matrix_norm(input, "nuc", dim, keepdim)


@api("Tensor", name="norm", judge="first", as_is=("dim",))
@called("Tensor.norm")
def _norm_method(
    self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """See ``torch.norm``.

    >>> import flambeau as torch
    >>> torch.tensor([3., 4.]).norm()
    tensor(5.)
    """
    return _norm(self, p, dim, keepdim, dtype)


@api("torch", "Tensor", judge="first")
def dist(input: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """The p-norm of the difference of two tensors, broadcast.

    >>> import flambeau as torch
    >>> torch.dist(torch.tensor([3., 4.]), torch.zeros(2))
    tensor(5.)
    """
    difference = input - other
    if difference.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{dtypes.SCALAR_NAMES[difference.dtype]} instead."
        )
    return _record_norm(DIST, difference, p, None, False, None)
