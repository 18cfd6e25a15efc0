"""``__torch_function__``: subclasses and modes that want to see every call.

Note: overrides. The public functions are bare until the first class that overrides ``__torch_function__`` (or
the first mode) exists: then each begins to ask (``on_first_override``), so that others pay nothing. The
function object stays the same, whose code is another then: whoever took it before asks, too, and a table of
functions that a class keeps knows it before and after. Attributes of tensors ask in subclasses, and in modes.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from functools import cache, wraps
from types import CodeType, FunctionType
from typing import Any

from ..devices import device
from ..dtypes import dtype
from ..naming import of_package
from ..size import Size
from .tensor import Tensor

on_first_override: list[Callable[[], None]] = []
on_subclass: list[Callable[[Any], None]] = []       # told of every class of tensors that overrides
modes: list[Any] = []
disabled = [0]              # by how many blocks
unconverted: set[Callable[..., Any]] = set()        # whose results stay as they are
_active = False


def subclass_defined(cls: Any) -> None:
    """Called for every subclass of Tensor."""
    inherited = any(getattr(base, "_overrides", False) for base in cls.__mro__[1:])
    cls._overrides = cls.__torch_function__ is not disabled_torch_function and (
        "__torch_function__" in cls.__dict__ or inherited or not of_package(cls))
    if cls._overrides:
        activate()
        for show in on_subclass:
            show(cls)


def activate() -> None:
    """Let the public functions ask, once."""
    global _active
    _silent.clear()
    _silent.update(_BUILT_IN)
    if not _active:
        _active = True
        for begin in on_first_override:
            begin()


def first_seen(values: Iterable[Any]) -> bool:
    """Whether these are the first arguments that override, of a class that is not a Tensor.

    A function asks once it has failed, as it does with such arguments; from then on all look for them.
    """
    if _active or not overriding(values):
        return False
    activate()
    return True


def unasked(values: Iterable[Any]) -> bool:
    """Whether there are arguments that override, in a function that asks from now on if it has not before."""
    if disabled[0] or not overriding(values):
        return False
    activate()
    return True


def active() -> bool:
    """Whether a class that overrides, or a mode, was ever defined."""
    return _active


class _Disabled:
    """A ``__torch_function__`` that does nothing special: what it is given counts as plain tensors.

    Not a function, which a class would bind: subclasses call it by ``super().__torch_function__(func, ...)``.
    """

    def __call__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with DisableTorchFunction():
            return func(*args, **(kwargs or {}))


disabled_torch_function = _Disabled()


_BUILT_IN = (int, float, bool, complex, str, slice, type(None), type(Ellipsis), dtype, device)
_SEQUENCES = frozenset((tuple, list, Size))
_silent: set[type] = set(_BUILT_IN)     # classes that do not override, of those met


def overriding(values: Iterable[Any]) -> list[Any]:
    """The arguments that override, subclasses before their bases, each type once."""
    if values.__class__ is not tuple:
        values = tuple(values)
    if _silent.issuperset(map(type, values)):
        return []
    for x in values:
        if type(x) not in _silent and (type(x) not in _SEQUENCES or not _silent.issuperset(map(type, x))):
            return _overriding(values)
    return []


def _overriding(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for x in values:
        if isinstance(x, (list, tuple)):
            candidates: Iterable[Any] = x
        else:
            candidates = (x,)
        for c in candidates:
            kind = type(c)
            overrides = getattr(kind, "_overrides", None)
            if overrides is False:
                _silent.add(kind)
                continue
            if (overrides is None and not hasattr(kind, "__torch_function__")) or isinstance(c, type):
                continue
            if any(type(f) is kind for f in found):
                continue
            place = next((i for i, f in enumerate(found) if issubclass(kind, type(f))), len(found))
            found.insert(place, c)
    return found


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments (or a mode) overrides.

    >>> import flambeau as torch
    >>> torch.overrides.has_torch_function((torch.ones(1),))
    False
    """
    return not disabled[0] and (bool(modes) or bool(overriding(relevant_args)))


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
        result = c.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


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


def asked(public_api: Callable[..., Any], candidates: list[Any], args: tuple[Any, ...],
           kwargs: dict[str, Any]) -> Any:
    """What the overriding arguments and modes make of a call, an error if nothing."""
    result = ask(public_api, candidates, args, kwargs)
    if result is NotImplemented:
        raise _refused(public_api, candidates)
    return result


