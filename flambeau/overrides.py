"""``torch.overrides``: what classes with ``__torch_function__`` work with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .tensor import Tensor
from .tensor.overrides import handle_torch_function, has_torch_function


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor or defines ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


def resolve_name(f: Callable[..., Any]) -> str:
    """The public name of a function."""
    return f"torch.{f.__name__}"


def has_torch_function_unary(x: Any) -> bool:
    """``has_torch_function`` of one argument."""
    return has_torch_function((x,))


def has_torch_function_variadic(*args: Any) -> bool:
    """``has_torch_function`` of several arguments."""
    return has_torch_function(args)


__all__ = ["Iterable", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
           "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name"]
