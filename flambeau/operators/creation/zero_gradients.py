"""Derivatives that are zero: of piecewise constant functions, and of draws by what they were drawn with."""

from __future__ import annotations

from ...graph.operator import Operator
from .creation import zeros_like


def zero_gradient(op: Operator, *names: str, holds: str = "", once: bool | None = None) -> None:
    """Declare that the gradient of the operands is zero: piecewise constant functions."""
    for each in names:
        op.derivative(each, holds=holds, once=once)(lambda ctx, grad: zeros_like(grad))


def formal_operand(op: Operator, name: str) -> None:
    """Declare that the result is a function of ``name`` too, though constant around almost every point.

    Its gradient is zero, which is not sent on where the first operand has one: ``autograd.grad`` knows.
    """
    op.derivative(name)(lambda ctx, grad: None if ctx.needs[0] else zeros_like(grad))


def draws_of(name: str, *parameters: str, grad_name: str | None = None) -> Operator:
    """The operator of draws as a result that depends on a distribution's parameters.

    Draws do not change with small changes of these: the gradients are 0.
    """
    found = Operator(name, lambda m, draws, *parameters: draws, lambda operands, attributes: operands[0],
                     ("draws", *parameters), grad_name=grad_name)
    for each in parameters:
        found.derivative(each)(lambda ctx, grad: zeros_like(grad))
    return found
