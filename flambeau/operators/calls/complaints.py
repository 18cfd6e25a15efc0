"""What PyTorch says to arguments that fit no signature of a function.

Note: wrong arguments. Functions do not look at the types of their arguments on the way in. One that fails has
``complaint`` compare what it was given with PyTorch's signatures (``signatures``, read on the first failure):
if that does not fit, its error is PyTorch's TypeError. A call that works pays for one ``try``. A definition's
``@api(judge=...)`` says which functions are judged before they run (``judging``), and which not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any

from numpy import ndarray

from ...tensor import Tensor
from .argument_kinds import fits, is_extent
from .arguments import invalid_combination, is_integer, type_in_words
from .signatures import Parameter, parameters_of, signatures_of

FAILURES = (AttributeError, TypeError, ValueError, RuntimeError, LookupError, ArithmeticError, AssertionError)
_LARGEST = 1 << 63
_UNPACKING = " failed to unpack the object"
_ABSENT = object()
# NumPy's names, which functions take for their own, and what they all may take.
SYNONYMS = frozenset(("axis", "keepdims", "x", "a", "x1", "x2", "out"))


def complaint(function: Callable[..., Any], namespace: str, name: str, args: Sequence[Any],
              kwargs: dict[str, Any]) -> Exception | None:
    """PyTorch's error for these arguments of a function or method, None if they fit."""
    known = signatures_of(namespace, name)
    if known is None:
        return None
    if known.python and known.rows[0].startswith("*"):
        argument, _, alone = known.rows[0][1:].partition(" or ")
        if len(args) == 1 and not isinstance(args[0], (tuple, list)) and alone:
            return None
        return not_all_tensors(args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args,
                               int(argument))
    if known.python:
        given = {**dict(zip(_names_of(function), args)), **kwargs}
        return None if _misses(function, given) else _of_python(known.rows, given)
    if namespace == "Tensor":
        args = args[1:]
    known_here = _names_of(function)    # messages may not tell of all
    told = {name: x for name, x in kwargs.items()
            if name not in known_here or any(f" {name}" in row for row in known.rows)}
    if len(known.rows) == 1:
        return _against(known.called, known.rows[0], args, told, namespace == "Tensor")
    errors = [_against(known.called, row, args, told) for row in known.rows]
    if "out" in kwargs and any(" out" in row for row in known.rows):    # one that names it is meant
        errors = [error if " out" in row else TypeError() for row, error in zip(known.rows, errors)]
    if None in errors:
        return None
    if sum(likely := [_has_room(row, len(args) + len(kwargs)) for row in known.rows]) == 1:
        return errors[likely.index(True)]
    for error in errors:
        if not isinstance(error, TypeError) or _UNPACKING in str(error):
            return error    # the right kind, but too large or with a wrong element
    return invalid_combination(known.called, known.rows, args, kwargs)


def _names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    code = getattr(unwrap(function), "__code__", None)
    return () if code is None else code.co_varnames


def _misses(function: Callable[..., Any], given: dict[str, Any]) -> bool:
    """Whether a parameter without default has no argument: Python tells of that first."""
    inner = unwrap(function)
    code = getattr(inner, "__code__", None)
    if code is None:
        return False
    needed = code.co_varnames[:code.co_argcount - len(inner.__defaults__ or ())]
    return any(name not in given for name in needed)


def _has_room(signature: str, count: int) -> bool:
    parameters = parameters_of(signature)
    return sum([p.needed for p in parameters]) <= count <= len(parameters)


def _against(called: str, signature: str, args: Sequence[Any], kwargs: dict[str, Any],
             bare: bool = False) -> Exception | None:
    """The error for a function with one signature; ``bare``: a method, which may have no parameters."""
    parameters = parameters_of(signature)
    if not parameters and bare and (args or kwargs):
        return _takes_nothing(called, args, kwargs)
    places = [p for p in parameters if not p.keyword]
    args = _gathered(places, args)
    if len(args) > len(places):
        return _too_many(called, parameters, args)
    given = dict(zip([p.name for p in places], args))
    for i, p in enumerate(parameters):
        value = given.get(p.name, kwargs.get(p.name, _ABSENT))
        if value is _ABSENT:
            if p.needed and signature.startswith("= "):
                return invalid_combination(called, (signature,), args, kwargs)
            if p.needed:
                return _missing(called, [q for q in parameters[i:] if q.needed and q.name not in kwargs])
        elif not (value is None and p.none):
            place = f" (position {i + 1})" if p.name in given else ""
            if p.kind == "tuple of Tensors" and isinstance(value, (tuple, list)):
                wrong: Exception | None = not_all_tensors(value, i)
            else:
                wrong = _wrong(called, p, value, place)
            if wrong is not None:
                return wrong
    return _unknown(called, {p.name for p in parameters}, given, kwargs)


def not_all_tensors(values: Sequence[Any], argument: int) -> TypeError | None:
    """The error for what is no tensor in a list of them."""
    for i, x in enumerate(values):
        if not isinstance(x, Tensor):
            return TypeError(f"expected Tensor as element {i} in argument {argument}, but got "
                             f"{type_in_words(x)}")
    return None


