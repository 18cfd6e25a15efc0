"""Forward-mode differentiation: dual tensors that carry a tangent along.

Note: forward mode. A tangent is not pushed through each operator. It is found when asked for, by
differentiating twice: with g(u) the gradient of the output by the dual inputs for the weights u, the
tangent is the derivative of g(u) by u in the direction of the inputs' tangents. That needs nothing from an
operator but its derivative, and costs two backward passes. While a level is open, dual tensors show
``requires_grad=True``. A ``Function`` that defines ``jvp`` is asked for its outputs' tangents at once;
gradients do not flow back through it then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import dtypes
from ..operators.representation import descriptions, history_suffixes
from ..tensor import Tensor
from .backward import grad
from .grad_mode import enable_grad


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent (None where no dual tensor took part)."""

    primal: Tensor
    tangent: Any


class _Level:
    """The dual inputs of one level."""

    def __init__(self) -> None:
        self.roots: list[tuple[Tensor, Tensor]] = []
        self.differentiable = False  # whether a primal or tangent requires gradients itself


levels: list[_Level] = []


def enter_dual_level() -> int:
    """Open a level; levels do not nest."""
    if levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    levels.append(_Level())
    return len(levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: its tangents are gone."""
    if not levels:
        raise RuntimeError("Trying to exit a forward AD level but no level exists, make sure to "
                           "enter_dual_level() first.")
    levels.pop()


class dual_level:
    """A level for the length of a block.

    >>> import flambeau as torch
    >>> import flambeau.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor([1., 2.]), torch.tensor([1., 0.]))
    ...     print(fwAD.unpack_dual(x * x).tangent)
    tensor([2., 0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """``tensor`` with a tangent of its shape and type, for the open level."""
    if not levels:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                           "enter_dual_level() first.")
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if x.dtype.category < dtypes.FLOATING:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {x.dtype!r}")
    if tensor.shape != tangent.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the "
                           "original Tensor, "
                           f"this is not supported. Tensor is of size {list(tensor.shape)} while the given "
                           "forward gradient "
                           f"is of size {list(tangent.shape)}.")
    current = levels[-1]
    if any(dual is tensor for dual, _ in current.roots):
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at "
                           f"the same level {len(levels) - 1} is not supported.")
    current.differentiable |= tensor.requires_grad or tangent.requires_grad
    with enable_grad():
        dual = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    current.roots.append((dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor's value and tangent."""
    if not isinstance(tensor, Tensor):
        raise TypeError("_unpack_dual(): argument 'dual' (position 1) must be Tensor, not "
                        f"{type(tensor).__name__}")
    if not levels:
        return UnpackedDualTensor(tensor, None)
    current = levels[-1]
    primal = tensor if current.differentiable else tensor.detach()
    for dual, tangent in current.roots:
        if dual is tensor:
            return UnpackedDualTensor(primal, tangent)
    if not tensor.requires_grad or not current.roots:
        return UnpackedDualTensor(primal, None)
    return UnpackedDualTensor(primal, _push(tensor, current))


def _describe(tensor: Tensor) -> list[str] | None:
    """For ``repr``: the tangent, and the history only if it is not one for the tangent's sake."""
    if not levels or not tensor.requires_grad:
        return None
    tangent = unpack_dual(tensor).tangent
    if tangent is None:
        return None
    shown = levels[-1].differentiable and tensor.grad_fn is not None
    history = history_suffixes(tensor) if shown else []
    return [*history, f"tangent={tangent}"]


descriptions.append(_describe)


def _push(output: Tensor, current: _Level) -> Any:
    """The tangent of an output (Note: forward mode)."""
    with enable_grad():
        # Any weights would do. Rules that take logarithms of gradients can be differentiated at 1, not at 0.
        weights = (_zeros(output) + 1).requires_grad_()
        duals = [dual for dual, _ in current.roots]
        found = grad(output, duals, weights, create_graph=True, allow_unused=True)
        used = [(g, tangent) for g, (_, tangent) in zip(found, current.roots) if g is not None]
        if not used:
            return None
        varying = [(g, tangent) for g, tangent in used if g.requires_grad]
        if not varying:
            return _zeros(output)
        pushed = grad([g for g, _ in varying], weights, [tangent for _, tangent in varying],
                      create_graph=current.differentiable, retain_graph=True, allow_unused=True)[0]
    return _zeros(output) if pushed is None else pushed


def _zeros(output: Tensor) -> Tensor:
    """Zeros like an output, each example's own under vmap."""
    return output.detach().new_zeros(output.shape)


def custom_tangents(function: Any, ctx: Any, args: tuple[Any, ...], outputs: list[Any]) -> list[Any]:
    """Outputs of a Function with a ``jvp``, as dual tensors with the tangents that it gives."""
    tangents = [unpack_dual(a).tangent if isinstance(a, Tensor) else None for a in args]
    if all(t is None for t in tangents):
        return outputs
    given = function.jvp(ctx, *tangents)
    several = given if isinstance(given, tuple) else (given,)
    return [make_dual(x.detach(), t) if isinstance(x, Tensor) and t is not None else x
            for x, t in zip(outputs, several)]
