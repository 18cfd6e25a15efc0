"""Switches of recording: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``.

Under ``inference_mode`` nothing is recorded, whatever the other switches say.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from ..engine import look_at_declaration
from ..tensor import state
from ..tensor.tape import inferring


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
            warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You "
                          "should only decorate functions or methods. To preserve the current behavior of "
                          "class decoration, you can directly decorate the `__init__` method and nothing "
                          "else.", FutureWarning, stacklevel=2)
            return _decorated_class(self, function)
        look_at_declaration()
        if inspect.isgeneratorfunction(function):
            return _decorate_generator(self, function)

        @functools.wraps(function)
        def decorate_context(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)
        return decorate_context


def _decorated_class(mode: Mode, made: type) -> Callable[..., Any]:
    """What stands in a decorated class's place: a function that makes instances in the mode."""
    @functools.wraps(made)
    def decorate_context(*args: Any, **kwargs: Any) -> Any:
        with mode.clone():
            return made(*args, **kwargs)
    return decorate_context


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


def switch(wanted: bool) -> None:
    """Record history from now on, or not; forward differentiation needs it in any case."""
    if state.forward and not wanted:
        state.quiet = True
    else:
        state.enabled, state.quiet = wanted and not state.inference, False


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
        self.before = state.enabled, state.quiet
        switch(False)

    def __exit__(self, *exc: object) -> None:
        state.enabled, state.quiet = self.before


class enable_grad(no_grad):
    """Record history inside, also within ``no_grad``.

    >>> import flambeau as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = 2 * x
    >>> y.requires_grad
    True
    """

    def __enter__(self) -> None:
        self.before = state.enabled, state.quiet
        switch(True)


class set_grad_enabled(Mode):
    """Record history or not; acts at once, and as a context manager until its end.

    >>> import flambeau as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.set_grad_enabled(False):
    ...     y = 2 * x
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError("set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                            f"{type(mode).__name__}")
        self.before = state.enabled, state.quiet
        self.mode = mode
        switch(mode)

    def __enter__(self) -> None:
        switch(self.mode)

    def __exit__(self, *exc: object) -> None:
        state.enabled, state.quiet = self.before

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        state.enabled, state.quiet = self.before
        return super().__call__(function)

    def __str__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


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
        inferring.append(self)
        state.enabled = not self.mode

    def __exit__(self, *exc: object) -> None:
        state.enabled, state.inference = self.before
        inferring.pop()

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether history is being recorded.

    >>> import flambeau as torch
    >>> torch.is_grad_enabled()
    True
    """
    return state.enabled and not state.quiet


def is_inference_mode_enabled() -> bool:
    """Whether ``inference_mode`` is in force.

    >>> import flambeau as torch
    >>> with torch.inference_mode():
    ...     torch.is_inference_mode_enabled()
    True
    """
    return state.inference


class set_multithreading_enabled(Mode):
    """Accepted for PyTorch's programs: backward records, and what it recorded runs on all threads anyway.

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     w.sum().backward()
    >>> w.grad
    tensor([1., 1.])
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass

    def clone(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)


__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
           "set_grad_enabled", "set_multithreading_enabled"]
