"""Results of operands that require gradients but have no derivative: backward says so.

To leave them off the tape would be silent: a loss that comes of them would lack a part of its gradient, and
nobody would be told.
"""

from __future__ import annotations

from typing import Any

from ..graph.geometry import Geometry
from ..tensor import Tensor, record, state
from .definition import Operator, operator


def refuse_derivative(op: Operator, name: str, *operands: str) -> None:
    """Declare that an operator, which PyTorch calls ``name``, has no derivative."""
    op.grad_class = "NotImplemented"
    _refuse(op, RuntimeError(f"derivative for aten::{name} is not implemented"), operands)


def refuse_formula(op: Operator, name: str, *operands: str) -> None:
    """The same of an operator whose other operands may have derivatives: PyTorch tells it in other words."""
    _refuse(op, NotImplementedError(f"the derivative for '{name}' is not implemented."), operands)


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


_FOUND = {name: finding() for name in ("histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts",
                                       "_histogramdd_from_bin_tensors", "binomial")}
for _name, _op in _FOUND.items():
    refuse_derivative(_op, _name, "source")


def found_in(found: Tensor, name: str, *sources: Tensor | None) -> Tensor:
    """``found``, from which backward leads to the first of ``sources`` that requires a gradient, and tells
    there that ``name`` has no derivative."""
    for source in sources:
        if source is not None and source.requires_grad and state.enabled:
            return record(_FOUND[name], (found, source))
    return found
