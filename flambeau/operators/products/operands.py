"""What products of matrices and vectors ask of their operands, and how these are turned for gradients."""

from __future__ import annotations

from math import prod
from typing import Any

from ...dtypes import BOOL, SCALAR_NAMES, c_name
from ...graph.geometry import Geometry
from ...tensor import Tensor, view
from ..pointwise.arithmetic import conjugate
from ..shapes.transposing import TRANSPOSE, T


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


def require_same_dtype(a: Geometry, b: Geometry) -> None:
    """Matrix products do not promote."""
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(a.dtype)} != {c_name(b.dtype)}"
        )


def require_scalar_type(a: Geometry, b: Geometry) -> None:
    """Batched products do not promote."""
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[a.dtype]} but found {SCALAR_NAMES[b.dtype]}")


def multiplied_shape(a: Geometry, b: Geometry) -> tuple[int, int]:
    """The shape of the product of two matrices."""
    (rows, depth), (expected, columns) = a.shape, b.shape
    if depth != expected:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{depth} and {expected}x{columns})"
        )
    return rows, columns


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


def rows_of(shape: Any) -> int:
    """The number of rows of (..., K): the product of all extents but the last."""
    *rows, _ = shape
    return prod(rows)


def transposed(x: Tensor) -> Tensor:
    """The last two dimensions exchanged and, for complex numbers, conjugated."""
    turned = view(T, x) if x._geometry.ndim == 2 else view(TRANSPOSE, x, (-2, -1))
    return conjugate(turned) if x._geometry.dtype.is_complex else turned
