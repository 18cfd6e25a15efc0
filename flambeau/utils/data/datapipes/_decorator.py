"""Decorators of pipes: names of their operations, determinism, checks of types at run time."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

from .datapipe import IterDataPipe, MapDataPipe

_DETERMINISM = "but you set 'guaranteed_datapipes_determinism'. You can turn off determinism for this " \
               "DataPipe if that is acceptable for your application"


class functional_datapipe:
    """Give the operation of a class of pipes a name, under which all pipes have it as a method.

    >>> import flambeau as torch
    >>> @torch.utils.data.functional_datapipe("doubled")
    ... class Doubler(torch.utils.data.IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         for x in self.source:
    ...             yield 2 * x
    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([1, 2]).doubled())
    [2, 4]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        if issubclass(cls, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        elif issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


class _Flag:
    """A switch that a ``with`` block turns, and turns back."""

    def __init__(self, value: bool) -> None:
        self.value = value


_determinism = _Flag(False)
_validation = _Flag(True)


class _Switch:
    _flag: _Flag
    _on: bool

    def __init__(self) -> None:
        self.prev = self._flag.value
        self._flag.value = self._on

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self._flag.value = self.prev


class guaranteed_datapipes_determinism(_Switch):
    """Within the block, pipes that are marked as non-deterministic are refused."""

    _flag, _on = _determinism, True


class runtime_validation_disabled(_Switch):
    """Within the block, ``runtime_validation`` checks nothing."""

    _flag, _on = _validation, False


class non_deterministic:
    """Mark a class of streams as non-deterministic, or its constructor by a function of the arguments."""

    cls: type[IterDataPipe[Any]] | None = None

    def __init__(self, arg: Any) -> None:
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is "
                    "found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is not None:
            if _determinism.value:
                raise TypeError(f"{self.cls.__name__} is non-deterministic, {_DETERMINISM}")
            return self.cls(*args, **kwargs)
        cls = args[0]
        if not (isinstance(cls, type) and issubclass(cls, IterDataPipe)):
            raise TypeError(
                f"Only `IterDataPipe` can be decorated, but {getattr(cls, '__name__', cls)} is found"
            )
        self.cls = cls
        return self._by_arguments

    def _by_arguments(self, *args: Any, **kwargs: Any) -> Any:
        assert self.cls is not None
        answer = self.deterministic_fn(*args, **kwargs)
        if not isinstance(answer, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to return a boolean value, "
                f"but {type(answer)} is found"
            )
        if _determinism.value and answer:
            raise TypeError(f"{self.cls.__name__} is non-deterministic with the inputs, {_DETERMINISM}")
        return self.cls(*args, **kwargs)


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Check arguments that are annotated as streams."""
    signature = inspect.signature(f)
    hints = get_type_hints(f)

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            hint = hints.get(name)
            wants_stream = isinstance(hint, type) and issubclass(hint, IterDataPipe)
            if wants_stream and not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
        return f(*args, **kwargs)

    return wrapper


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Check what ``__iter__`` yields against the type of the stream, if the class has one."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def wrapper(self: Any) -> Iterator[Any]:
        wanted = _sample_type(type(self)) if _validation.value else object
        for sample in f(self):
            if not isinstance(sample, wanted):
                raise RuntimeError(
                    f"Expected an instance as subtype of {wanted}, but found {sample}({type(sample)})"
                )
            yield sample

    return wrapper


def _sample_type(cls: type) -> type:
    """The ``X`` of a class that is derived from ``IterDataPipe[X]``, if it is a class."""
    for base in getattr(cls, "__orig_bases__", ()):
        arguments: Any = getattr(base, "__args__", ())
        if len(arguments) == 1 and isinstance(arguments[0], type):
            return arguments[0]
    return object


__all__ = [
    "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic",
    "runtime_validation", "runtime_validation_disabled",
]  # fmt: skip