def _gathered(places: Sequence[Parameter], args: Sequence[Any]) -> Sequence[Any]:
    """Extents that were given one by one as one tuple."""
    if len(places) == 1 and places[0].kind.endswith("ints") and len(args) > 1 and is_integer(args[0]):
        return (tuple(args),)
    return args


def _takes_nothing(called: str, args: Sequence[Any], kwargs: dict[str, Any]) -> TypeError:
    if kwargs:
        return TypeError(f"TensorBase.{called}() takes no keyword arguments")
    return TypeError(f"TensorBase.{called}() takes no arguments ({len(args)} given)")


def _too_many(called: str, parameters: Sequence[Parameter], args: Sequence[Any]) -> TypeError:
    least = sum([p.needed for p in parameters])     # those by keyword alone too
    most = sum([not p.keyword for p in parameters])
    takes = f"{most}" if least == most else f"from {least} to {most}"
    plural = "" if takes == "1" else "s"
    were = "was" if len(args) == 1 else "were"
    return TypeError(f"{called}() takes {takes} positional argument{plural} but {len(args)} {were} given")


def _missing(called: str, absent: Sequence[Parameter]) -> TypeError:
    names = ", ".join([f'"{p.name}"' for p in absent])
    plural = "s" if len(absent) == 1 else ""        # so it is
    return TypeError(f"{called}() missing {len(absent)} required positional argument{plural}: {names}")


def _unknown(called: str, names: set[str], given: dict[str, Any], kwargs: dict[str, Any]) -> TypeError | None:
    for name in kwargs:
        if name in given:
            return TypeError(f"{called}() got multiple values for argument '{name}'")
        if name not in names and (name not in SYNONYMS or (name == "out" and kwargs[name] is not None)):
            return TypeError(f"{called}() got an unexpected keyword argument '{name}'")
    return None


def _wrong(called: str, p: Parameter, value: Any, place: str) -> Exception | None:
    """The error for one argument, None if it is of its kind."""
    if fits(value, p.kind):
        return _too_large(p.kind, value) or _too_large_inside(called, p, value)
    kind = "tuple of ints" if p.kind.endswith("ints") else p.kind.partition("|")[0]
    found = f"not {type_in_words(value)}"
    if p.kind == "repeated ints" and not isinstance(value, (tuple, list)):
        found = f"but found element of type {type_in_words(value)} at pos 0"
    elif kind == "tuple of ints" and isinstance(value, (tuple, list)):
        at = next(i for i, n in enumerate(value) if not is_extent(n, i))
        inner = type_in_words(value[at])
        if at:
            return TypeError(f"{called}(): argument '{p.name}'{_UNPACKING} at pos {at + 1} "
                             f'with error "type must be tuple of ints,but got {inner}"')
        if place:
            found = f"but found element of type {inner} at pos 0"
    return TypeError(f"{called}(): argument '{p.name}'{place} must be {kind}, {found}")


def _too_large(kind: str, value: Any) -> Exception | None:
    if not isinstance(value, int) or -_LARGEST <= value < _LARGEST:
        return None
    if kind in ("int", "ints", "tuple of ints"):
        return ValueError("Overflow when unpacking long long")
    return OverflowError("int too big to convert") if kind == "Number" and value >= 2 * _LARGEST else None


def _too_large_inside(called: str, p: Parameter, value: Any) -> TypeError | None:
    if p.kind.endswith("ints") and isinstance(value, (tuple, list)):
        for at, n in enumerate(value, 1):
            if _too_large("int", n):
                return TypeError(f"{called}(): argument '{p.name}'{_UNPACKING} at pos {at} with error "
                                 '"Overflow when unpacking long long"')
    return None


def require(called: str, place: int, kind: str, name: str, value: Any) -> None:
    """Raise PyTorch's error unless a value is of a parameter's kind, in a function that is not judged."""
    if error := _wrong(called, Parameter(name, kind, True, False, False), value,
                      f" (position {place})" if place else ""):
        raise error


def _of_python(rows: Sequence[str], given: dict[str, Any]) -> Exception | None:
    """The error of a function written in Python: what it asks first of an argument of another kind."""
    for row in rows:
        parameter, _, rest = row.partition(" ")
        optional, parameter = parameter.endswith("?"), parameter.removesuffix("?")
        if parameter not in given or ((value := given[parameter]) is None and optional):
            continue
        if rest == "len":
            if not isinstance(value, int) and not hasattr(value, "__len__"):
                return TypeError(f"object of type '{type_in_words(value)}' has no len()")
            continue
        if rest.startswith("."):
            if rest == ".size" and isinstance(value, ndarray):
                return TypeError("'int' object is not callable")
            if not hasattr(value, rest[1:]):
                return AttributeError(f"'{type_in_words(value)}' object has no attribute '{rest[1:]}'")
            continue
        called, argument, place, kind = rest.split(":")
        if called.endswith("+"):
            called = called[:-1] + "_with_indices" * bool(given.get("return_indices"))
        if argument == "ord" and isinstance(value, str):    # a norm by its name, which is not a number
            continue
        where = f" (position {place})" if place else ""
        wrong = _wrong(called, Parameter(argument, kind, True, False, False), value, where)
        if wrong is not None:
            return wrong
    return None
