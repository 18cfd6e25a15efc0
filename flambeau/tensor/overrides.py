"""``__torch_function__``: subclasses and modes that want to see every call.

Note: overrides. The public functions are bare until the first class that overrides ``__torch_function__`` (or
the first mode) exists: then each is wrapped once with a dispatcher (``on_first_override``), so that others
pay nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from .tensor import Tensor

on_first_override: list[Callable[[], None]] = []
modes: list[Any] = []
_active = False
_disabled = [0]


def subclass_defined(cls: Any) -> None:
    """Called for every subclass of Tensor."""
    own = cls.__dict__.get("__torch_function__")
    inherited = any(getattr(base, "_overrides", False) for base in cls.__mro__[1:])
    cls._overrides = own is not disabled_torch_function if own is not None else \
        inherited or not cls.__module__.startswith("flambeau.")
    if cls._overrides:
        activate()


def activate() -> None:
    """Wrap the public functions with the dispatcher, once."""
    global _active
    if not _active:
        _active = True
        for wrap in on_first_override:
            wrap()


def first_seen(values: Iterable[Any]) -> bool:
    """Whether these are the first arguments that override, of a class that is no Tensor.

    A function asks once it has failed, as it does with such arguments; from then on all look for them.
    """
    if _active or not overriding(values):
        return False
    activate()
    return True


def active() -> bool:
    """Whether a class that overrides, or a mode, was ever defined."""
    return _active


def disabled_torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A ``__torch_function__`` that does nothing special."""
    return func(*args, **(kwargs or {}))


def overriding(values: Iterable[Any]) -> list[Any]:
    """The arguments that override, subclasses before their bases, each type once."""
    found: list[Any] = []
    for x in values:
        if isinstance(x, (list, tuple)):
            candidates: Iterable[Any] = x
        else:
            candidates = (x,)
        for c in candidates:
            kind = type(c)
            if not getattr(kind, "_overrides", hasattr(kind, "__torch_function__")) or isinstance(c, type):
                continue
            if any(type(f) is kind for f in found):
                continue
            place = next((i for i, f in enumerate(found) if issubclass(kind, type(f))), len(found))
            found.insert(place, c)
    return found


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments (or a mode) overrides."""
    return not _disabled[0] and (bool(modes) or bool(overriding(relevant_args)))


def ask(public_api: Callable[..., Any], candidates: list[Any], args: tuple[Any, ...],
        kwargs: dict[str, Any]) -> Any:
    """What the mode in force, or else the first overriding argument that can, makes of a call."""
    types = tuple(type(c) for c in candidates)
    if modes:
        mode = modes.pop()
        try:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        finally:
            modes.append(mode)
        if result is not NotImplemented:
            return result
    for c in candidates:
        result = _answer(c, public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def _answer(candidate: Any, public_api: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...],
            kwargs: dict[str, Any]) -> Any:
    """What an argument makes of a call.

    A class that is no Tensor may have a table of functions from before they were wrapped: it is asked for the
    bare one, too.
    """
    bare = None if isinstance(candidate, Tensor) else getattr(public_api, "__wrapped__", None)
    if bare is None:
        return candidate.__torch_function__(public_api, types, args, kwargs)
    try:
        result = candidate.__torch_function__(public_api, types, args, kwargs)
    except NotImplementedError:
        result = NotImplemented
    if result is not NotImplemented:
        return result
    return candidate.__torch_function__(bare, types, args, kwargs)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any,
                          **kwargs: Any) -> Any:
    """Ask the overriding arguments, in order, to compute ``public_api(*args, **kwargs)``."""
    candidates = overriding(relevant_args)
    if any(getattr(c.__torch_function__, "__self__", None) is c for c in candidates):
        warnings.warn("Defining your `__torch_function__ as a plain method is deprecated and will be an "
                      "error in future, please define it as a classmethod.", DeprecationWarning, stacklevel=2)
    result = ask(public_api, candidates, args, kwargs)
    if result is NotImplemented:
        name = f"{public_api.__module__}.{public_api.__name__}"
        raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: "
                        f"{[type(c) for c in candidates]}" + (f" nor in mode {modes[-1]}" if modes else ""))
    return result


def _refused(public_api: Callable[..., Any], candidates: list[Any]) -> TypeError:
    """The error of a call that nothing computes."""
    name = f"{getattr(public_api, '_shown', 'torch')}.{public_api.__name__}"
    asked = [f"  - mode object {mode}" for mode in modes[-1:]]
    asked += [f"  - tensor subclass {type(c)}" for c in candidates]
    return TypeError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
                     "NotImplemented:\n\n" + "\n".join(asked)
                     + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def dispatching(function: Callable[..., Any], announced: Callable[..., Any] | None = None,
                operator: bool = False, modes_alone: bool = False) -> Callable[..., Any]:
    """``function``, asking overriding arguments (or ``modes_alone``) and modes first.

    They are told of ``announced`` in its place; a Python ``operator`` may be left to the other operand.
    """
    if getattr(function, "_dispatches", False) or not callable(function):
        return function

    @wraps(function)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        if not _disabled[0] and (modes or (not modes_alone and overriding((*args, *kwargs.values())))):
            candidates = [] if modes_alone else overriding((*args, *kwargs.values()))
            public_api = announced or dispatched
            result = ask(public_api, candidates, args, kwargs)
            if result is NotImplemented and not operator:
                raise _refused(public_api, candidates)
            return result
        return function(*args, **kwargs)
    dispatched._dispatches = True  # type: ignore[attr-defined]
    return dispatched


class DisableTorchFunction:
    """Inside, nothing overrides."""

    def __enter__(self) -> None:
        _disabled[0] += 1

    def __exit__(self, *exc: object) -> None:
        _disabled[0] -= 1


def default_torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Compute as if there were no subclass; tensors in the result become instances of ``cls``."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunction():
        result = func(*args, **(kwargs or {}))
    return _converted(result, cls, Tensor)


def _converted(result: Any, cls: Any, tensor_class: Any) -> Any:
    if isinstance(result, tensor_class) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_converted(r, cls, tensor_class) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result
