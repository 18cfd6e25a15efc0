"""What callers gave a function, read and put into PyTorch's words (Note: wrong arguments)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeVar

from ...graph.recent import Recent
from ...tensor import Tensor

V = TypeVar("V")


def type_in_words(value: Any) -> str:
    """The name of a value's type, as PyTorch's messages have it."""
    kind = type(value)
    if kind.__module__ == "numpy":
        return f"numpy.{kind.__name__}"
    return f"torch.{kind.__name__}" if kind.__name__ in _OF_TORCH else kind.__name__


_OF_TORCH = frozenset(("dtype", "device", "layout", "memory_format", "Size"))


def whole(value: Any) -> int:
    """What PyTorch takes for an integer as one; raises as ``require_integer`` does."""
    require_integer(value)
    return index(value)


def require_bool(function: str, name: str, value: Any) -> None:
    """Raise PyTorch's error for what is no truth value, in a function that is not judged."""
    if value.__class__ is not bool:
        raise TypeError(f"{function}(): argument '{name}' must be bool, not {type_in_words(value)}")


def require_integer(value: Any) -> None:
    """Raise where PyTorch takes no such integer; what judges the arguments finds PyTorch's words."""
    if not is_integer(value) or not -(1 << 63) <= index(value) < 1 << 63:
        raise TypeError(f"must be int, not {type_in_words(value)}")


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
    if value.__class__ is not tuple and value.__class__ is not list and is_integer(value):
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


def invalid_combination(function: str, overloads: Sequence[str], args: Any, kwargs: Any) -> TypeError:
    """PyTorch's error for a function with several signatures, none of which takes what was given."""
    for ours, theirs in ((" | None", ""), ("|Number", ""), ("several ints", "tuple of ints")):
        overloads = [overload.replace(ours, theirs) for overload in overloads]
    kwargs = dict(reversed(kwargs.items()))     # the last first, in all its lists
    got = [type_in_words(a) for a in args] + [f"{name}={type_in_words(a)}" for name, a in kwargs.items()]
    said = f"{function}() received an invalid combination of arguments - got ({', '.join(got)}"
    said += ", ), " if kwargs and not args else "), "
    if len(overloads) == 1:
        return TypeError(f"{said}but expected ({overloads[0].removeprefix('= ')})")
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
    if kind == declared or (kind == "int" and declared == "float"):
        return f"{name}{kind}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(type_in_words(v) for v in value)
        more = "," if isinstance(value, tuple) and len(value) == 1 else ""
        kind = f"{kind} of ({inner}{more})" if isinstance(value, tuple) else f"{kind} of [{inner}]"
    return f"!{name}{kind}!"
