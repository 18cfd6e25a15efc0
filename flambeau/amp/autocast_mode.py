"""``autocast``: products in lower precision, and what would suffer from it in full (Note: autocast)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ..dtypes import bfloat16, float16, float64
from ..tensor import Tensor
from .switches import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


def autocast_decorator(autocast_instance: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, run inside of an autocast."""
    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)
    return decorate_autocast


class autocast:
    """Run matrix products, convolutions and attention in lower precision inside. Also a decorator.

    On the CPU the lower type is ``bfloat16`` unless ``dtype`` says ``float16``. Losses, factorizations and
    Fourier transforms compute in float32. Weights that were cast are kept until the outermost autocast ends.
    On ``'cuda'``, which flambeau has not, it warns and does nothing, as PyTorch does on a machine without
    CUDA.

    >>> import flambeau as torch
    >>> with torch.autocast("cpu"):
    ...     y = torch.nn.Linear(3, 2)(torch.ones(1, 3))
    >>> y.dtype
    torch.bfloat16
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.custom_backend_name = "privateuseone"
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before: list[tuple[Any, ...]] = []
        self._enabled = enabled
        if enabled and device_type == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            self._enabled = False
        if enabled and device_type == "cpu" and self.fast_dtype not in (bfloat16, float16):
            warnings.warn("In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                          "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                          stacklevel=2)
            self._enabled = False

    def __enter__(self) -> autocast:
        self._before.append((is_autocast_enabled(self.device), get_autocast_dtype(self.device),
                             is_autocast_cache_enabled()))
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        enabled, dtype, cache_enabled = self._before.pop()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(cache_enabled)
        return False

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return autocast_decorator(self, func)


# --- functions with a derivative of their own ---------------------------------------------------------------


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Floating tensors of a device, in containers too, converted; float64 stays."""
    if isinstance(value, Tensor):
        eligible = (value.is_floating_point() and value.device.type == device_type
                    and value.dtype is not float64)
        return value.to(dtype) if eligible else value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        cast = [_cast(v, device_type, dtype) for v in value]
        return type(value)(cast) if type(value) in (list, tuple) else cast
    return value


def _checked(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the forward of a ``Function`` that is used under autocast.

    Its backward then runs as it did. With ``cast_inputs`` floating inputs are cast to that type, and autocast
    is off inside.

    >>> import flambeau as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = torch.ones(1, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor([2.])
    """
    _checked(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx, on = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))
    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the backward of a ``Function`` whose forward has ``custom_fwd``; it runs as that did.

    >>> import flambeau as torch
    >>> class Product(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x, y):
    ...         ctx.save_for_backward(x, y)
    ...         return x @ y
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         x, y = ctx.saved_tensors
    ...         return grad @ y.t(), x.t() @ grad
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> Product.apply(x, torch.ones(2, 2)).sum().backward(); x.grad
    tensor([[2., 2.],
            [2., 2.]])
    """
    _checked(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)
    return decorate_bwd
