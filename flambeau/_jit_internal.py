"""``torch._jit_internal``: where libraries find the decorators and annotations of ``torch.jit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .jit import _overload, _overload_method, export, ignore, is_scripting, unused
from .jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for methods that TorchScript copies: the method itself."""
    return fn


def boolean_dispatch(arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any],
                     if_false: Callable[..., Any], module_name: str, func_name: str) -> Callable[..., Any]:
    """A function that calls one of two, by the truth of one of its arguments."""
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        given = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if given else if_false)(*args, **kwargs)
    dispatched.__name__, dispatched.__module__ = func_name, module_name
    dispatched.__doc__ = if_true.__doc__ or if_false.__doc__
    return dispatched


__all__ = ["BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Final", "_copy_to_script_wrapper",
           "_overload", "_overload_method", "boolean_dispatch", "export", "ignore", "is_scripting", "unused"]
