"""Reductions over a row, in the namespace ``m`` of native kernels, and what is made of them.

``axis`` must be the dimensions that the kernel's rows run over. Results keep no shape: one that has a value
for each row is broadcast by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..emitter import BOOL, INT64, Dtype, Unsupported
from .elements import rounded
from .expression import Expression, compare, constant, convert, select
from .functions import absolute, exp, exp_of_negative, log, log_of_normal


def _reduce(kind: str, x: Expression, axis: Any) -> Expression:
    body: Any = x.emitter
    wanted = getattr(body, "dims", ())
    if not wanted:
        raise Unsupported("a reduction")
    if axis is not None:
        dims = (axis,) if isinstance(axis, int) else tuple(axis)
        if tuple(sorted(d % body.ndim for d in dims)) != wanted:
            raise Unsupported("a reduction over other dimensions")
    elif len(wanted) != body.ndim:
        raise Unsupported("a reduction over other dimensions")
    result: Expression = body.reduce(kind, x)
    return result


def _exp(x: Expression) -> Expression:
    return x.emitter.costly(exp, x)


def _share(x: Expression) -> Expression:
    """exp(x) of what is at most 0."""
    return x.emitter.costly(exp_of_negative, x)


def _totalled(x: Expression, dtype: Any) -> Expression:
    wanted: Dtype = x.dtype if dtype is None else np.dtype(dtype)
    if wanted.kind in "biu":
        wanted = INT64 if dtype is None or wanted == INT64 else wanted
    return convert(x, wanted)


def sum(x: Expression, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Expression:
    """The sum."""
    return _reduce("sum", _totalled(x, dtype), axis)


def prod(x: Expression, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Expression:
    """The product."""
    return _reduce("prod", _totalled(x, dtype), axis)


def max(x: Expression, axis: Any = None, keepdims: bool = False) -> Expression:
    """The largest element; NaN where there is one."""
    return _reduce("any" if x.dtype == BOOL else "max", x, axis)


def min(x: Expression, axis: Any = None, keepdims: bool = False) -> Expression:
    """The smallest element; NaN where there is one."""
    return _reduce("all" if x.dtype == BOOL else "min", x, axis)


def any(x: Expression, axis: Any = None, keepdims: bool = False) -> Expression:
    """Whether one holds."""
    return _reduce("any", convert(x, BOOL), axis)


def all(x: Expression, axis: Any = None, keepdims: bool = False) -> Expression:
    """Whether all hold."""
    return _reduce("all", convert(x, BOOL), axis)


def count_of(x: Expression, dims: Any, correction: float = 0) -> Expression:
    """The number of elements that are reduced, less a correction, at least 0; in the type of x."""
    body: Any = x.emitter
    found: Expression = body.count(x.dtype)
    if correction:
        found = found - correction
        found = select(compare(">", found, 0), found, constant(found, 0))
    return found


def count_nonzero(x: Expression, axis: Any = None) -> Expression:
    """How many are not 0."""
    return _reduce("sum", convert(convert(x, BOOL), INT64), axis)


def mean(x: Expression, axis: Any = None, keepdims: bool = False) -> Expression:
    """The mean."""
    return sum(x, axis) / count_of(x, axis)


def reshape(x: Expression, shape: Any) -> Expression:
    """A value for each row stays one."""
    return x


def without_dims(x: Expression, dims: Any) -> Expression:
    """A value for each row stays one."""
    return x


# --- positions ----------------------------------------------------------------------------------------------

def _first(x: Expression, extreme: Expression, axis: Any) -> Expression:
    """The first place where x is the extreme value or, if there is one, NaN."""
    body: Any = x.emitter
    there = compare("==", x, extreme)
    if x.dtype.kind == "f":
        there = there | compare("!=", x, x)
    place = body.position()
    return _reduce("min", select(there, place, constant(place, np.iinfo(np.int64).max)), axis)


def max_along(x: Expression, axis: Any, keepdim: bool = False) -> tuple[Expression, Expression]:
    """The largest element and the place of the first one."""
    top = max(x, axis)
    return top, _first(x, top, axis)


def min_along(x: Expression, axis: Any, keepdim: bool = False) -> tuple[Expression, Expression]:
    """The smallest element and the place of the first one."""
    bottom = min(x, axis)
    return bottom, _first(x, bottom, axis)


def argmax(x: Expression, axis: Any = None, keepdims: bool = False) -> Expression:
    """The place of the largest element."""
    return max_along(x, axis)[1]


def argmin(x: Expression, axis: Any = None, keepdims: bool = False) -> Expression:
    """The place of the smallest element."""
    return min_along(x, axis)[1]


# --- softmax and its kin ------------------------------------------------------------------------------------

def softmax(x: Expression, dim: int) -> Expression:
    """exp(x) / sum(exp(x)); one reciprocal for each row."""
    e = _share(x - max(x, dim))
    return e * (1 / sum(e, dim))


def log_softmax(x: Expression, dim: int, narrow: Any = None) -> Expression:
    """x - log(sum(exp(x))); ``narrow``: the type to which sum and logarithm are rounded."""
    shifted = x - max(x, dim)
    total = rounded(sum(_share(shifted), dim), narrow)
    return shifted - rounded(log_of_normal(total), narrow)     # from 1 on


def softmax_gradient(grad: Expression, output: Expression, dim: int) -> Expression:
    """output * (grad - sum(grad * output))."""
    return (grad - sum(grad * output, dim)) * output


def log_softmax_gradient(grad: Expression, output: Expression, dim: int) -> Expression:
    """grad - exp(output) * sum(grad)."""
    return grad - _exp(output) * sum(grad, dim)


def logsumexp(x: Expression, dims: Any, keepdims: bool, narrow: Any = None) -> Expression:
    """log(sum(exp(x))), the largest element taken out where it is finite; ``narrow``: each step rounded."""
    peak = max(x, dims)
    peak = select(compare("<", absolute(peak), np.inf), peak, constant(peak, 0.0))
    parts = rounded(_exp(rounded(x - peak, narrow)), narrow)
    return rounded(log(rounded(sum(parts, dims), narrow)), narrow) + peak
