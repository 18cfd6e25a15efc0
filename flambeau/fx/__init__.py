"""``torch.fx``: what code declares for a symbolic tracer. The tracer itself is not there yet."""

from __future__ import annotations

from typing import Any

# Names and functions that a tracer is not to look into.
_wrapped: set[Any] = set()


def wrap(fn_or_name: Any) -> Any:
    """Declare a function (or the name of a global one) as something a tracer does not look into.

    >>> import flambeau as torch
    >>> @torch.fx.wrap
    ... def helper(x): return x + 1
    >>> helper(1)
    2
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    _wrapped.add(fn_or_name)
    return fn_or_name


__all__ = ["wrap"]
