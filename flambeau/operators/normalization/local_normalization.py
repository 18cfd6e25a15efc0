"""Normalization by neighbouring channels, and by length."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ..calls.out import store
from ..declaration.domain import not_implemented
from ..declaration.registry import NAMESPACES, api


@api("nn.functional")
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75,
                        k: float = 1.0) -> Tensor:
    """x / (k + alpha mean of x^2 over ``size`` neighbouring channels)^beta (Krizhevsky et al. 2012).

    >>> import flambeau as torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 3, 2), 2).shape
    torch.Size([1, 3, 2])
    """
    if input.ndim < 3:
        raise ValueError("Expected 3D or higher dimensionality                          input (got "
                         f"{input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    if input.dtype.category != dtypes.FLOATING and input.dtype is not dtypes.int64:
        raise not_implemented("avg_pool2d" if input.ndim == 3 else "avg_pool3d_out_frame", input.dtype)
    if input.ndim > 3 and input.dtype in dtypes.LOW_PRECISION:
        raise not_implemented("avg_pool3d_out_frame", input.dtype)
    pad = NAMESPACES["nn.functional"]["pad"]    # which words what is wrong with the size
    squares = pad((input * input).reshape(input.shape[0], 1, input.shape[1], -1),
                  [0, 0, size // 2, (size - 1) // 2])
    if isinstance(size, bool):
        raise TypeError(f"avg_pool{2 if input.ndim == 3 else 3}d(): argument 'kernel_size' (position 2) must "
                        "be tuple of ints, but found element of type bool at pos 0")
    if size < -1:
        raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad=0, "
                           f"kernel_size={size} and dilation=1")
    if size <= 0:
        shown = f"kH: {size} kW: 1" if input.ndim == 3 else f"kT: {size} kH: 1 kW: 1"
        raise RuntimeError(f"kernel size should be greater than zero, but got {shown}")
    total: Any = None
    for i in range(size):
        part = squares.narrow(2, i, input.shape[1])
        total = part if total is None else total + part
    whole = not (total.is_floating_point() or total.is_complex())
    divisor = (total // size if whole else total / size).reshape(input.shape)
    return input / (divisor * alpha + k) ** beta


@api("nn.functional")
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """x / max(||x||_p, eps) along ``dim``.

    >>> import flambeau as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    result = input / norm
    if out is None:
        return result
    written: Tensor = store(result, out, "normalize")
    return written
