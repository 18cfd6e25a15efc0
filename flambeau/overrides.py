"""``torch.overrides``: what classes with ``__torch_function__`` work with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from .tensor import Tensor
from .tensor.overrides import activate, handle_torch_function, has_torch_function, modes


class TorchFunctionMode:
    """Sees every public call inside its ``with`` block: override ``__torch_function__``.

    The mode is off while its method runs, so that it may call functions itself; modes around it see them.

    >>> import flambeau as torch
    >>> class Names(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Names():
    ...     y = torch.relu(x)
    relu
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        activate()
        modes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        modes.pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """The same as making one."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results are not made instances of a subclass."""
    return {Tensor.requires_grad_}


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


__all__ = ["BaseTorchFunctionMode", "Iterable", "TorchFunctionMode", "get_default_nowrap_functions",
           "handle_torch_function", "has_torch_function", "has_torch_function_unary",
           "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name"]
