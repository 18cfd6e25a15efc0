"""Results of operands that require gradients but have no derivative: backward says so.

To leave them off the tape would be silent: a loss that comes of them would lack a part of its gradient, and
nobody would be told.
"""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry
from ...tensor import Tensor, record, state
from .definition import Operator, operator


def refuse_derivative(op: Operator, name: str, *operands: str) -> None:
    """Declare that an operator, which PyTorch calls ``name``, has no derivative."""
    refuse_in_words(op, f"derivative for aten::{name} is not implemented", *operands)


def refuse_in_words(op: Operator, message: str, *operands: str) -> None:
    """The same, in words of its own."""
    op.grad_class = "NotImplemented"
    _refuse(op, RuntimeError(message), operands)


def refuse_formula(op: Operator, name: str, *operands: str) -> None:
    """The same of an operator whose other operands may have derivatives: PyTorch tells it in other words."""
    _refuse(op, NotImplementedError(f"the derivative for '{name}' is not implemented."), operands)


def require_constant(function: str, **operands: Any) -> None:
    """Raise where an operand wants a gradient that PyTorch's ``function`` does not give."""
    for name, x in operands.items():
        if state.enabled and isinstance(x, Tensor) and x.requires_grad:
            raise RuntimeError(f"The function '{function}' is not differentiable with respect to argument "
                               f"'{name}'. This input cannot have requires_grad True.")


def _refuse(op: Operator, error: Exception, operands: tuple[str, ...]) -> None:
    def derivative(ctx: Any, grad: Tensor, *kept: Any) -> Tensor:
        raise type(error)(*error.args)

    for each in operands:
        op.derivative(each)(derivative)


# --- results that a look has found --------------------------------------------------------------------------


def _geometry_of_found(operands: Any, attributes: Any) -> Geometry:
    found: Geometry = operands[0]
    return found


def finding(grad_name: str | None = None) -> Operator:
    """The operator of what was found, as a result that depends on where it was found."""
    return operator("found_in", _geometry_of_found, grad_name=grad_name)(lambda m, found, source: found)


def finding_without_derivative(name: str) -> Operator:
    """The same of what PyTorch's function ``name`` finds, which has no derivative."""
    found = finding()
    refuse_derivative(found, name, "source")
    return found


def found_in(found: Tensor, op: Operator, *sources: Tensor | None) -> Tensor:
    """``found``, from which backward leads to the first of ``sources`` that requires a gradient.

    There ``op``, made by ``finding``, tells that it has no derivative.
    """
    for source in sources:
        if source is not None and source.requires_grad and state.enabled:
            return record(op, (found, source))
    return found
