"""Arithmetic on shapes: sizes given by callers, the one inferred extent, strides of views."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from ...dtypes import SCALAR_NAMES, float16, float32, float64, int8, int16, int32, int64, uint8
from ...graph.geometry import Geometry
from ...graph.strides import row_major_strides
from .arguments import is_integer, type_in_words

_INTEGERS = {int}
_NEVER_EMPTY = frozenset(("zeros", "ones", "empty", "rand", "randn", "new_zeros", "new_ones", "new_empty",
                        "reshape", "permute", "repeat", "view"))


def sizes_of(args: tuple[Any, ...], function: str = "", argument: str = "size",
             named: Any = None) -> tuple[int, ...]:
    """Extents given as ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))`` (``named``: no single integer)."""
    if named is not None:
        if not isinstance(named, (tuple, list)):
            raise TypeError(f"{function}(): argument '{argument}' must be tuple of ints, not "
                            f"{type_in_words(named)}")
        args = (named,)
    elif len(args) == 1:    # mostly
        only = args[0]
        if only.__class__ is int:
            return args
        if only.__class__ is tuple and {*map(type, only)} == _INTEGERS:
            return only
    elif {*map(type, args)} == _INTEGERS:
        return args
    if not args and function in _NEVER_EMPTY:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')
    single = len(args) == 1
    if single and isinstance(args[0], (tuple, list)):
        args, single = tuple(args[0]), False
    try:
        if args and args[0].__class__ is bool:
            raise TypeError
        return tuple([n if n.__class__ is int else index(n) for n in args])
    except TypeError:
        raise _not_sizes(args, single, f"{function}(): argument '{argument}'") from None


def alone(name: str, function: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What was given by the only name that a function takes for its numbers, if it was."""
    if not named:
        return None
    for other in named:
        if other != name:
            raise TypeError(f"{function}() got an unexpected keyword argument '{other}'")
    if args:
        raise TypeError(f"{function}() got multiple values for argument '{name}'")
    return named[name]


def _not_sizes(args: tuple[Any, ...], single: bool, argument: str) -> TypeError:
    """The error for extents that are not integers: the first is judged before the others are looked at."""
    place = next(i for i, n in enumerate(args) if not is_integer(n))
    kind = type_in_words(args[place])
    if place:
        return TypeError(f"{argument} failed to unpack the object at pos {place + 1} with error "
                         f'"type must be tuple of ints,but got {kind}"')
    found = f"not {kind}" if single else f"but found element of type {kind} at pos 0"
    return TypeError(f"{argument} (position 1) must be tuple of ints, {found}")


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Replace the one -1 in a shape; PyTorch's errors where the elements do not fit."""
    known, hole = 1, None
    for i, n in enumerate(shape):
        if n == -1:
            if hole is not None:
                raise RuntimeError("only one dimension can be inferred")
            hole = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if hole is None:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    if known == 0 and numel == 0:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                           "unspecified dimension size -1 can be any value and is ambiguous")
    if known == 0 or numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:hole], numel // known, *shape[hole + 1:])


def view_strides(g: Geometry, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Strides with which the elements of ``g`` can be seen in another shape, None where they cannot."""
    if not (g.numel and g.ndim):
        return g.strides if g.shape == shape else row_major_strides(shape)
    shape, old, steps = tuple(shape), tuple(g.shape), g.strides     # a ``Size`` takes longer to index
    strides = [0] * len(shape)
    d = len(shape) - 1
    step, count = steps[-1], 1  # of a run of old dimensions without gaps: its last stride, its elements
    for at in range(g.ndim - 1, -1, -1):
        count *= old[at]
        if at and (old[at - 1] == 1 or steps[at - 1] == count * step):
            continue
        done = 1
        while d >= 0 and (done < count or shape[d] == 1):
            strides[d] = done * step
            done *= shape[d]
            d -= 1
        if done != count:
            return None
        step, count = steps[at - 1], 1
    return tuple(strides)


def type_in_checks(g: Geometry) -> str:
    """The name where operands are compared: types younger than these names have those of C++ classes.

    >>> import flambeau as torch
    >>> from flambeau.operators.calls.extents import type_in_checks
    >>> type_in_checks(torch.ones(1)._geometry), type_in_checks(torch.ones(1, dtype=torch.bool)._geometry)
    ('torch.FloatTensor', 'CPUBoolType')
    """
    if g.device.type == "meta":
        return f"Meta{SCALAR_NAMES[g.dtype]}Type"
    return type_name(g) if g.dtype in _NAMED_EARLY else f"CPU{SCALAR_NAMES[g.dtype]}Type"


_NAMED_EARLY = frozenset((float16, float32, float64, int8, int16, int32, int64, uint8))


def type_name(g: Geometry) -> str:
    """PyTorch's name of a tensor's type in messages, ``torch.FloatTensor``."""
    return f"torch.{SCALAR_NAMES[g.dtype]}Tensor"
