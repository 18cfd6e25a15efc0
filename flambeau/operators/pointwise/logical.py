"""Logic on truth values and on bits, and shifts."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor, record
from ..calls.out import NO_HISTORY, UNCONVERTED
from ..declaration.definition import pointwise, pointwise_operator
from ..declaration.domain import BOOL, NOT_INTEGRAL, of_tensors, operands, refuse
from ..declaration.registry import api


@pointwise(promotes="bool", out=NO_HISTORY)
def logical_not(m: Any, input: Any) -> Any:
    """Whether elements are zero.

    >>> import flambeau as torch
    >>> torch.logical_not(torch.tensor([0, 2]))
    tensor([ True, False])
    """
    return m.logical_not(input)


@of_tensors(promotes="bool", out=NO_HISTORY)
def logical_and(m: Any, input: Any, other: Any) -> Any:
    """Whether both elements are nonzero.

    >>> import flambeau as torch
    >>> torch.logical_and(torch.tensor([0, 2]), torch.tensor([1, 1]))
    tensor([False,  True])
    """
    return m.logical_and(input, other)


@of_tensors(promotes="bool", out=NO_HISTORY)
def logical_or(m: Any, input: Any, other: Any) -> Any:
    """Whether one of the elements is nonzero.

    >>> import flambeau as torch
    >>> torch.logical_or(torch.tensor([0, 2]), torch.tensor([0, 1]))
    tensor([False,  True])
    """
    return m.logical_or(input, other)


@of_tensors(promotes="bool", out=NO_HISTORY)
def logical_xor(m: Any, input: Any, other: Any) -> Any:
    """Whether exactly one of the elements is nonzero.

    >>> import flambeau as torch
    >>> torch.logical_xor(torch.tensor([0, 2]), torch.tensor([1, 1]))
    tensor([ True, False])
    """
    return m.logical_xor(input, other)


def _bitwise(name: str, kernel: Any, pytorch_kernel: str, doc: str) -> Any:
    """Declare an operator on the bits of two integers or truth values."""
    op = pointwise_operator(name, kernel)
    refuse(op, pytorch_kernel, *NOT_INTEGRAL)

    def function(input: Any, other: Any) -> Tensor:
        return record(op, operands(name, input, other))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.operator = op  # type: ignore[attr-defined]
    return api("torch", "Tensor", out=True, inplace="pointwise")(function)


bitwise_and = _bitwise("bitwise_and", lambda m, input, other: m.bitwise_and(input, other), "bitwise_and_cpu",
                       doc="""The bits set in both.

    >>> import flambeau as torch
    >>> torch.bitwise_and(torch.tensor([6]), 3)
    tensor([2])
    """)
bitwise_or = _bitwise("bitwise_or", lambda m, input, other: m.bitwise_or(input, other), "bitwise_or_cpu",
                      doc="""The bits set in one of the two.

    >>> import flambeau as torch
    >>> torch.bitwise_or(torch.tensor([6]), 3)
    tensor([7])
    """)
bitwise_xor = _bitwise("bitwise_xor", lambda m, input, other: m.bitwise_xor(input, other), "bitwise_xor_cpu",
                       doc="""The bits set in exactly one.

    >>> import flambeau as torch
    >>> torch.bitwise_xor(torch.tensor([6]), 3)
    tensor([5])
    """)
bitwise_left_shift = _bitwise(
    "bitwise_left_shift",
    lambda m, input, other: m.shifted_left(input, other),
    "lshift_cpu",
    doc="""``input`` shifted left by ``other`` bits.

    >>> import flambeau as torch
    >>> torch.bitwise_left_shift(torch.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """,
)
bitwise_right_shift = _bitwise(
    "bitwise_right_shift",
    lambda m, input, other: m.shifted_right(input, other),
    "rshift_cpu",
    doc="""``input`` shifted right by ``other`` bits, keeping the sign.

    >>> import flambeau as torch
    >>> torch.bitwise_right_shift(torch.tensor([8, -8]), 2)
    tensor([ 2, -2])
    """,
)
for _shift, _kernel in ((bitwise_left_shift, "lshift_cpu"), (bitwise_right_shift, "rshift_cpu")):
    refuse(_shift.operator, _kernel, BOOL)


@pointwise(out=UNCONVERTED)
def bitwise_not(m: Any, input: Any) -> Any:
    """All bits flipped; of truth values the negation.

    >>> import flambeau as torch
    >>> torch.bitwise_not(torch.tensor([0, 5]))
    tensor([-1, -6])
    """
    return m.invert(input)


refuse(bitwise_not.operator, "bitwise_not_cpu", *NOT_INTEGRAL)
