"""The frequencies that Fourier transforms have found, and their order: torch.fft.fftfreq, fftshift."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import devices, dtypes
from ...tensor import Tensor, check_dim
from ...tensor.construct import from_array
from ..declaration.registry import api


def _frequencies(numbers: Any, n: int, d: float, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    found = dtype or dtypes.get_default_dtype()
    values = np.array(numbers, np.float64) / (n * d)
    out = from_array(values.astype(found.numpy), device=devices.resolve(device))
    return out.requires_grad_() if requires_grad else out


@api("fft", out=True, judge="first")
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:
    """The frequencies of ``fft``'s results, for samples ``d`` apart.

    >>> import flambeau as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    numbers = [*range((n + 1) // 2), *range(-(n // 2), 0)]
    return _frequencies(numbers, n, d, dtype, device, requires_grad)


@api("fft", out=True, judge="first")
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """The frequencies of ``rfft``'s results, for samples ``d`` apart.

    >>> import flambeau as torch
    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies(range(n // 2 + 1), n, d, dtype, device, requires_grad)


def _shift(input: Tensor, dim: Any, sign: int) -> Tensor:
    dims = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    found = [check_dim(d, input.ndim) for d in dims]
    steps = [input.shape[d] // 2 if sign > 0 else (input.shape[d] + 1) // 2 for d in found]
    if not found:
        raise RuntimeError("`shifts` required")
    return input.roll(steps, found)


@api("fft", judge="first")
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move the frequency zero to the middle.

    >>> import flambeau as torch
    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shift(input, dim, 1)


@api("fft", judge="first")
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of ``fftshift``.

    >>> import flambeau as torch
    >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return _shift(input, dim, -1)
