"""``torch._vmap_internals``: ``vmap`` under the name that older packages import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .func import vmap


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0,
          allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """``torch.vmap``; results that are None may pass through.

    >>> import flambeau as torch
    >>> torch._vmap_internals._vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    make = _passing_none if allow_none_pass_through else vmap
    return make(func, in_dims, out_dims)


def _passing_none(func: Callable[..., Any], in_dims: Any, out_dims: Any) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        whole: list[Any] = []

        def present(*examples: Any) -> Any:
            found = func(*examples)
            whole[:] = found if isinstance(found, tuple) else [found]
            return tuple(result for result in whole if result is not None)

        results = iter(vmap(present, in_dims, out_dims)(*args))
        given = tuple(None if result is None else next(results) for result in whole)
        return given if len(given) > 1 else given[0]
    return call
