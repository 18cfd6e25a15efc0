"""How error messages name the type of a value."""

from __future__ import annotations

from ...tensor import Tensor


def typename(value: object) -> str:
    """Return the name PyTorch gives to the type of `value`: `torch.FloatTensor`, `int`, `package.Class`."""
    if isinstance(value, Tensor):
        return value.type()
    cls = type(value)
    module = getattr(value, "__module__", None) or cls.__module__
    prefix = "" if module in ("builtins", "__builtin__") else f"{module}."
    return prefix + getattr(value, "__qualname__", cls.__name__)
