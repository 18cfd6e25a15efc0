"""``torch.fx.wrap``: functions that tracers do not look into."""

from __future__ import annotations

import sys
from typing import Any

# (globals, name) of functions that a tracer does not look into.
wrapped: list[tuple[dict[str, Any], str]] = []
_wrapped_functions: set[Any] = set()


def wrap(fn_or_name: Any) -> Any:
    """Declare a function (or the name of a global one) as something a tracer does not look into.

    >>> import flambeau as torch
    >>> torch.fx.wrap("len")
    'len'
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    if callable(fn_or_name):
        name = fn_or_name.__name__
        _wrapped_functions.add(fn_or_name)
    else:
        name = fn_or_name
    frame: Any = sys._getframe(1)
    if frame.f_code.co_name != "<module>" and isinstance(fn_or_name, str):
        raise NotImplementedError("wrap must be called at the top level of a module")
    wrapped.append((frame.f_globals, name))
    return fn_or_name


def is_wrapped(function: Any) -> bool:
    """Whether a function was declared with ``wrap``."""
    try:
        return function in _wrapped_functions or any(
            scope.get(name) is function for scope, name in wrapped)
    except TypeError:
        return False
