"""``torch.jit``: the decorators and questions that code written for TorchScript uses.

There is no second language here: every operator is recorded, and hot graphs are compiled, whether code is
"scripted" or not. So the decorators give back what they are given, ``script`` is the identity, and ``trace``
gives a module or function that calls the Python code. What would have to write or read TorchScript files
(``save``, ``load``, the graph of a traced module) is absent.
"""

from __future__ import annotations

import builtins
import types
import typing
from collections import namedtuple
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from . import annotations as annotations  # type: ignore[assignment]  # shadows the __future__ feature
from .tracing import (
    Error,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    is_tracing,
    trace,
    trace_module,
)

T = TypeVar("T")
Attribute = namedtuple("Attribute", ["value", "type"])


class TensorType:
    """TorchScript's type of tensors: for annotations, nothing is of it."""

    def __init__(self) -> None:
        raise TypeError("flambeau has no types of TorchScript: annotate with torch.Tensor")


class DeviceObjType:
    """TorchScript's type of devices: for annotations, nothing is of it."""

    def __init__(self) -> None:
        raise TypeError("flambeau has no types of TorchScript: annotate with torch.device")


def script(obj: T, optimize: None = None, _frames_up: int = 0, _rcb: Any = None,
           example_inputs: Any = None) -> T:
    """The function, class or module itself.

    >>> import flambeau as torch
    >>> @torch.jit.script
    ... def double(x): return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    return obj


def script_if_tracing(fn: T) -> T:
    """The function itself: nothing is traced."""
    return fn


def script_method(fn: T) -> T:
    """The method itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator (with or without arguments) that gives the function back.

    >>> import flambeau as torch
    >>> @torch.jit.ignore
    ... def show(x):
    ...     return x + 1
    >>> show(1)
    2
    """
    return drop if callable(drop) else lambda fn: fn


def unused(fn: T) -> T:
    """The function itself.

    >>> import flambeau as torch
    >>> @torch.jit.unused
    ... def helper(x):
    ...     return x + 1
    >>> helper(1)
    2
    """
    return fn


def export(fn: T) -> T:
    """The method itself.

    >>> import flambeau as torch
    >>> class Layer(torch.nn.Module):
    ...     @torch.jit.export
    ...     def scale(self, x):
    ...         return 2 * x
    >>> Layer().scale(3)
    6
    """
    return fn


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def freeze(mod: T, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> T:
    """The module itself."""
    return mod


def optimize_for_inference(mod: T, other_methods: list[str] | None = None) -> T:
    """The module itself."""
    return mod


def _overload(func: T) -> T:
    """A declaration for TorchScript: the function itself."""
    return func


def _overload_method(func: T) -> T:
    """A declaration for TorchScript: the method itself."""
    return func


_script_if_tracing = script_if_tracing


def is_scripting() -> bool:
    """Whether TorchScript is running this code: never.

    >>> import flambeau as torch
    >>> torch.jit.is_scripting()
    False
    """
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself; the type is a note for readers.

    >>> import flambeau as torch
    >>> torch.jit.annotate(list[int], [])
    []
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """``isinstance`` that understands ``list[int]`` and its kin, by looking at every item.

    >>> import flambeau as torch
    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "2"], list[int])
    (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, each) for each in arguments)
    if origin is None:
        return builtins.isinstance(obj, type(None) if target_type is None else target_type)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    if origin is dict:
        return all(isinstance(k, arguments[0]) and isinstance(v, arguments[1]) for k, v in obj.items())
    return all(isinstance(item, arguments[0]) for item in obj)


@contextmanager
def optimized_execution(should_optimize: bool) -> Any:
    """Accepted: TorchScript's optimizer is not there."""
    yield


@contextmanager
def fuser(name: str) -> Any:
    """Accepted: fusion is the engine's decision."""
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Accepted; gives back what was set before."""
    global _strategy
    before, _strategy = _strategy, list(strategy)
    return before


_strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Call the function, at once as PyTorch does outside TorchScript; ``wait`` gives its result.

    >>> import flambeau as torch
    >>> torch.jit.wait(torch.jit.fork(torch.neg, torch.ones(2)))
    tensor([-1., -1.])
    """
    return Future(func(*args, **kwargs))


def wait(future: Future[T]) -> T:
    """The result of ``fork``.

    >>> import flambeau as torch
    >>> torch.jit.wait(torch.jit.fork(torch.neg, torch.ones(2)))
    tensor([-1., -1.])
    """
    return future.wait()


class Future(typing.Generic[T]):
    """A result that is already there.

    >>> import flambeau as torch
    >>> future = torch.jit.fork(lambda x: x + 1, torch.ones(2))
    >>> torch.jit.wait(future)
    tensor([2., 2.])
    """

    def __init__(self, result: T) -> None:
        self._result = result

    def wait(self) -> T:
        """The result.

        >>> import flambeau as torch
        >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(1), 1))
        tensor([2.])
        """
        return self._result

    def done(self) -> bool:
        """Whether the result is there: yes."""
        return True


__all__ = [
    "Attribute", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule",
    "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "annotate", "annotations",
    "export", "fork", "freeze", "fuser", "ignore", "interface", "is_scripting", "is_tracing", "isinstance",
    "optimize_for_inference", "optimized_execution", "script", "script_if_tracing", "script_method",
    "set_fusion_strategy", "trace", "trace_module", "unused", "wait",
]  # fmt: skip
