"""What PyTorch says to arguments that fit no signature of a function.

Note: wrong arguments. Functions do not look at the types of their arguments on the way in. One that fails has
``complaint`` compare what it was given with PyTorch's signatures (``signatures.txt``, read on the first
failure): if that does not fit, its error is PyTorch's TypeError. A call that works pays for one ``try``. A
definition's ``@api(judge=...)`` says which functions are judged before they run, and which not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from inspect import unwrap
from pathlib import Path
from typing import Any, NamedTuple

from numpy import ndarray

from ..dtypes import dtype
from ..graph.recent import Recent
from ..layouts import memory_format
from ..size import Size
from ..tensor import Tensor
from ..tensor.overrides import first_seen
from .arguments import invalid_combination, is_integer, type_in_words
from .generator import Generator

FAILURES = (AttributeError, TypeError, ValueError, RuntimeError, LookupError, ArithmeticError, AssertionError)
_PREFIXED = ("linalg", "fft", "special")
_LARGEST = 1 << 63


class Parameter(NamedTuple):
    """One parameter: ``needed`` where there is no default, ``none`` where None will do."""

    name: str
    kind: str
    needed: bool
    none: bool
    keyword: bool


class Signatures(NamedTuple):
    """A function's name in messages, and its signatures or, of one written in Python, its parameters."""

    called: str
    python: bool
    rows: tuple[str, ...]


@cache
def _table() -> dict[str, str]:
    """Of each name its part of the file: a line of names, and below it the signatures."""
    text = (Path(__file__).parent / "signatures.txt").read_text()
    found: dict[str, str] = {}
    for part in text.replace("\n  ", "\0").splitlines():
        namespace, *names = part.partition("\0")[0].partition(" as ")[0].split()
        if namespace != "#":
            for name in names:
                found[f"{namespace}.{name}"] = part
    return found


def _entry(table: dict[str, str], namespace: str, name: str) -> Signatures | None:
    part = table.get(f"{namespace}.{name}")
    if part is None:
        return None
    head, *rows = part.split("\0")
    called = head.partition(" as ")[2]
    own = f"{namespace}_{name}" if namespace in _PREFIXED else name
    return Signatures(called or own, called == "py", tuple(rows))


@cache
def _signatures(namespace: str, name: str) -> Signatures | None:
    """A function's signatures; a method's from the function of that name where it has none of its own."""
    table = _table()
    found = _entry(table, namespace, name)
    if found is not None or namespace != "Tensor":
        return found
    function = _entry(table, "torch", name) or _entry(table, "torch", name.removesuffix("_"))
    if function is None or function.python:
        return None
    return Signatures(name, False, tuple([_without_first(row) for row in function.rows]))


def _without_first(signature: str) -> str:
    parts = [part for part in signature.split(", ")[1:] if not part.startswith("Tensor out")]
    mark = "= " if signature.startswith("= ") else ""
    return mark + ", ".join(parts[:-1] if parts[-1:] == ["*"] else parts)


@cache
def _parameters(signature: str) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    keyword = False
    for part in signature.removeprefix("= ").split(", "):
        if part in ("*", ""):
            keyword = keyword or part == "*"
            continue
        declared, _, default = part.partition(" = ")
        declared, _, also = declared.partition(" | ")
        kind, _, name = declared.rpartition(" ")
        none = "None" in (default, also) or name == "requires_grad"
        found.append(Parameter(name, kind, not default, none, keyword))
    return tuple(found)


def complaint(function: Callable[..., Any], namespace: str, name: str, args: Sequence[Any],
              kwargs: dict[str, Any]) -> Exception | None:
    """PyTorch's error for these arguments of a function or method, None if they fit."""
    known = _signatures(namespace, name)
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
        return _against(known.called, known.rows[0], args, told)
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
    parameters = _parameters(signature)
    return sum([p.needed for p in parameters]) <= count <= len(parameters)


