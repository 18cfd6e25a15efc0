"""Jacobians for ``gradcheck``: by differences, by reverse mode and by forward mode.

A Jacobian is a matrix of a row for each element of an input and a column for each element of an output. That
of a real function of a complex input x = a + ib has df/da + i df/db, which is what ``grad`` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..operators.creation.creation import eye, zeros
from ..operators.shapes.joining import stack
from ..tensor import Tensor
from . import forward_ad
from .backward import grad
from .grad_mode import enable_grad

Inputs = tuple[Any, ...]
Checked = Callable[[Inputs], list[Tensor]]


def outputs_of(found: Any) -> list[Tensor]:
    """The part of a function's result that can be differentiated."""
    several = found if isinstance(found, (tuple, list)) else (found,)
    return [x for x in several if isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())]


def _replaced(inputs: Inputs, x: Tensor, other: Tensor) -> Inputs:
    """The inputs with another tensor wherever x is."""
    return tuple(other if y is x else y for y in inputs)


def _moved(fn: Checked, inputs: Inputs, x: Tensor, step: Tensor) -> list[Tensor]:
    """The outputs at x + step."""
    moved = (x.detach() + step).requires_grad_()
    with enable_grad():
        return [out.detach().clone() for out in fn(_replaced(inputs, x, moved))]


def slopes(fn: Checked, inputs: Inputs, x: Tensor, direction: Tensor, eps: float) -> list[Tensor]:
    """The outputs' central differences along a direction of x."""
    ahead, behind = (_moved(fn, inputs, x, direction * step) for step in (eps, -eps))
    return [(a - b) / (2 * eps) for a, b in zip(ahead, behind)]


def tangents(fn: Checked, inputs: Inputs, x: Tensor, direction: Tensor) -> list[Tensor]:
    """The outputs' derivatives along a direction of x, by forward mode."""
    with forward_ad.dual_level(), enable_grad():
        dual = forward_ad.make_dual(x.detach().requires_grad_(), direction)
        pairs = [(out, forward_ad.unpack_dual(out).tangent) for out in fn(_replaced(inputs, x, dual))]
        return [(out * 0 if tangent is None else tangent).detach() for out, tangent in pairs]


def units(x: Tensor, factor: complex = 1) -> Iterator[Tensor]:
    """The directions of the elements of x, one after the other."""
    for row in _identity(x).unbind():
        yield row * factor


def _identity(x: Tensor) -> Tensor:
    """The directions of all elements of x: (numel, *shape)."""
    n = x.numel()
    return eye(n, dtype=x.dtype).reshape(n, *x.shape)


def along(x: Tensor, factor: complex, outputs: Sequence[Tensor],
          derivative: Callable[[Tensor], list[Tensor]]) -> list[Tensor]:
    """Jacobians of all outputs, row by row: ``derivative`` gives the outputs' along a direction of x."""
    rows = [derivative(direction) for direction in units(x, factor)]
    if not rows:
        return [zeros(0, out.numel(), dtype=out.dtype) for out in outputs]
    return [stack([row[i].reshape(-1) for row in rows]) for i in range(len(outputs))]


def numerical(fn: Checked, inputs: Inputs, x: Tensor, outputs: Sequence[Tensor], eps: float) -> list[Tensor]:
    """Jacobians of real outputs by differences."""
    found = [along(x, factor, outputs, lambda v: slopes(fn, inputs, x, v, eps))
             for factor in ((1, 1j) if x.is_complex() else (1,))]
    return found[0] if len(found) == 1 else [a + 1j * b for a, b in zip(*found)]


def gradient(output: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """The gradient for a weight of the output, zero where x plays no part."""
    found = grad(output, x, weight, retain_graph=True, allow_unused=True)[0] if output.requires_grad else None
    return x.detach() * 0 if found is None else found.detach()


def analytical(output: Tensor, x: Tensor) -> Tensor:
    """The Jacobian by reverse mode, column by column."""
    columns = [gradient(output, x, weight).reshape(-1) for weight in units(output.detach())]
    return stack(columns, 1) if columns else zeros(x.numel(), 0, dtype=x.dtype)


def analytical_at_once(output: Tensor, x: Tensor) -> Tensor:
    """The same by one batched pass."""
    weights = _identity(output.detach())
    found = grad(output, x, weights, retain_graph=True, allow_unused=True, is_grads_batched=True)[0]
    return analytical(output, x) if found is None else found.detach().reshape(output.numel(), x.numel()).t()


def forward_at_once(fn: Checked, inputs: Inputs, x: Tensor, i: int) -> Tensor:
    """The Jacobian of output i by forward mode, all rows in one pass."""
    from ..func import jvp, vmap  # made of autograd

    def one(direction: Tensor) -> Any:
        return jvp(lambda y: fn(_replaced(inputs, x, y))[i], (x.detach(),), (direction,))[1]
    rows: Tensor = vmap(one)(_identity(x.detach()))
    return rows.detach().reshape(x.numel(), -1)
