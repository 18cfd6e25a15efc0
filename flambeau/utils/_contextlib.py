"""``torch.utils._contextlib``: context managers that are decorators, too, of functions and generators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import Mode


class _DecoratorContextManager(Mode):
    """Base of context managers that decorate; one that takes arguments overrides ``clone``."""


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that takes no arguments may be written as a decorator without parentheses."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]
