"""Keywords that many functions take alike: ``out=``, ``dtype=float``, ``layout=``, NumPy's ``axis=``, ``x=``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import unwrap
from types import FunctionType
from typing import Any, Literal

from ... import dtypes, layouts
from ...tensor import methods
from ...tensor.construct import NOT_PINNED
from ...tensor.overrides import copied, first_seen
from ...tensor.recording import casting
from .arguments import type_in_words
from .complaints import FAILURES, complaint
from .judging import front_of, in_front, judged, strict
from .out import Out, refuse_aliases, require_type, store

# When the arguments of a function are compared with PyTorch's signatures (Note: wrong arguments): "first",
# before it runs, as it could make something of some that PyTorch refuses (and is not called in tight loops);
# "late", once it has failed; "never", as every step of a training calls it often and it looks at them itself;
# "function": so does the method, while the function is judged late.
Judge = Literal["first", "late", "never", "function"]

# What the first operand may be called, in NumPy's words too; the second may be ``x2``.
_FIRST = frozenset(("input", "x", "a", "x1"))


def with_keywords(function: Callable[..., Any], name: str, namespaces: tuple[str, ...], out: Out | None,
                  public: tuple[str, str] | None = None, judge: Judge = "late",
                  as_is: tuple[str, ...] = ()) -> Callable[..., Any]:
    """``function`` with what its parameters ask for beside them, and PyTorch's errors for wrong arguments.

    With ``dim`` come NumPy's names ``axis`` and ``keepdims``, and those of its operands; a ``dtype`` may be
    one of Python's types; a sparse ``layout`` is made by another function, if at all. ``out``: what is asked
    of a tensor, or a tuple of them, that may take the result. ``public``: the namespace and the name by which
    users know it. ``as_is``: parameters that are only what they are called, and take only what the function
    takes: PyTorch has it in Python, or no call of it shall cost more.
    """
    parameters = _parameters(function)
    has_layout = "layout" in parameters
    has_dtype = has_layout or ("dtype" in parameters and "dtype" not in as_is)
    has_axis = "dim" in parameters and "dim" not in as_is and namespaces != ("nn.functional",)
    if not (out or has_dtype or has_axis):
        if public is None or judge == "never":
            return function if public is None else _published(function, *public)
        return (strict if judge == "first" else judged)(function, *public)
    names = None if namespaces == ("nn.functional",) else _operand_names(parameters)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        target = None
        try:
            if not kwargs:
                return function(*args)
            if names is not None and len(args) < 2:
                _rename_operands(kwargs, *names)
            if has_axis:
                _rename_axis(kwargs)
                if "dim" not in kwargs and len(args) < 2 and ("keepdim" in kwargs or "out" in kwargs):
                    _require_fitting(function, public, *_by_position(names, args, kwargs))
            if has_dtype:
                _read_dtype(kwargs, function.__name__)
            if has_layout and kwargs.get("pin_memory"):
                raise _pinned(function.__name__, kwargs["pin_memory"])
            if has_layout and kwargs.get("layout") not in (None, layouts.strided):
                return _of_layout(function.__name__, args, kwargs)
            target = kwargs.pop("out", None) if out else None
            if target is None or out is None:
                return function(*args, **kwargs)
            if out.apart:
                refuse_aliases(args, target, out.apart)
            if has_layout:
                require_type(target, kwargs.get("dtype"))
                kwargs["dtype"] = getattr(target, "dtype", None)    # whatever it is made of
            with casting.suspended():
                return store(function(*args, **kwargs), target, name, out)
        except FAILURES:
            if public is not None and first_seen((*args, *kwargs.values())):
                return front_of(wrapper)(*args, **kwargs)       # which asks now
            if target is not None:
                kwargs["out"] = target
            given = _by_position(names, args, kwargs)
            if public is not None and (error := complaint(function, *public, *given)) is not None:
                raise error from None
            raise

    return wrapper if public is None or judge != "first" else strict(wrapper, *public, bare=function)


def asking_first(quick: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, unless ``quick`` knows what calls without keywords give."""
    def quickly(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and (found := quick(*args)) is not None:
            return found
        return function(*args, **kwargs)
    return in_front(quickly, function)


def _published(function: Callable[..., Any], namespace: str, name: str) -> Callable[..., Any]:
    """A function for users alone: once it asks overriding arguments, the package's own calls do not.

    A method keeps its name, by which Python's errors call it.
    """
    assert isinstance(function, FunctionType)
    public = copied(function)
    public.__dict__["__wrapped__"] = function
    if namespace == "Tensor":
        public.__module__, public.__name__, public.__qualname__ = methods.__name__, name, name
    return public


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = getattr(unwrap(function), "__code__", None)
    return () if code is None else code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def _operand_names(parameters: tuple[str, ...]) -> tuple[str, frozenset[str], bool] | None:
    """The first parameter, what else it may be called, and whether the second may be called ``x2``."""
    if not parameters or parameters[0] not in ("input", "A", "self", "x"):
        return None
    return parameters[0], _FIRST.difference(parameters), "other" in parameters and "x2" not in parameters


def _rename_operands(kwargs: dict[str, Any], first: str, others: frozenset[str], second: bool) -> None:
    for name in others.intersection(kwargs):
        kwargs[first] = kwargs.pop(name)
    if second and "x2" in kwargs:
        kwargs["other"] = kwargs.pop("x2")


def _by_position(names: tuple[str, frozenset[str], bool] | None, args: Any,
                 kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The first operand by its place: it bears this library's name by now, which PyTorch may not know."""
    if args or names is None or names[0] not in kwargs or names[0] == "input":
        return args, kwargs
    return (kwargs[names[0]],), {name: value for name, value in kwargs.items() if name != names[0]}


def _rename_axis(kwargs: dict[str, Any]) -> None:
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    if "keepdims" in kwargs:
        kwargs["keepdim"] = kwargs.pop("keepdims")


def _require_fitting(function: Callable[..., Any], public: tuple[str, str] | None, args: Any,
                     kwargs: dict[str, Any]) -> None:
    """Raise where no signature takes these arguments, though the function would: ``sum(x, keepdim=True)``."""
    if public is not None and (error := complaint(function, *public, args, kwargs)) is not None:
        raise error


def _read_dtype(kwargs: dict[str, Any], name: str) -> None:
    dtype = kwargs.get("dtype")
    if dtype is not None and dtype.__class__ is not dtypes.dtype:
        kwargs["dtype"] = dtypes.given(dtype, name)


def _pinned(name: str, asked: Any) -> Exception:
    if asked is not True:
        return TypeError(f"{name}(): argument 'pin_memory' must be bool, not {type_in_words(asked)}")
    return RuntimeError(NOT_PINNED)


def _of_layout(name: str, args: Any, kwargs: Any) -> Any:
    """What a function that makes dense tensors gives for another layout."""
    layout = kwargs["layout"]
    if not isinstance(layout, layouts.layout):
        raise TypeError(f"{name}(): argument 'layout' must be torch.layout, not {type(layout).__name__}")
    if name in layouts.SPARSE_FACTORIES and layout.name.startswith("sparse_"):
        return layouts.SPARSE_FACTORIES[name](*args, **kwargs)
    raise RuntimeError(f"{'full' if name == 'ones' else name}(...) is not implemented for sparse layout")
