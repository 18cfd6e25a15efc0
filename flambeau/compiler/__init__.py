"""``torch.compiler`` and ``torch.compile``.

What is recorded is compiled when it is hot, without being asked: ``compile`` gives back an equivalent
callable, and what tells PyTorch's compiler how to treat a function gives the function back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from ..nn.modules.module import Module
from .errors import check_backend, check_mode, list_backends
from .optimized_module import OptimizedModule

T = TypeVar("T")


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: Any = None, mode: str | None = None, options: dict[str, Any] | None = None,
            name: str | None = None, disable: bool = False, **more: Any) -> Any:
    """A callable that does what ``model`` does; a decorator where ``model`` is left out.

    A module comes back as an ``OptimizedModule`` around it, so the names in its ``state_dict`` start with
    ``_orig_mod.``. ``backend`` may be a function; it is not called.

    >>> import flambeau as torch
    >>> @torch.compile
    ... def double(x): return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same "
                           "time.")
    if model is None:
        return lambda model: compile(model, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                     options=options, name=name, disable=disable, **more)
    if disable:
        return model
    check_mode(mode)
    check_backend(backend)
    if isinstance(model, Module):
        return OptimizedModule(model)
    if isinstance(model, type):
        return model
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return _again(model)


def _again(fn: Callable[..., T]) -> Callable[..., T]:
    @wraps(fn)
    def compiled(*args: Any, **kwargs: Any) -> T:
        return fn(*args, **kwargs)
    compiled._torchdynamo_orig_callable = fn  # type: ignore[attr-defined]
    return compiled


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself; a decorator where it is left out.

    >>> import flambeau as torch
    >>> @torch.compiler.disable
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """
    return (lambda fn: fn) if fn is None else fn


def allow_in_graph(fn: T) -> T:
    """The function itself (or a list of them).

    >>> import flambeau as torch
    >>> @torch.compiler.allow_in_graph
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    return fn


def assume_constant_result(fn: T) -> T:
    """The function itself.

    >>> import flambeau as torch
    >>> @torch.compiler.assume_constant_result
    ... def size():
    ...     return 4
    >>> size()
    4
    """
    return fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[T], T]:
    """A decorator that gives the substitute back."""
    return lambda fn: fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function itself; a decorator where it is left out."""
    return (lambda fn: fn) if fn is None else fn


def is_compiling() -> bool:
    """Whether PyTorch's compiler is reading this code: never.

    >>> import flambeau as torch
    >>> torch.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """Whether PyTorch's compiler is reading this code: never.

    >>> import flambeau as torch
    >>> torch.compiler.is_dynamo_compiling()
    False
    """
    return False


def is_exporting() -> bool:
    """Whether this code is being exported: never.

    >>> import flambeau as torch
    >>> torch.compiler.is_exporting()
    False
    """
    return False


def reset() -> None:
    """Forget what ``compile`` compiled: it keeps nothing."""


def cudagraph_mark_step_begin() -> None:
    """Accepted: there are no CUDA graphs."""


@contextmanager
def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
               force_backend: Any = None) -> Any:
    """Accepted: the same code runs in every stance."""
    yield


__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "compile",
           "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting",
           "list_backends", "nested_compile_region", "reset", "set_stance", "substitute_in_graph"]
