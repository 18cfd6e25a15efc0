"""Differences and integrals along a dimension: diff, trapezoid, cumulative_trapezoid."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor, check_dim
from ..calls.out import EXPECTED
from ..declaration.registry import api
from ..shapes.joining import cat


def _between(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """All elements but the first, all but the last."""
    n = max(x.shape[dim] - 1, 0)
    start = 1 if x.shape[dim] else 0
    return x.narrow(dim, start, n), x.narrow(dim, 0, n)


@api("torch", "Tensor", out=EXPECTED._replace(apart="pointwise"), judge="first")
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along ``dim``, taken n times.

    >>> import flambeau as torch
    >>> torch.diff(torch.tensor([1, 3, 2]))
    tensor([ 2, -1])
    """
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = check_dim(dim, input.ndim)
    if n == 0:
        return input.clone()
    parts = [x for x in (prepend, input, append) if x is not None]
    if len(parts) > 1:
        for x in parts:
            if x.ndim != input.ndim:
                raise RuntimeError("diff expects prepend or append to be the same dimension as input")

        input = cat(parts, dim)
    for _ in range(min(n, input.shape[dim])):
        later, earlier = _between(input, dim)
        input = later.logical_xor(earlier) if input.dtype.category == dtypes.BOOL else later - earlier
    return input


def _strips(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> tuple[Any, Tensor, Tensor]:
    """Widths of the strips (a number if equal), and the values at their ends."""
    if y.dtype.category == dtypes.BOOL:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    right, left = _between(y, dim)
    if x is None:
        return dx, right, left
    if x.dtype.category == dtypes.BOOL:
        raise RuntimeError(f"{name}: received a bool input for `x`, but bool is not supported")
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if d == dim else 1 for d in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape((1,) * (y.ndim - x.ndim) + tuple(x.shape))
    later, earlier = _between(x, dim)
    return later - earlier, right, left


def _arguments(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> tuple[Any, Any]:
    if x is not None and not isinstance(x, Tensor):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (Tensor, {type(x).__name__})"
        )
    if x is not None and dx is not None:
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (Tensor, Tensor, dx={dx}, "
            f"dim={dim})"
        )
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    return x, 1 if dx is None else dx


@api("torch", aliases=("trapz",), judge="first")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral along ``dim`` by the trapezoidal rule, with points ``x`` or spacing ``dx``.

    >>> import flambeau as torch
    >>> torch.trapezoid(torch.tensor([1., 5., 10.]))
    tensor(10.5000)
    """
    x, dx = _arguments("trapezoid", y, x, dx, dim)
    if y.dtype is dtypes.bool_:
        raise RuntimeError("trapezoid: received a bool input for `y`, but bool is not supported")
    dim = check_dim(dim, y.ndim)
    if y.shape[dim] == 0:
        return y.new_zeros([n for d, n in enumerate(y.shape) if d != dim])
    if x is None:
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx
    width, right, left = _strips("trapezoid", y, x, dx, dim)
    return ((right + left) * width).sum(dim) / 2


@api("torch", judge="first")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Running integrals along ``dim`` by the trapezoidal rule: one element less than ``y``.

    >>> import flambeau as torch
    >>> torch.cumulative_trapezoid(torch.tensor([1., 5., 10.]))
    tensor([ 3.0000, 10.5000])
    """
    x, dx = _arguments("cumulative_trapezoid", y, x, dx, dim)
    dim = check_dim(dim, y.ndim)
    width, right, left = _strips("cumulative_trapezoid", y, x, dx, dim)
    return (
        ((right + left) * width).cumsum(dim) / 2
        if isinstance(width, Tensor)
        else (right + left).cumsum(dim) * (width / 2)
    )
