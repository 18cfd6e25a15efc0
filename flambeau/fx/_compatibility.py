"""``torch.fx._compatibility``: the mark by which PyTorch's packages say that an API stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


def compatibility(is_backward_compatible: bool) -> Callable[[F], F]:
    """A decorator that leaves functions and classes as they are.

    >>> compatibility(is_backward_compatible=False)(len)([1, 2])
    2
    """
    def mark(fn: F) -> F:
        return fn
    return mark
