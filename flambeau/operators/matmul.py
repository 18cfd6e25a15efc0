"""Matrix products."""

from __future__ import annotations

from typing import Any

from ..dtypes import SCALAR_NAMES
from ..graph.geometry import Geometry, contiguous
from ..tensor import Tensor, record
from .definition import arithmetic_dtype, operator
from .registry import api


def _mm_shape(operands: Any, attributes: Any) -> Geometry:
    a, b = operands
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"{'self' if a.ndim != 2 else 'mat2'} must be a matrix")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                           f"{b.shape[0]}x{b.shape[1]})")
    require_same_dtype(a, b)
    return contiguous((a.shape[0], b.shape[1]), a.dtype, a.device)


def require_same_dtype(a: Geometry, b: Geometry) -> None:
    """Matrix products do not promote."""
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {_c_name(a)} != {_c_name(b)}")


def _c_name(g: Geometry) -> str:
    names = {"float32": "float", "float64": "double", "int64": "long", "int32": "int"}
    return names.get(g.dtype.name, f"c10::{SCALAR_NAMES[g.dtype]}" if g.dtype.itemsize == 2 else g.dtype.name)


@operator("mm", _mm_shape, compute=lambda operands: arithmetic_dtype(operands[0].dtype))
def MM(m: Any, input: Any, mat2: Any) -> Any:
    return m.matmul(input, mat2)


@MM.derivative("input", keeps="mat2")
def _(ctx: Any, grad: Tensor, mat2: Tensor) -> Tensor:
    return mm(grad, mat2.t().conj() if mat2.is_complex() else mat2.t())


@MM.derivative("mat2", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return mm(input.t().conj() if input.is_complex() else input.t(), grad)


@api("torch", "Tensor", out=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices: (N, K) by (K, M) gives (N, M)."""
    return record(MM, (input, mat2))
