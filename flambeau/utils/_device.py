"""``torch.utils._device``: the device of new tensors, as a mode and as decorators."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self

from ..devices import device as Device
from ..overrides import TorchFunctionMode


class DeviceContext(TorchFunctionMode):
    """Inside its ``with`` block new tensors that name no device lie on ``device``."""

    def __init__(self, device: Any) -> None:
        self.device = Device(device)

    def __enter__(self) -> Self:
        self.device.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.device.__exit__(*exc)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self.device:
            return func(*args, **(kwargs or {}))


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, whose new tensors lie on ``device`` (or where the context says that ``device()`` gives)."""
    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with device() if callable(device) else Device(device):
            return func(*args, **kwargs)
    return wrapped


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: new tensors that the function makes lie on ``device``."""
    return lambda func: device_decorator(Device(device), func)


__all__ = ["DeviceContext", "device_decorator", "set_device"]
