"""Which element types an operator takes, and functions whose operands must all be tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from ...dtypes import BOOL, COMPLEX, FLOATING, INTEGER, LOW_PRECISION, SCALAR_NAMES, dtype
from ...graph.operator import Operator
from ...tensor import Tensor, record
from ...tensor.construct import tensor as scalar
from ..calls.out import CONVERTED, Out, refuse_aliases, store
from .definition import operand, pointwise_operator, result_dtype
from .registry import api

if TYPE_CHECKING:
    from ...graph.operator import Price

INTEGRAL = (BOOL, INTEGER)
NOT_FLOATING = (BOOL, INTEGER, COMPLEX)
NOT_INTEGRAL = (FLOATING, COMPLEX)


def not_implemented(kernel: str, d: dtype) -> NotImplementedError:
    """PyTorch's error for an element type that a kernel does not take."""
    return NotImplementedError(f'"{kernel}" not implemented for \'{SCALAR_NAMES[d]}\'')


def refuse(
    op: Operator,
    kernel: str,
    *categories: int,
    message: str = "",
    error: type[Exception] = NotImplementedError,
    first_only: bool = False,
    types: frozenset[dtype] = frozenset(),
) -> None:
    """Let ``op`` raise for operands whose common type is of one of ``categories``, or one of ``types``.

    ``kernel`` is the name PyTorch's message gives; ``message`` replaces the message.
    """
    infer = op.infer

    def checked(operands: Sequence[Any], attributes: tuple[Any, ...]) -> Any:
        inferred = None if message else infer(operands, attributes)     # shapes are looked at before types
        found = operands[0].dtype if first_only else result_dtype(operands)
        if found.category in categories or found in types:
            raise error(message) if message else not_implemented(kernel, found)
        return inferred if inferred is not None else infer(operands, attributes)
    op.infer = checked


def require_tensor(value: Any, function: str, argument: str, position: int) -> None:
    """PyTorch's TypeError for an argument that is not a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be Tensor, not "
                        f"{type(value).__name__}")


def operands(function: str, input: Any, other: Any, second: str = "other") -> tuple[Any, Any]:
    """Two operands, at least one a tensor; PyTorch's TypeError for what is neither tensor nor number."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise bad_arguments(function, input, other)
    return operand(input, function, "input", 1), operand(other, function, second, 2)


def some_tensor(input: Any, other: Any) -> Any:
    """``input``, as a 0-dim tensor where both operands are numbers: a few functions take two numbers."""
    return input if isinstance(input, Tensor) or isinstance(other, Tensor) else scalar(input)


def bad_arguments(function: str, *arguments: Any) -> TypeError:
    """PyTorch's error for arguments that fit no form of a function."""
    given = ", ".join(type(a).__name__ for a in arguments)
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({given}), but expected one of:\n"
        " * (Tensor input, Tensor other, *, Tensor out = None)\n"
        " * (Tensor input, Number other, *, Tensor out = None)\n"
    )


def of_tensors(*namespaces: str, promotes: str = "same", inplace: bool = True, aliases: tuple[str, ...] = (),
               second: str = "other", price: Price | None = None,
               out: Out = CONVERTED) -> Callable[[Callable[..., Any]], Any]:
    """Declare a pointwise operator of two tensors; numbers are refused (see ``pointwise``)."""
    asks = out

    def declare(kernel: Callable[..., Any]) -> Any:
        public_name = kernel.__name__
        op = pointwise_operator(public_name, kernel, promotes, price=price, casts=True)

        def function(input: Any, other: Any, *, out: Any = None) -> Any:
            if not isinstance(input, Tensor) or not isinstance(other, Tensor):
                require_tensor(input, public_name, "input", 1)
                require_tensor(other, public_name, second, 2)
            result = record(op, (input, other))
            if out is None:
                return result
            refuse_aliases((input, other), out, "pointwise")
            return store(result, out, public_name, asks)
        function.__name__ = function.__qualname__ = public_name
        function.__doc__ = kernel.__doc__
        function.__module__ = kernel.__module__
        offered: Any = function if second == "other" else _called(function, second)
        offered.operator = op
        offered.derivative = op.derivative
        api(*(namespaces or ("torch", "Tensor")), inplace=inplace, aliases=aliases)(offered)
        return offered
    return declare


def _called(function: Callable[..., Any], second: str) -> Callable[..., Any]:
    """``function`` with its ``other`` by another name."""
    @wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        if second in kwargs:
            kwargs["other"] = kwargs.pop(second)
        return function(*args, **kwargs)
    return named


__all__ = [
    "BOOL",
    "COMPLEX",
    "FLOATING",
    "INTEGER",
    "INTEGRAL",
    "LOW_PRECISION",
    "NOT_FLOATING",
    "NOT_INTEGRAL",
    "bad_arguments",
    "not_implemented",
    "of_tensors",
    "operands",
    "refuse",
    "require_tensor",
]
