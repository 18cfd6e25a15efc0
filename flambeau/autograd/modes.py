"""Switches of recording: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..tensor import state


class Mode:
    """A context manager that is also a decorator, of functions and of generators."""

    def __enter__(self) -> Any:
        raise TypeError

    def __exit__(self, *exc: object) -> None:
        raise TypeError

    def clone(self) -> Mode:
        """A new instance with the same arguments."""
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            return function
        if inspect.isgeneratorfunction(function):
            return _decorate_generator(self, function)

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)
        return decorated


def _decorate_generator(mode: Mode, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        sent: Any = None
        while True:
            try:
                with mode.clone():
                    yielded = generator.send(sent)
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield yielded
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                with mode.clone():
                    yielded = generator.throw(error)
    return decorated


class no_grad(Mode):
    """Record no history inside.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     print((x * 2).requires_grad)
    False
    """

    def __new__(cls, function: Any = None) -> Any:
        self = object.__new__(cls)
        return self if function is None else Mode.__call__(self, function)

    def __init__(self, function: Any = None) -> None:
        pass

    def __enter__(self) -> None:
        self.before, state.enabled = state.enabled, False

    def __exit__(self, *exc: object) -> None:
        state.enabled = self.before


class enable_grad(no_grad):
    """Record history inside, also within ``no_grad``."""

    def __enter__(self) -> None:
        self.before, state.enabled = state.enabled, True


class set_grad_enabled(Mode):
    """Record history or not; acts at once, and as a context manager until its end."""

    def __init__(self, mode: bool) -> None:
        self.before = state.enabled
        self.mode = mode
        state.enabled = mode

    def __enter__(self) -> None:
        state.enabled = self.mode

    def __exit__(self, *exc: object) -> None:
        state.enabled = self.before

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        state.enabled = self.before
        return super().__call__(function)


class inference_mode(Mode):
    """``no_grad`` whose results can never take part in autograd.

    >>> import flambeau as torch
    >>> with torch.inference_mode():
    ...     y = torch.ones(2)
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        self = object.__new__(cls)
        if isinstance(mode, bool):
            return self
        self.mode = True
        return Mode.__call__(self, mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.before = (state.enabled, state.inference)
        state.inference = self.mode
        state.enabled = not self.mode

    def __exit__(self, *exc: object) -> None:
        state.enabled, state.inference = self.before

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether history is being recorded."""
    return state.enabled


def is_inference_mode_enabled() -> bool:
    """Whether ``inference_mode`` is in force."""
    return state.inference
