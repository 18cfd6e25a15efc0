"""What the linear algebra functions share: checks, errors, and reading whether a factorization failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous, intern
from ...graph.strides import row_major_strides
from ...size import Size
from ...tensor import Tensor
from ...tensor.tape import state as grad_state
from ..declaration.definition import broadcast_shapes
from ..declaration.domain import not_implemented
from ..declaration.registry import NAMESPACES
from ..interop.looking import look
from ..pointwise.arithmetic import conjugate


class LinAlgError(RuntimeError):
    """Raised when a matrix is singular, or not positive-definite, or an iteration does not converge."""


# Tracebacks show the name that PyTorch gives this class.
LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
NAMESPACES["linalg"]["LinAlgError"] = LinAlgError


def _is_narrow(d: dtypes.dtype) -> bool:
    return d in dtypes.LOW_PRECISION or d is dtypes.complex32


def require_kernel(d: dtypes.dtype, kernel: str) -> None:
    """A type that LAPACK has; PyTorch's error names its ``kernel`` for the others."""
    if d.category < dtypes.FLOATING or _is_narrow(d):
        raise not_implemented(kernel, d)


def require_matrix(A: Tensor, function: str, name: str = "A", kernel: str = "",
                   integers_too: bool = False) -> None:
    """At least two dimensions, and floating-point numbers of 32 bits or more.

    Where PyTorch leaves 16-bit types to its ``kernel``, or integers too, that is what refuses them.
    """
    g = A._geometry
    if g.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")
    if kernel and (integers_too or g.dtype.category >= dtypes.FLOATING):
        require_kernel(g.dtype, kernel)
    if g.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.SCALAR_NAMES[g.dtype]}"
        )
    if _is_narrow(g.dtype):
        raise RuntimeError(
            f"{function}: Low precision dtypes not supported. Got {dtypes.SCALAR_NAMES[g.dtype]}"
        )


def require_square(A: Tensor, function: str, name: str = "A", kernel: str = "",
                   integers_too: bool = False) -> None:
    """Square matrices."""
    require_matrix(A, function, name, kernel, integers_too)
    *_, rows, columns = A._geometry.shape
    if rows != columns:
        raise RuntimeError(
            f"{function}: {name} must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )


def require_same_type(A: Tensor, B: Tensor, function: str, first: str = "A", second: str = "B") -> None:
    """Systems of equations do not promote."""
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{function}: Expected {first} and {second} to have the same dtype, but found {first} of type "
            f"{dtypes.SCALAR_NAMES[A.dtype]} and {second} of type {dtypes.SCALAR_NAMES[B.dtype]} instead"
        )


def require_type_of_matrix(b: Tensor, A: Tensor) -> None:
    """The same in the words of PyTorch's older functions."""
    if b.dtype is not A.dtype:
        names = dtypes.SCALAR_NAMES
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {names[b.dtype]} "
                           f"and A of type {names[A.dtype]} instead.")


def require_rows_of_matrix(b: Tensor, A: Tensor, function: str) -> None:
    """The sides of A X = b have as many rows, in the words of PyTorch's older functions."""
    if b.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {function}: each A matrix is {A.shape[-1]} by {A.shape[-1]} but "
            f"each b matrix is {b.shape[-2]} by {b.shape[-1]}"
        )


def require_fitting(A: Tensor, B: Tensor, left: bool, function: str) -> None:
    """The sides of an equation A X = B (or X A = B) must have as many rows (columns)."""
    if (A.shape[-2] != B.shape[-2]) if left else (A.shape[-1] != B.shape[-1]):
        raise RuntimeError(
            f"{function}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def failure(info: Tensor, cause: str) -> tuple[str, int] | None:
    """The first failing matrix of a batch (as the message names it) and its code; a look."""
    found = look(info, cause, only_checks=True)
    if not found.ndim:
        code = found.item()
        return ("", code) if code else None
    if not found.any():
        return None
    position = int((found.reshape(-1) != 0).argmax())
    return f"(Batch element {position}): ", int(found.reshape(-1)[position])


def will_differentiate(A: Tensor) -> bool:
    """Whether vectors that a gradient needs are better computed along with the values."""
    return A.requires_grad and grad_state.enabled


def same(g: Geometry) -> Geometry:
    """A fresh geometry of the same shape and type."""
    return contiguous(g.shape, g.dtype, g.device)


def by_columns(shape: Sequence[int], dtype: dtypes.dtype, device: Any) -> Geometry:
    """A fresh geometry whose matrices lie column by column, as LAPACK leaves them."""
    *batch, rows, columns = shape
    strides = row_major_strides((*batch, columns, rows))
    return intern(Size(shape), (*strides[:-2], strides[-1], strides[-2]), 0, dtype, device)


def same_by_columns(g: Geometry) -> Geometry:
    """``by_columns`` of the same shape and type."""
    return by_columns(g.shape, g.dtype, g.device)


def info_of(g: Geometry) -> Geometry:
    """One code for each matrix of a batch."""
    return contiguous(g.shape[:-2], dtypes.int32, g.device)


def solved_shape(a: Geometry, b: Geometry) -> tuple[int, ...]:
    """Shape of the solution of A X = B, batches broadcast."""
    return (*broadcast_shapes([a.shape[:-2], b.shape[:-2]]), a.shape[-1], b.shape[-1])


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose."""
    turned = x.transpose(-2, -1)
    return conjugate(turned)


def conj(x: Tensor) -> Tensor:
    """The conjugate; real tensors as they are."""
    return conjugate(x)


def identity(n: int, like: Tensor) -> Tensor:
    """The identity matrix in the type of another tensor."""
    return like.new_ones(n).diag_embed()


def real_part(x: Tensor) -> Tensor:
    """The real part; real tensors as they are."""
    return x.real if x.is_complex() else x


def accumulate(parts: list[Any]) -> Any:
    """The sum of those gradients that are there."""
    present = [p for p in parts if p is not None]
    total = present[0] if present else None
    for p in present[1:]:
        total = total + p
    return total
