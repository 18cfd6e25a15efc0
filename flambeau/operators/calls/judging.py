"""Functions that have their arguments compared with PyTorch's signatures (Note: wrong arguments)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from ...dtypes import dtype
from ...graph.recent import Recent
from ...size import Size
from ...tensor import Tensor
from ...tensor.generator import Generator
from ...tensor.overrides import first_seen
from ...tensor.recording import casting
from .complaints import FAILURES, SYNONYMS, complaint

# Classes whose values are of a kind whatever they are.
_WHATEVER = frozenset((float, bool, str, type(None), dtype, Generator))
_SMALL = 1 << 62
_ONE_TENSOR = (Tensor,)     # of dimensions; without any it is judged alike, where it is all there is


def _form_of(values: Iterable[Any]) -> tuple[Any, ...] | None:
    """What a judgement of arguments depends on, where it is their classes alone; else None."""
    found: list[Any] = []
    for x in values:
        kind: Any = x.__class__
        if kind is Tensor:
            if not x._geometry.shape:
                return None
        elif kind is int:
            if not -_SMALL < x < _SMALL:
                return None
        elif kind is tuple or kind is list or kind is Size:
            kind = _kind_of(kind, x)
            if kind is None:
                return None
        elif kind not in _WHATEVER:
            return None
        found.append(kind)
    return tuple(found)


def _kind_of(kind: Any, values: Sequence[Any]) -> Any:
    """The same of a tuple or list: of integers, or of tensors with dimensions; else None."""
    if len(values) and values[0].__class__ is Tensor:
        for x in values:
            if x.__class__ is not Tensor or not x._geometry.shape:
                return None
        return kind, len(values), Tensor
    for n in values:
        if n.__class__ is not int or not -_SMALL < n < _SMALL:
            return None
    return kind, len(values)


def in_front(front: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """``front``, which leaves calls to ``function``, is what users know and what asks (Note: overrides)."""
    published = wraps(function)(front)
    function.__dict__["_front"] = published
    return published


def front_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """What users know of a function: itself, if nothing is in front of it."""
    while (front := function.__dict__.get("_front")) is not None:
        function = front
    return function


def strict(function: Callable[..., Any], namespace: str, name: str, public: bool = True,
           bare: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """``function`` with its arguments judged before it runs: it would make something of wrong ones.

    Arguments of classes that were judged right are not judged again. One that is not ``public`` leaves
    arguments that override to its caller. ``bare``: what does the same without keywords, if nothing is wrong.
    """
    right: Recent[Any, bool] = Recent(64)
    tensor_is_right = False
    positional = bare or function

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        nonlocal tensor_is_right
        if kwargs:
            form = _form_of((*args, *kwargs.values()))
        elif tensor_is_right and len(args) == 1 and args[0].__class__ is Tensor:
            return positional(args[0])
        else:
            form = _form_of(args)
            if form in right:
                return positional(*args)
        call = (form, *kwargs) if kwargs else form
        if form is None and public and first_seen((*args, *kwargs.values())):
            return front_of(checked)(*args, **kwargs)      # which asks now
        if form is None or call not in right:
            if SYNONYMS.isdisjoint(kwargs) \
                    and (error := complaint(function, namespace, name, args, kwargs)) is not None:
                raise error
            if form is not None:
                right.keep(call, True)
                tensor_is_right = tensor_is_right or call == _ONE_TENSOR
        return function(*args, **kwargs)
    return checked


def judged(function: Callable[..., Any], namespace: str, name: str) -> Callable[..., Any]:
    """``function`` with PyTorch's error for arguments that it does not take."""
    uncast = getattr(function, "_uncast", function)     # itself, while nobody casts its arguments

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs) if casting.active else uncast(*args, **kwargs)
        except FAILURES:
            if first_seen((*args, *kwargs.values())):
                return front_of(checked)(*args, **kwargs)       # which asks now
            if (error := complaint(function, namespace, name, args, kwargs)) is not None:
                raise error from None
            raise
    return checked
