"""What callers gave a function, judged when the function could not use it: PyTorch's TypeErrors.

Note: arguments of wrong types. Functions do not look at the types of their arguments on the way in.
``judging`` lets them run and, only if they fail, compares what was given with what they take; so a call that
works pays for one ``try``. Functions must fail for such arguments: ``integers`` does, ``int()`` would not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from operator import index
from typing import Any, TypeVar

from ..graph.recent import Recent
from ..tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")

_WORDS = {"Tensor": "Tensor", "Tensor?": "Tensor", "ints": "tuple of ints", "int": "int", "bool": "bool",
          "float": "float", "ints?": "tuple of ints", "several ints": "tuple of ints"}
_FAILURES = (AttributeError, TypeError, ValueError, RuntimeError, IndexError)


def type_in_words(value: Any) -> str:
    """The name of a value's type, as PyTorch's messages have it."""
    kind = type(value)
    if kind.__module__ == "numpy":
        return f"numpy.{kind.__name__}"
    return f"torch.{kind.__name__}" if kind.__name__ in ("dtype", "device", "layout") else kind.__name__


def is_integer(value: Any) -> bool:
    """Whether a value stands for an integer: truth values and fractions do not."""
    if isinstance(value, bool) or isinstance(value, float):
        return False
    if isinstance(value, Tensor):
        return value.ndim == 0 and not value.is_floating_point() and not value.is_complex()
    return hasattr(value, "__index__")


def integers(value: Any, dims: int) -> tuple[int, ...]:
    """An integer for each of ``dims`` dimensions, a single one for all; the caller refuses other counts."""
    if value.__class__ is int:
        return (value,) * dims
    if is_integer(value):
        return (index(value),) * dims
    found = tuple([n if n.__class__ is int else _integer(n) for n in value])
    return found * dims if len(found) == 1 else found


def _integer(value: Any) -> int:
    if not is_integer(value):
        raise TypeError(f"an integer is required, got {type_in_words(value)}")
    return index(value)


def known(found: Recent[Any, V], key: Any) -> V | None:
    """What was found for operands and options before; None for options that are lists, too."""
    try:
        return found.get(key)
    except TypeError:
        return None


def remember(found: Recent[Any, V], key: Any, value: V) -> V:
    """Keep what was found, unless an option is a list; returns it."""
    try:
        return found.keep(key, value)
    except TypeError:
        return value


def judging(kinds: dict[str, str], called: str = "", positioned: bool = False) -> Callable[[F], F]:
    """Let a function that fails raise a TypeError if an argument is not of its kind.

    The kinds: Tensor, Tensor? (or None), ints (or one integer), several ints, ints?, int, bool, float.
    Messages give the position of an argument unless it was given by its name; with ``positioned`` they always
    do. ``called`` is the name of the function in messages, its own by default.
    """
    def decorate(function: F) -> F:
        names = tuple(inspect.signature(function).parameters)

        @wraps(function)
        def judged(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except _FAILURES:
                given = {**dict(zip(names, args)), **kwargs}
                places = {name: f" (position {i})" for i, name in enumerate(names, 1)
                          if positioned or i <= len(args)}
                for name, value in given.items():
                    _require(called or function.__name__, name, value, kinds.get(name), places.get(name, ""))
                raise
        return judged  # type: ignore[return-value]
    return decorate


def _require(function: str, name: str, value: Any, kind: str | None, place: str) -> None:
    if kind is None or fits(value, kind):
        return
    found = f"not {type_in_words(value)}"
    if "ints" in kind and isinstance(value, (tuple, list)):
        wrong = _wrong_element(value)
        if not wrong.startswith("but"):
            raise TypeError(f"{function}(): argument '{name}' {wrong}") from None
        found = wrong if place else found
    raise TypeError(
        f"{function}(): argument '{name}'{place} must be {_WORDS[kind]}, {found}") from None


def _wrong_element(values: Sequence[Any]) -> str:
    place = next(i for i, n in enumerate(values) if not is_integer(n))
    kind = type_in_words(values[place])
    if place == 0:
        return f"but found element of type {kind} at pos 0"
    return (f"failed to unpack the object at pos {place + 1} with error "
            f'"type must be tuple of ints,but got {kind}"')


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a kind (see ``judging``)."""
    if kind.endswith("?") and value is None:
        return True
    kind = kind.removesuffix("?")
    if kind == "Tensor":
        return isinstance(value, Tensor)
    if kind == "bool":
        return isinstance(value, bool)
    if "ints" in kind and isinstance(value, (tuple, list)):
        return all(is_integer(n) for n in value)
    if kind == "several ints":
        return False
    if kind == "float" and isinstance(value, (float, int)):
        return True
    return is_integer(value)


def invalid_combination(function: str, overloads: Sequence[str], args: Any, kwargs: Any) -> TypeError:
    """PyTorch's error for a function with several signatures, none of which takes what was given."""
    kwargs = dict(reversed(kwargs.items()))     # the last first, in all its lists
    got = [type_in_words(a) for a in args] + [f"{name}={type_in_words(a)}" for name, a in kwargs.items()]
    said = f"{function}() received an invalid combination of arguments - got ({', '.join(got)}"
    said += ", ), " if kwargs and not args else "), "
    if len(overloads) == 1:
        return TypeError(f"{said}but expected "
                         f"({overloads[0].removeprefix('= ').replace('|Number', '')})")
    tried = [f" * ({overload})\n{_why_not(overload, args, kwargs)}" for overload in overloads]
    return TypeError(f"{said}but expected one of:\n{''.join(tried)}")


def _why_not(overload: str, args: Any, kwargs: Any) -> str:
    """What does not fit a signature, told of those with as many parameters (a ``*`` counts) as arguments.

    The comparison is one of words: a parameter with a default is not known by its name or type.
    """
    parts = overload.split(", ")
    if len(parts) != len(args) + len(kwargs):
        return ""
    declared = {name: kind for kind, _, name in [part.rpartition(" ") for part in parts]}
    unknown = [name for name in kwargs if name not in declared]
    if unknown:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    kinds = [part.rpartition(" ")[0] for part in parts]
    marked = [_marked(a, "", kind) for a, kind in zip(args, kinds)]
    marked += [_marked(a, f"{name}=", declared[name]) for name, a in kwargs.items()]
    return f"      didn't match because some of the arguments have invalid types: ({', '.join(marked)})\n"


def _marked(value: Any, name: str, declared: str) -> str:
    """A type, in exclamation marks (those of the elements too) if it is not the declared one."""
    kind = type_in_words(value)
    if kind == declared:
        return f"{name}{kind}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(type_in_words(v) for v in value)
        more = "," if isinstance(value, tuple) and len(value) == 1 else ""
        kind = f"{kind} of ({inner}{more})" if isinstance(value, tuple) else f"{kind} of [{inner}]"
    return f"!{name}{kind}!"