def _against(called: str, signature: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Exception | None:
    """The error for a function with one signature."""
    parameters = _parameters(signature)
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


_ABSENT = object()


def _gathered(places: Sequence[Parameter], args: Sequence[Any]) -> Sequence[Any]:
    """Extents that were given one by one as one tuple."""
    if len(places) == 1 and places[0].kind.endswith("ints") and args \
            and is_integer(args[0]) and all(is_integer(n) for n in args):
        return (tuple(args),)
    return args


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
        if name not in names and name not in _SYNONYMS:
            return TypeError(f"{called}() got an unexpected keyword argument '{name}'")
    return None


# NumPy's names, which functions take for their own, and what they all may take.
_SYNONYMS = frozenset(("axis", "keepdims", "x", "a", "x1", "x2", "out"))


_UNPACKING = " failed to unpack the object"


def _wrong(called: str, p: Parameter, value: Any, place: str) -> Exception | None:
    """The error for one argument, None if it is of its kind."""
    if fits(value, p.kind):
        return _too_large(p.kind, value)
    kind = "tuple of ints" if p.kind.endswith("ints") else p.kind.partition("|")[0]
    found = f"not {type_in_words(value)}"
    if p.kind == "repeated ints" and not isinstance(value, (tuple, list)):
        found = f"but found element of type {type_in_words(value)} at pos 0"
    elif kind == "tuple of ints" and isinstance(value, (tuple, list)):
        at = next(i for i, n in enumerate(value) if not _is_extent(n, i))
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


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim == 0


def _all_integers(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(map(_is_extent, value, range(len(value))))


def _is_extent(value: Any, place: int) -> bool:
    """Whether PyTorch takes something for an integer of a list: truth values from the second on."""
    return is_integer(value) or (place > 0 and isinstance(value, bool))


def _several(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (tuple, list)) and all(kind(x) for x in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) or _is_scalar(value) or (
        not isinstance(value, (Tensor, ndarray))
        and (hasattr(value, "__complex__") or hasattr(value, "__float__")))


def _is_real(value: Any) -> bool:
    return _is_number(value) and not isinstance(value, complex)


# Kinds that are not here are not judged.
_FITS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "Tensor|Number": lambda value: isinstance(value, Tensor) or _is_number(value),
    "int": is_integer,
    "ints": lambda value: is_integer(value) or _all_integers(value),
    "repeated ints": lambda value: is_integer(value) or _all_integers(value),
    "tuple of ints": lambda value: is_integer(value) or _all_integers(value),
    "several ints": _all_integers,
    "tuple of Tensors": _several(lambda x: isinstance(x, Tensor)),
    "tuple of floats": _several(_is_real),
    "tuple of Scalars": _several(_is_number),
    "bool": lambda value: isinstance(value, bool),
    "float": _is_real,
    "Number": _is_number,
    "str": lambda value: isinstance(value, str),
    "torch.memory_format": lambda value: isinstance(value, memory_format),
    "torch.Generator": lambda value: isinstance(value, Generator) or value is None,
    "torch.dtype": lambda value: isinstance(value, (dtype, type)),
}


def fits(value: Any, kind: str) -> bool:
    """Whether PyTorch takes a value for a parameter of this kind."""
    return kind not in _FITS or _FITS[kind](value)


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


# Classes whose values are of a kind whatever they are.
_WHATEVER = frozenset((float, bool, str, type(None), dtype))
_SMALL = 1 << 62


def _form_of(values: Iterable[Any]) -> tuple[Any, ...] | None:
    """What a judgement of arguments depends on, where it is their classes alone; else None."""
    found: list[Any] = []
    for x in values:
        kind: Any = x.__class__
        if kind is int:
            if not -_SMALL < x < _SMALL:
                return None
        elif kind is Tensor:
            if not x._geometry.ndim:
                return None
        elif kind is tuple or kind is list or kind is Size:
            for n in x:
                if n.__class__ is not int or not -_SMALL < n < _SMALL:
                    return None
            kind = kind, len(x)
        elif kind not in _WHATEVER:
            return None
        found.append(kind)
    return tuple(found)


def strict(function: Callable[..., Any], namespace: str, name: str,
           public: bool = True) -> Callable[..., Any]:
    """``function`` with its arguments judged before it runs: it would make something of wrong ones.

    Arguments of classes that were judged right are not judged again. One that is not ``public`` leaves
    arguments that override to its caller.
    """
    right: Recent[Any, bool] = Recent(64)

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        form = _form_of((*args, *kwargs.values()) if kwargs else args)
        call = (form, *kwargs) if kwargs else form
        if form is None and public and first_seen((*args, *kwargs.values())):
            return checked(*args, **kwargs)     # which asks now
        if form is None or call not in right:
            if _SYNONYMS.isdisjoint(kwargs) \
                    and (error := complaint(function, namespace, name, args, kwargs)) is not None:
                raise error
            if form is not None:
                right.keep(call, True)
        return function(*args, **kwargs)
    return checked


def judged(function: Callable[..., Any], namespace: str, name: str) -> Callable[..., Any]:
    """``function`` with PyTorch's error for arguments that it does not take."""
    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except FAILURES:
            if first_seen((*args, *kwargs.values())):
                return checked(*args, **kwargs)     # which asks now
            if (error := complaint(function, namespace, name, args, kwargs)) is not None:
                raise error from None
            raise
    return checked
