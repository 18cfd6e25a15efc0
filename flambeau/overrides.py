"""``torch.overrides``: what classes with ``__torch_function__`` work with."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from .operators.declaration.registry import NAMESPACES
from .tensor import Tensor
from .tensor.overrides import activate, handle_torch_function, has_torch_function, modes, unconverted
from .tensor.subclass_attributes import begin_watching, end_watching


class TorchFunctionMode:
    """Sees every public call inside its ``with`` block: override ``__torch_function__``.

    The mode is off while its method runs, so that it may call functions itself; modes around it see them.

    >>> import flambeau as torch
    >>> class Names(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Names():
    ...     y = torch.relu(x)
    relu
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        activate()
        begin_watching()
        modes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        modes.pop()
        end_watching()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """The same as making one."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results are not made instances of a subclass."""
    return set(unconverted)


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor or defines ``__torch_function__``.

    >>> import flambeau as torch
    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def _places() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Public name, module or class, and functions by name, of all that dispatches; the first place counts."""
    activate()
    package = sys.modules[__package__]
    yield "torch.Tensor", Tensor, {n: f for n, f in vars(Tensor).items() if callable(f)}
    yield "torch.nn.functional", package.nn.functional, _shown(NAMESPACES["nn.functional"])
    yield "torch.functional", package.functional, {
        n: f for n, f in vars(package.functional).items() if NAMESPACES["torch"].get(n) is f}
    yield "torch", package, _shown(NAMESPACES["torch"])
    for name in ("linalg", "fft", "special"):
        yield f"torch.{name}", getattr(package, name), _shown(NAMESPACES[name])
    yield "torch.nn.init", package.nn.init, {
        n: f for n, f in vars(package.nn.init).items() if inspect.isfunction(f)}


def _shown(table: dict[str, Any]) -> dict[str, Any]:
    return {name: function for name, function in table.items() if not name.startswith("_")}


def _property_of(func: Any) -> str | None:
    """The name of the property of Tensor whose ``__get__`` or ``__set__`` this is."""
    owner = getattr(func, "__self__", None)
    if not isinstance(owner, property):
        return None
    return next((name for name, value in vars(Tensor).items() if value is owner), None)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, or gets one of its properties.

    >>> import flambeau as torch
    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    """
    activate()
    if _property_of(func) is not None:
        return func.__name__ == "__get__"
    return any(value is func for value in vars(Tensor).values())


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The public name of a function.

    >>> import flambeau as torch
    >>> torch.overrides.resolve_name(torch.nn.functional.relu)
    'torch.nn.functional.relu'
    """
    name = _property_of(f)
    if name is not None:
        return f"torch.Tensor.{name}.{f.__name__}"
    for place, _, functions in _places():
        for name, function in functions.items():
            if function is f:
                return f"{place}.{name}"
    return None


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """What ``__torch_function__`` can override, by module or class.

    >>> import flambeau as torch
    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    found: dict[Any, list[Callable[..., Any]]] = {}
    ignored = get_ignored_functions()
    for _, owner, functions in _places():
        listed = [f for f in functions.values() if f not in ignored]
        if owner is not sys.modules[__package__].nn.init:
            found[owner] = listed
    for name, value in vars(Tensor).items():
        if isinstance(value, property) and not name.startswith("_"):
            found[value] = [value.__get__]
    return found


# Functions that make tensors of nothing, and switches: there is no argument that could override them.
_IGNORED = """
arange as_strided as_tensor asarray bartlett_window blackman_window broadcast_shapes can_cast compile empty
empty_permuted empty_strided eye fill from_file from_numpy frombuffer full get_default_device
get_default_dtype get_num_threads get_rng_state hamming_window hann_window initial_seed is_grad_enabled
is_inference_mode_enabled is_storage is_tensor kaiser_window linspace load logspace manual_seed
normal obj ones promote_types rand randint randn randperm range save scalar_tensor seed set_default_device
set_default_dtype set_flush_denormal set_grad_enabled set_num_threads set_printoptions set_rng_state
sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor
sparse_csr_tensor tensor tril_indices triu_indices typename vitals_enabled zeros
""".split()


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that ``__torch_function__`` does not see.

    >>> import flambeau as torch
    >>> torch.zeros in torch.overrides.get_ignored_functions()
    True
    """
    activate()
    package = sys.modules[__package__]
    names = [getattr(package, name, None) for name in _IGNORED]
    return {f for f in names if f is not None} | {Tensor.as_subclass, Tensor._make_subclass}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    """For every overridable function one of the same signature that returns -1.

    >>> import flambeau as torch
    >>> torch.overrides.get_testing_overrides()[torch.relu](None)
    -1
    """
    return {f: _minus_one(f) for functions in get_overridable_functions().values() for f in functions}


def _minus_one(function: Callable[..., Any]) -> Callable[..., int]:
    def dummy(*args: Any, **kwargs: Any) -> int:
        return -1
    try:
        dummy.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        pass
    return dummy


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Callable[..., Any]]:
    """A decorator: let the arguments that ``dispatcher`` picks override a function.

    >>> import flambeau as torch
    >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(1))
    tensor([2.])
    """
    def inner(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)
        return wrapped
    return inner


def has_torch_function_unary(x: Any) -> bool:
    """``has_torch_function`` of one argument.

    >>> import flambeau as torch
    >>> torch.overrides.has_torch_function_unary(torch.ones(1))
    False
    """
    return has_torch_function((x,))


def has_torch_function_variadic(*args: Any) -> bool:
    """``has_torch_function`` of several arguments.

    >>> import flambeau as torch
    >>> torch.overrides.has_torch_function_variadic(torch.ones(1), 3)
    False
    """
    return has_torch_function(args)


__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "get_default_nowrap_functions",
           "get_ignored_functions", "get_overridable_functions", "get_testing_overrides",
           "handle_torch_function", "has_torch_function", "has_torch_function_unary",
           "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name",
           "wrap_torch_function"]
