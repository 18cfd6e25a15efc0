"""Window functions (Harris 1978), as SciPy defines them: symmetric ones, or with ``sym=False`` periodic ones.

A periodic window of M points is a symmetric one of M + 1 points without the last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import dtypes, layouts
from .. import operators as ops
from ..tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

Options = dict[str, Any]


def _options(name: str, M: int, dtype: Any, layout: Any, device: Any, requires_grad: bool) -> Options:
    """The checked options of a window of M points."""
    if requires_grad is not None and not isinstance(requires_grad, bool):
        raise TypeError(f"empty(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    dtype = dtype or dtypes.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and layout is not layouts.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return {"dtype": dtype, "device": device, "requires_grad": requires_grad}


def _line(start: float, end: float, M: int, options: Options) -> Tensor:
    """M numbers evenly spaced from ``start`` to ``end``."""
    line: Tensor = ops.linspace(start=start, end=end, steps=M, **options)
    return line


def _intervals(M: int, sym: bool) -> int:
    """How many steps a period (or the symmetric window) has."""
    return M - 1 if sym and M > 1 else M


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = exp(-|n - center| / tau).

    >>> import flambeau as torch
    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    options = _options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return ops.empty((0,), **options)
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    line = _line(-center / tau, (-center + M - 1) / tau, M, options)
    return ops.exp(-ops.abs(line))


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = sin(pi (n + 0.5) / M).

    >>> import flambeau as torch
    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    options = _options("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return ops.empty((0,), **options)
    step = math.pi / (M + 1 if not sym and M > 1 else M)
    return ops.sin(_line(0.5 * step, (M - 0.5) * step, M, options))


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = exp(-(n - center)^2 / (2 std^2)).

    >>> import flambeau as torch
    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    options = _options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return ops.empty((0,), **options)
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / (std * math.sqrt(2))
    return ops.exp(-(_line(start * scale, (start + M - 1) * scale, M, options) ** 2))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = I0(beta sqrt(1 - x^2)) / I0(beta), with x going from -1 to 1.

    >>> import flambeau as torch
    >>> torch.signal.windows.kaiser(3, beta=1.0)
    tensor([0.7898, 1.0000, 0.7898])
    """
    options = _options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M == 0:
        return ops.empty((0,), **options)
    if M == 1:
        return ops.ones((1,), **options)
    # Rounded to the dtype, so that no element has |x| > 1.
    height = ops.tensor(beta, dtype=options["dtype"], device=device)
    step = 2.0 * height.item() / _intervals(M, sym)
    line = _line(-height.item(), min(height.item(), -height.item() + step * (M - 1)), M, options)
    return ops.i0(ops.sqrt(height * height - line**2)) / ops.i0(height)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = sum_i (-1)^i a[i] cos(2 pi i n / (M - 1)).

    >>> import flambeau as torch
    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    options = _options("general_cosine", M, dtype, layout, device, requires_grad)
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    if M == 0:
        return ops.empty((0,), **options)
    if M == 1:
        return ops.ones((1,), **options)
    line = _line(0, (M - 1) * 2 * math.pi / _intervals(M, sym), M, options)
    signed = [-w if i % 2 else w for i, w in enumerate(a)]
    weights = ops.tensor(signed, dtype=options["dtype"], device=device)
    orders = ops.arange(len(signed), dtype=options["dtype"], device=device)
    return (weights.unsqueeze(-1) * ops.cos(orders.unsqueeze(-1) * line)).sum(0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = alpha - (1 - alpha) cos(2 pi n / (M - 1)).

    >>> import flambeau as torch
    >>> torch.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(
        M,
        a=[alpha, 1.0 - alpha],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = 0.54 - 0.46 cos(2 pi n / (M - 1)).

    >>> import flambeau as torch
    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = sin(pi n / (M - 1))^2.

    >>> import flambeau as torch
    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """w[n] = 0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)).

    >>> import flambeau as torch
    >>> torch.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    _options("blackman", M, dtype, layout, device, requires_grad)
    return general_cosine(
        M,
        a=[0.42, 0.5, 0.08],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The cosine window of four terms whose side lobes are least (Nuttall 1981).

    >>> import flambeau as torch
    >>> torch.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The triangle w[n] = 1 - |2 n / (M - 1) - 1|.

    >>> import flambeau as torch
    >>> torch.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """
    options = _options("bartlett", M, dtype, layout, device, requires_grad)
    if M == 0:
        return ops.empty((0,), **options)
    if M == 1:
        return ops.ones((1,), **options)
    return 1 - ops.abs(_line(-1, -1 + 2 / _intervals(M, sym) * (M - 1), M, options))