def dispatching(function: Callable[..., Any], announced: Callable[..., Any] | None = None,
                operator: bool = False) -> Callable[..., Any]:
    """A wrapper of ``function`` that asks overriding arguments and modes first.

    They are told of ``announced`` in its place; a Python ``operator`` may be left to the other operand.
    """
    if getattr(function, "_dispatches", False) or not callable(function):
        return function

    @wraps(function)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        if not disabled[0] and ((candidates := overriding((*args, *kwargs.values()))) or modes):
            return (ask if operator else asked)(announced or dispatched, candidates, args, kwargs)
        return function(*args, **kwargs)
    dispatched._dispatches = True  # type: ignore[attr-defined]
    return dispatched


# A public function that asks. What it needs comes with ``_known``, as its globals are those of the function
# whose code it replaces, which has as many cells.
_ASKING = """
def make({cells}):
    def asking(*args, _known, **kwargs):
        if False:
            return {cells}
        switched_off, active, candidates_of, asks, itself, function = _known
        if not switched_off[0]:
            candidates = candidates_of((*args, *kwargs.values()))
            if candidates or active:
                return asks(itself, candidates, args, kwargs)
        return function(*args, **kwargs)
    return asking
"""


@cache
def _code_with(cells: int) -> CodeType:
    """The code of a function that asks and has so many cells: the compiler must know of them."""
    made: dict[str, Any] = {}
    source = _ASKING.format(cells=", ".join([f"_{i}" for i in range(cells)]))
    exec(compile(source, __file__, "exec"), made)
    code: CodeType = made["make"](*[None] * cells).__code__
    return code


def _nothing(values: Iterable[Any]) -> list[Any]:
    return []


def begin_asking(function: FunctionType, modes_alone: bool = False) -> bool:
    """Let a function ask overriding arguments (or not: ``modes_alone``) and modes first; False if it does.

    Its own code goes into a copy of it, whose place is taken (Note: overrides).
    """
    if getattr(function, "_dispatches", False):
        return False
    inner = copied(function)
    code = _code_with(len(function.__code__.co_freevars)).replace(co_name=function.__name__)
    candidates_of = _nothing if modes_alone else overriding
    function.__defaults__ = None
    own = function.__kwdefaults__ or {}     # which programs may ask for; no name of them is a parameter here
    function.__kwdefaults__ = {**own, "_known": (disabled, modes, candidates_of, asked, function, inner)}
    function.__code__ = code
    function.__dict__.setdefault("__wrapped__", inner)      # whose signature is shown
    function._dispatches = True  # type: ignore[attr-defined]
    return True


def copied(function: FunctionType) -> FunctionType:
    """Another function that does the same."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                        function.__closure__)
    copy.__kwdefaults__, copy.__doc__ = function.__kwdefaults__, function.__doc__
    copy.__annotations__, copy.__qualname__ = function.__annotations__, function.__qualname__
    copy.__module__ = function.__module__
    copy.__dict__.update(function.__dict__)
    return copy


def overridable_by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of a tensor; modes and subclasses are asked first, told every argument by its name."""
    named = inspect.signature(function)

    @wraps(function)
    def asking(*args: Any, **kwargs: Any) -> Any:
        if not has_torch_function((*args, *kwargs.values())):
            return function(*args, **kwargs)
        given = named.bind(*args, **kwargs)
        given.apply_defaults()
        return handle_torch_function(asking, list(given.arguments.values())[:1], **given.arguments)
    return asking


class DisableTorchFunction:
    """Inside, nothing overrides."""

    def __enter__(self) -> None:
        disabled[0] += 1

    def __exit__(self, *exc: object) -> None:
        disabled[0] -= 1


def default_torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Compute as if there were no subclass; tensors in the result become instances of ``cls``."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunction():
        result = func(*args, **(kwargs or {}))
    if func in unconverted:
        return result
    return _converted(result, cls, Tensor)


def _converted(result: Any, cls: Any, tensor_class: Any) -> Any:
    if isinstance(result, tensor_class) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_converted(r, cls, tensor_class) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result
