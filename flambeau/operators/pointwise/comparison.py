"""Comparisons, tests for special values, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.look import values_read
from ...graph.geometry import Geometry
from ...graph.operator import OnStacks, Operator
from ...tensor import Tensor, record
from ...tensor.samples.known import known_arrays
from ...tensor.warned import warn
from ..calls.number_range import check_number
from ..calls.out import BOOLEAN, NO_HISTORY, NO_OUT, Out
from ..declaration.definition import operand, pointwise, pointwise_geometry, pointwise_operator, result_dtype
from ..declaration.domain import COMPLEX, bad_arguments, refuse, require_tensor
from ..declaration.registry import api


def _comparison(name: str, kernel: Any, ordered: bool, *aliases: str, doc: str) -> Any:
    """Declare one comparison: a truth value of two operands of common type."""
    op = pointwise_operator(name, kernel, "bool", casts=True)
    if ordered:
        refuse(op, f"{name}_cpu", COMPLEX)

    def function(input: Any, other: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise bad_arguments(name, input, other)
        if not isinstance(other, Tensor):
            other = operand(other, name, "other", 2)
        return record(op, (input, other))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.operator = op  # type: ignore[attr-defined]
    return api("torch", "Tensor", out=NO_HISTORY, inplace="pointwise", aliases=aliases)(function)


eq = _comparison(
    "eq",
    lambda m, input, other: m.equal(input, other),
    False,
    doc="""Whether elements are equal.

    >>> import flambeau as torch
    >>> torch.eq(torch.tensor([1, 2]), 2)
    tensor([False,  True])
    """,
)
ne = _comparison("ne", lambda m, input, other: m.not_equal(input, other), False, "not_equal",
                 doc="""Whether elements differ.

    >>> import flambeau as torch
    >>> torch.ne(torch.tensor([1, 2]), 2)
    tensor([ True, False])
    """)
lt = _comparison("lt", lambda m, input, other: m.less(input, other), True, "less", doc="""``input < other``.

    >>> import flambeau as torch
    >>> torch.lt(torch.tensor([1, 2]), 2)
    tensor([ True, False])
    """)
le = _comparison(
    "le",
    lambda m, input, other: m.less_equal(input, other),
    True,
    "less_equal",
    doc="""``input <= other``.

    >>> import flambeau as torch
    >>> torch.le(torch.tensor([1, 2]), 1)
    tensor([ True, False])
    """,
)
gt = _comparison(
    "gt",
    lambda m, input, other: m.greater(input, other),
    True,
    "greater",
    doc="""``input > other``.

    >>> import flambeau as torch
    >>> torch.gt(torch.tensor([1, 2]), 1)
    tensor([False,  True])
    """,
)
ge = _comparison("ge", lambda m, input, other: m.greater_equal(input, other), True, "greater_equal",
                 doc="""``input >= other``.

    >>> import flambeau as torch
    >>> torch.ge(torch.tensor([1, 2]), 2)
    tensor([False,  True])
    """)


# --- special values -----------------------------------------------------------------------------------------

@pointwise(promotes="bool", inplace=False, out=NO_OUT)
def isnan(m: Any, input: Any) -> Any:
    """Whether elements are NaN.

    >>> import flambeau as torch
    >>> torch.isnan(torch.tensor([1., torch.nan]))
    tensor([False,  True])
    """
    return m.isnan(input)


@pointwise(promotes="bool", inplace=False, out=NO_OUT)
def isinf(m: Any, input: Any) -> Any:
    """Whether elements are infinite.

    >>> import flambeau as torch
    >>> torch.isinf(torch.tensor([1., -torch.inf]))
    tensor([False,  True])
    """
    return m.isinf(input)


@pointwise(promotes="bool", inplace=False, out=NO_OUT)
def isfinite(m: Any, input: Any) -> Any:
    """Whether elements are neither infinite nor NaN.

    >>> import flambeau as torch
    >>> torch.isfinite(torch.tensor([1., torch.inf]))
    tensor([ True, False])
    """
    return m.isfinite(input)


@pointwise(promotes="bool", inplace=False, out=BOOLEAN)
def isposinf(m: Any, input: Any) -> Any:
    """Whether elements are positive infinity.

    >>> import flambeau as torch
    >>> torch.isposinf(torch.tensor([torch.inf, -torch.inf]))
    tensor([ True, False])
    """
    return input == m.inf


@pointwise(promotes="bool", inplace=False, out=BOOLEAN)
def isneginf(m: Any, input: Any) -> Any:
    """Whether elements are negative infinity.

    >>> import flambeau as torch
    >>> torch.isneginf(torch.tensor([torch.inf, -torch.inf]))
    tensor([False,  True])
    """
    return input == -m.inf


refuse(
    isposinf.operator, "", COMPLEX, error=RuntimeError, message="isposinf does not support complex inputs."
)
refuse(
    isneginf.operator, "", COMPLEX, error=RuntimeError, message="isneginf does not support complex inputs."
)


@pointwise(promotes="bool", inplace=False, out=NO_OUT)
def isreal(m: Any, input: Any) -> Any:
    """Whether the imaginary part is zero.

    >>> import flambeau as torch
    >>> torch.isreal(torch.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """
    return m.isreal(input)


# --- closeness ----------------------------------------------------------------------------------------------

@api("torch", "Tensor", judge="first")
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``.

    >>> import flambeau as torch
    >>> torch.isclose(torch.tensor([1., 2.]), torch.tensor([1.000001, 3.]))
    tensor([ True, False])
    """
    require_tensor(input, "isclose", "input", 1)
    require_tensor(other, "isclose", "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"{dtypes.SCALAR_NAMES[input.dtype]} did not match {dtypes.SCALAR_NAMES[other.dtype]}"
        )
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    close = eq(input, other)
    if equal_nan and input.dtype.category >= dtypes.FLOATING:
        close = close | (isnan(input) & isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if input.dtype.category < dtypes.FLOATING:
        exact = input.dtype in (dtypes.bool_, dtypes.int64, dtypes.int32)
        input, other = (x.to(dtypes.float64 if exact else dtypes.get_default_dtype()) for x in (input, other))
    allowed = atol + (rtol * other).abs()
    error = (input - other).abs()
    return close | (isfinite(error) & (error <= allowed))


@api("torch", "Tensor", judge="first")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close (see ``isclose``).

    >>> import flambeau as torch
    >>> torch.allclose(torch.tensor([1., 2.]), torch.tensor([1., 2.0000001]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@api("torch", "Tensor")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements.

    >>> import flambeau as torch
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    require_tensor(input, "equal", "input", 1)
    require_tensor(other, "equal", "other", 2)
    if input._geometry.device != other._geometry.device:
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           f"{input.device} and {other.device}!")
    if input.shape != other.shape:
        return False
    arrays = known_arrays((input, other))
    if arrays is not None:
        values_read[0] += 1
        return bool(np.count_nonzero(arrays[0] == arrays[1]) == input._geometry.numel)
    return bool(eq(input, other).all())


# --- where --------------------------------------------------------------------------------------------------

def _where_geometry(operands: Sequence[Any], attributes: Any) -> Geometry:
    condition = operands[0]
    if condition.dtype is not dtypes.bool_ and condition.dtype is not dtypes.uint8:
        raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                           f"{dtypes.SCALAR_NAMES[condition.dtype]}")
    return pointwise_geometry(operands, result_dtype(operands[1:]), counts=True)


def _where_kernel(m: Any, condition: Any, input: Any, other: Any) -> Any:
    if condition.dtype != m.bool_:
        condition = condition != 0
    first, second = m.alike(input, other)
    return m.where(condition, first, second)


WHERE = Operator("where", _where_kernel, _where_geometry, ("condition", "input", "other"), kind="choice")
WHERE.on_stacks = OnStacks()


@WHERE.derivative("input", keeps="condition")
def _(ctx: Any, grad: Tensor, condition: Tensor) -> Tensor:
    return record(WHERE, (condition, grad, 0))


@WHERE.derivative("other", keeps="condition")
def _(ctx: Any, grad: Tensor, condition: Tensor) -> Tensor:
    return record(WHERE, (condition, 0, grad))


_ABSENT: Any = object()


@api("torch", out=Out("Expected out type to be {Result} but got {Out}", apart="pointwise"))
def where(condition: Tensor, input: Any = _ABSENT, other: Any = _ABSENT) -> Any:
    """``input`` where the condition holds, else ``other``; of a condition alone the indices where it holds.

    >>> import flambeau as torch
    >>> torch.where(torch.tensor([True, False]), torch.tensor([1., 2.]), 0)
    tensor([1., 0.])
    """
    if input is _ABSENT and other is _ABSENT:
        return condition.nonzero(as_tuple=True)
    if condition.__class__ is Tensor and condition._geometry.dtype is dtypes.uint8:
        warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
             "future version of PyTorch. Use a boolean condition instead.")
    if not isinstance(condition, Tensor):
        given = ", ".join(type(x).__name__ for x in (condition, input, other))
        raise TypeError(
            f"where() received an invalid combination of arguments - got ({given}), but expected one of:\n"
            " * (Tensor condition)\n * (Tensor condition, Tensor input, Tensor other, *, Tensor out = None)\n"
            " * (Tensor condition, Number self, Tensor other)\n * (Tensor condition, Tensor input, Number "
            "other)\n * (Tensor condition, Number self, Number other)\n"
        )
    input, other = operand(input, "where", "input", 2), operand(other, "where", "other", 3)
    if not isinstance(other, Tensor):
        _require_range(other, input)
    elif not isinstance(input, Tensor):
        _require_range(input, other)
    return record(WHERE, (condition, input, other))


def _require_range(number: Any, x: Any) -> None:
    """Refuse a number chosen from beside a tensor that does not fit its type, if that is the result's."""
    dtype = x._geometry.dtype if isinstance(x, Tensor) else None
    least = dtypes.FLOATING if isinstance(number, float) else dtypes.INTEGER
    if dtype is not None and dtype.category >= least and not isinstance(number, complex):
        check_number(number, dtype)


@api("Tensor", name="where")
def _where_method(self: Any, condition: Any, other: Any) -> Tensor:
    """``self`` where ``condition`` holds, else ``other``.

    >>> import flambeau as torch
    >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), 0)
    tensor([1, 0])
    """
    return where(condition, self, other)
