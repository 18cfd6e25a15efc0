"""``torch.sym_*``: functions on sizes that work on plain Python numbers, which sizes are here."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from typing import Any


def sym_int(a: Any) -> int:
    """``a`` towards zero.

    >>> sym_int(-2.7)
    -2
    """
    return int(a)


def sym_float(a: Any) -> float:
    """``a`` as a floating-point number.

    >>> import flambeau as torch
    >>> torch.sym_float(2)
    2.0
    """
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether ``a`` is false.

    >>> import flambeau as torch
    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_sqrt(a: Any) -> float:
    """The square root.

    >>> import flambeau as torch
    >>> torch.sym_sqrt(9)
    3.0
    """
    return math.sqrt(a)


def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers; floating where one of them is.

    >>> sym_max(3, 2.0)
    3.0
    """
    found = max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; floating where one of them is.

    >>> import flambeau as torch
    >>> torch.sym_min(3, 2.0)
    2.0
    """
    found = min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of numbers.

    >>> import flambeau as torch
    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t`` if ``b`` is true, else ``f``.

    >>> sym_ite(False, 1, 2)
    2
    """
    return t if b else f


def sym_constrain_range(size: int, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a size is in a range."""
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


def sym_constrain_range_for_size(size: int, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a size is in a range."""
    sym_constrain_range(size, min=min, max=max)


def sym_fresh_size(expr: Any) -> Any:
    """A size of a trace: outside one the number itself."""
    return expr


class SymInt:
    """An integer of a trace. Sizes are Python numbers here, so nothing is one."""

    def __init__(self, node: Any) -> None:
        self.node = node


class SymFloat:
    """A floating-point number of a trace: nothing is one."""

    def __init__(self, node: Any) -> None:
        self.node = node


class SymBool:
    """A truth value of a trace: nothing is one."""

    def __init__(self, node: Any) -> None:
        self.node = node


class Tag(enum.IntEnum):
    """What may be said of a custom operator (``torch.library``).

    >>> import flambeau as torch
    >>> torch.Tag.pointwise
    <Tag.pointwise: 16>
    """

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19


FUNCTIONS = (SymInt, SymFloat, SymBool, Tag, sym_constrain_range, sym_constrain_range_for_size,
             sym_fresh_size,
             sym_int, sym_float, sym_not, sym_sqrt, sym_max, sym_min, sym_sum, sym_ite)
