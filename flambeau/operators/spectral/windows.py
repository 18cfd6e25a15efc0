"""Window functions for spectral analysis: hann, hamming, blackman, bartlett, kaiser."""

from __future__ import annotations

import math
from typing import Any

from ... import devices, dtypes
from ...graph.geometry import contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, record
from ..creation.creation import filled, leaf
from ..creation.ranges import require_ranges_of
from ..declaration.registry import api


def _cosines(m: Any, n: int, work: Any, terms: tuple[float, ...]) -> Any:
    turn = m.arange(n).astype(work) * work.type(2 * math.pi / (n - 1))
    window = m.full(n, work.type(terms[0]))
    for order, weight in enumerate(terms[1:], 1):
        window = window + work.type(weight) * m.cos(turn * work.type(order))
    return window


def _kernel(m: Any, kind: str, periodic: bool, terms: tuple[float, ...], geometry: Any) -> Any:
    work = m.dtype(m.float32) if geometry.dtype in dtypes.LOW_PRECISION else geometry.dtype.numpy
    n = geometry.numel + periodic  # a periodic window is a symmetric one without its last element
    i = m.arange(n).astype(work)
    if kind == "bartlett":
        window = i * work.type(2 / (n - 1))
        window = m.where(m.arange(n) > (n - 1) // 2, 2 - window, window)
    elif kind == "kaiser":
        beta = work.type(terms[0])
        x = (i - work.type((n - 1) / 2)) / work.type((n - 1) / 2)
        window = (m.i0(beta * m.sqrt(m.maximum(1 - x * x, 0))) / m.i0(m.float64(beta))).astype(work)
    else:
        window = _cosines(m, n, work, terms)
    return window[:geometry.numel]


WINDOW = Operator("window", _kernel, lambda operands, attributes: attributes[3], ())


def _window(
    name: str,
    kind: str,
    length: int,
    periodic: bool,
    terms: tuple[float, ...],
    dtype: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    dtype = dtype or dtypes.get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        kind = dtypes.c_name(dtype)
        raise RuntimeError(f"{name} expects floating point dtypes, got: TensorOptions(dtype={kind}, "
                           "device=cpu, layout=Strided (default), requires_grad=false (default), "
                           "pinned_memory=false, memory_format=(nullopt))")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    g = contiguous((length,), dtype, devices.resolve(device))
    if length <= 1:
        return filled(g, 1, requires_grad)
    require_ranges_of(dtype)    # of which PyTorch makes them
    out = record(WINDOW, (), (kind, bool(periodic), terms, g))
    return leaf(out) if requires_grad else out


@api("torch", judge="first")
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """w[n] = 0.5 - 0.5 cos(2 pi n / (N - 1)).

    >>> import flambeau as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "hann_window", "cosines", window_length, periodic, (0.5, -0.5), dtype, device, requires_grad
    )


@api("torch", judge="first")
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """w[n] = alpha - beta cos(2 pi n / (N - 1)).

    >>> import flambeau as torch
    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window(
        "hamming_window", "cosines", window_length, periodic, (alpha, -beta), dtype, device, requires_grad
    )


@api("torch", judge="first")
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """w[n] = 0.42 - 0.5 cos(2 pi n / (N - 1)) + 0.08 cos(4 pi n / (N - 1)).

    >>> import flambeau as torch
    >>> torch.blackman_window(4).shape
    torch.Size([4])
    """
    return _window(
        "blackman_window",
        "cosines",
        window_length,
        periodic,
        (0.42, -0.5, 0.08),
        dtype,
        device,
        requires_grad,
    )


@api("torch")
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The triangle w[n] = 1 - |2 n / (N - 1) - 1|.

    >>> import flambeau as torch
    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("bartlett_window", "bartlett", window_length, periodic, (), dtype, device, requires_grad)


@api("torch", judge="first")
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """w[n] = I0(beta sqrt(1 - ((n - (N - 1) / 2) / ((N - 1) / 2))^2)) / I0(beta).

    >>> import flambeau as torch
    >>> torch.kaiser_window(4).shape
    torch.Size([4])
    """
    return _window("kaiser_window", "kaiser", window_length, periodic, (beta,), dtype, device, requires_grad)
