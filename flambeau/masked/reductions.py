"""Masked reductions: over what is left of a dimension, the identity of the operation where nothing is."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from .. import operators as ops
from ..operators import NAMESPACES
from ..tensor import Tensor
from ._masks import converted, dimensions, expanded, filled, highest, lowest


def _summing_dtype(input: Tensor, dtype: Any) -> Any:
    """Integers and truth values add up, and multiply, in int64."""
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        return dtypes.int64
    return dtype


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Sums of what the mask leaves, 0 where it leaves nothing.

    >>> import flambeau as torch
    >>> torch.masked.sum(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[True, False, True]]))
    tensor([4.])
    """
    dims = dimensions(input, dim)
    input = converted(input, _summing_dtype(input, dtype))
    return filled(input, mask, 0).sum(dims, keepdim=bool(keepdim), dtype=input.dtype)


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Products of what the mask leaves, 1 where it leaves nothing.

    >>> import flambeau as torch
    >>> torch.masked.prod(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[True, False, True]]))
    tensor([3.])
    """
    dims = dimensions(input, dim)
    input = converted(input, _summing_dtype(input, dtype))
    result = filled(input, mask, 1)
    for d in sorted(dims, reverse=True):
        result = result.prod(d, keepdim=bool(keepdim))
    return result.to(dtype=input.dtype)


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Maxima of what the mask leaves, the lowest value of the type where it leaves nothing.

    >>> import flambeau as torch
    >>> torch.masked.amax(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[True, True, False]]))
    tensor([2.])
    """
    input = converted(input, dtype)
    return filled(input, mask, lowest(input.dtype, "amax")).amax(dimensions(input, dim), bool(keepdim))


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Minima of what the mask leaves, the highest value of the type where it leaves nothing.

    >>> import flambeau as torch
    >>> torch.masked.amin(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[False, True, True]]))
    tensor([2.])
    """
    input = converted(input, dtype)
    return filled(input, mask, highest(input.dtype, "amin")).amin(dimensions(input, dim), bool(keepdim))


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Positions of the maxima of what the mask leaves, in the type of the input.

    >>> import flambeau as torch
    >>> torch.masked.argmax(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[True, True, False]]))
    tensor([1.])
    """
    input = converted(input, dtype)
    found = ops.argmax(filled(input, mask, lowest(input.dtype, "argmax")), dim, bool(keepdim))
    return found.to(dtype=input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Positions of the minima of what the mask leaves, in the type of the input.

    >>> import flambeau as torch
    >>> torch.masked.argmin(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[False, True, True]]))
    tensor([1.])
    """
    input = converted(input, dtype)
    found = ops.argmin(filled(input, mask, highest(input.dtype, "argmin")), dim, bool(keepdim))
    return found.to(dtype=input.dtype)


def _counts(input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements each reduction has left."""
    left = ops.ones(input.shape, dtype=dtypes.int64, device=input.device)
    if mask is not None:
        left = expanded(input, mask).to(dtypes.int64)
    return left.sum(dims, keepdim=keepdim)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Means of what the mask leaves, nan where it leaves nothing.

    >>> import flambeau as torch
    >>> torch.masked.mean(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[True, False, True]]))
    tensor([2.])
    """
    wanted = dtype or input.dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        kind = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {kind} dtype must be either a floating point or complex "
            f"dtype. Got: {wanted}"
        )
    dims = dimensions(input, dim)
    input = converted(input, dtype)
    if mask is None:
        return input.mean(dims, keepdim=bool(keepdim))
    count = _counts(input, dims, bool(keepdim), mask)
    return filled(input, mask, 0).sum(dims, keepdim=bool(keepdim)) / count


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Medians (the lower of two) of what the mask leaves, nan where it leaves nothing.

    >>> import flambeau as torch
    >>> torch.masked.median(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[False, True, True]]))
    tensor([2.])
    """
    input = converted(input, dtype)
    dim = dimensions(input, dim)[0]
    if mask is None:
        return input.median(dim, keepdim=keepdim).values
    if input.is_floating_point():
        return filled(input, mask, float("nan")).nanmedian(dim, keepdim=keepdim).values
    if not expanded(input, mask).any(dim).all():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    wide = filled(input.to(dtypes.float64), mask, float("nan"))
    return wide.nanmedian(dim, keepdim=keepdim).values.to(dtype=input.dtype)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """log sum exp of what the mask leaves, -inf where it leaves nothing.

    >>> import flambeau as torch
    >>> torch.masked.logsumexp(torch.tensor([[0., 5., 0.]]), 1, mask=torch.tensor([[True, False, True]]))
    tensor([0.6931])
    """
    input = converted(input, dtype)
    result = ops.logsumexp(
        filled(input, mask, lowest(input.dtype, "logsumexp")), dimensions(input, dim), keepdim=keepdim
    )
    return result.to(dtype=input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Vector norms of what the mask leaves; the norm's identity (0, or inf for negative orders) otherwise.

    >>> import flambeau as torch
    >>> torch.masked.norm(torch.tensor([[3., 5., 4.]]), 2, 1, mask=torch.tensor([[True, False, True]]))
    tensor([5.])
    """
    input = converted(input, dtype)
    order = 2.0 if ord is None else ord
    identity = float("inf") if isinstance(order, (int, float)) and order < 0 else 0.0
    vector_norm = NAMESPACES["linalg"]["vector_norm"]
    result: Tensor = vector_norm(
        filled(input, mask, identity), order, dimensions(input, dim), bool(keepdim), dtype=dtype
    )
    return result


def _spread(
    input: Tensor,
    dim: Any,
    unbiased: bool | None,
    correction: Any,
    keepdim: bool,
    dtype: Any,
    mask: Tensor | None,
) -> Tensor:
    """Variances of what the mask leaves."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    dims = dimensions(input, dim)
    kind = dtype or input.dtype
    if not (kind.is_floating_point or kind.is_complex):
        kind = dtypes.float32
    if input.dtype is dtypes.bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    wide = input.to(dtype=dtypes.float32) if kind in dtypes.LOW_PRECISION else input.to(dtype=kind)
    count = _counts(input, dims, True, mask)
    deviation = wide - filled(wide, mask, 0).sum(dims, keepdim=True) / count
    square = deviation * deviation.conj()
    total = filled(square.real if square.is_complex() else square, mask, 0).sum(dims, keepdim=bool(keepdim))
    left = count.reshape(total.shape) - correction
    return (total / left.clamp_min(0)).to(dtype=kind)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Variances of what the mask leaves.

    >>> import flambeau as torch
    >>> torch.masked.var(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[True, False, True]]))
    tensor([2.])
    """
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Standard deviations of what the mask leaves.

    >>> import flambeau as torch
    >>> torch.masked.std(torch.tensor([[1., 2., 3.]]), 1, mask=torch.tensor([[True, False, True]]))
    tensor([1.4142])
    """
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()
