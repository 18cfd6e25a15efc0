"""Forward-mode differentiation: dual tensors that carry a tangent along.

Note: forward mode. A tangent is not pushed through each operator. It is found when asked for, by
differentiating twice: with g(u) the gradient of the output by the dual inputs for the weights u, the
tangent is the derivative of g(u) by u in the direction of the inputs' tangents. That needs nothing from an
operator but its derivative, and costs two backward passes. While a level is open, dual tensors show
``requires_grad=True``. A ``Function`` that defines ``jvp`` is asked for its outputs' tangents at once;
gradients do not flow back through it then. A variable that wants gradients cannot take a tangent by being
written to: it would have to be a leaf and have a history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import dtypes
from ..graph.geometry import Geometry
from ..operators.creation.creation import zeros
from ..operators.interop.representation import descriptions, history_suffixes
from ..tensor import GradFn, Tensor, state
from ..tensor.aliasing.inplace import tangent_questions
from ..tensor.recording.history import detached, edge
from .backward import grad
from .grad_mode import enable_grad
from .graph import reached


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent (None where no dual tensor took part).

    >>> import flambeau as torch
    >>> fwAD = torch.autograd.forward_ad
    >>> fwAD.unpack_dual(torch.tensor(2.0))
    UnpackedDualTensor(primal=tensor(2.), tangent=None)
    """

    primal: Tensor
    tangent: Any


class MakeDualBackward0(GradFn):
    """Makes a dual tensor of its variable, so that it can be written in place like any result."""

    __slots__ = ("geometry",)
    geometry: Geometry

    @property
    def output_geometries(self) -> tuple[Any, ...]:
        return (self.geometry,)

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradient, as it is."""
        return grads

    def name(self) -> str:
        """What a view's history is called."""
        return "ViewBackward0"


def computed_from(variable: Tensor) -> Tensor:
    """The same values and memory, as the result of an operation: it may be written in place."""
    made = MakeDualBackward0()
    made.signature = made.plan = made.numbers = None
    made.saved, made.edges, made.geometry = (), (edge(variable),), variable._geometry
    dual = detached(variable)
    dual._grad_fn, dual._requires_grad = made, True
    return dual


class _Root(NamedTuple):
    """A dual tensor of a level: the variable it stands for, what made it, and its tangent."""

    variable: Tensor
    dual: Tensor
    made: Any
    tangent: Tensor


class _Level:
    """The dual inputs of one level."""

    def __init__(self) -> None:
        self.roots: list[_Root] = []
        self.differentiable = False  # whether a primal or tangent requires gradients itself
        self.before = state.enabled, state.quiet, state.forward
        self.mark = object()    # on tangents: the level itself would live as long as they do

    def depends_on_others(self, output: Tensor) -> bool:
        """Whether gradients flow from an output to something else than the level's own variables."""
        own = {id(root.variable) for root in self.roots}
        return any(id(variable) not in own for variable in _variables_of(output))

    def depends_on_own(self, output: Tensor) -> bool:
        """Whether gradients flow from an output to one of the level's variables."""
        own = {id(root.variable) for root in self.roots}
        return any(id(variable) in own for variable in _variables_of(output))


def _variables_of(output: Tensor) -> Iterator[Any]:
    """The variables that an output was computed from."""
    return (target for target in reached([edge(output)]) if not isinstance(target, GradFn))


levels: list[_Level] = []


def _carries_tangent(tensor: Tensor) -> bool:
    """Whether a tensor was computed from a dual tensor of the open level."""
    return bool(levels) and bool(tensor.requires_grad) and levels[-1].depends_on_own(tensor)


tangent_questions.append(_carries_tangent)


def enter_dual_level() -> int:
    """Open a level; levels do not nest.

    >>> import flambeau as torch
    >>> fwAD = torch.autograd.forward_ad
    >>> level = fwAD.enter_dual_level(); level
    0
    >>> fwAD.exit_dual_level(level=level)
    """
    if levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    levels.append(_Level())
    if not state.inference:
        state.enabled, state.quiet, state.forward = True, not state.enabled, True
    return len(levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: its tangents are gone.

    >>> import flambeau as torch
    >>> fwAD = torch.autograd.forward_ad
    >>> level = fwAD.enter_dual_level()
    >>> x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    >>> fwAD.exit_dual_level(level=level)
    >>> fwAD.unpack_dual(x).tangent is None
    True
    """
    if not levels:
        raise RuntimeError("Dual level must be a positive number.")
    state.enabled, state.quiet, state.forward = levels.pop().before


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
    """``tensor`` with a tangent of its shape and type, for the open level.

    It shares the memory of ``tensor``. A tangent of another shape raises a RuntimeError.

    >>> import flambeau as torch
    >>> fwAD = torch.autograd.forward_ad
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor(6.)
    """
    if not levels:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                           "enter_dual_level() first.")
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if x.dtype.category < dtypes.FLOATING:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {x.dtype!r}")
    if tensor.shape != tangent.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the "
                           f"original Tensor, this is not supported. Tensor is of size {list(tensor.shape)} "
                           f"while the given forward gradient is of size {list(tangent.shape)}.")
    current = levels[-1]
    if any(root.dual is tensor for root in current.roots):
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at "
                           f"the same level {len(levels) - 1} is not supported.")
    current.differentiable |= tensor.requires_grad or tangent.requires_grad
    with enable_grad():
        variable = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    dual = computed_from(variable) if type(variable) is Tensor else variable
    current.roots.append(_Root(variable, dual, dual._grad_fn, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor's value and tangent.

    >>> import flambeau as torch
    >>> fwAD = torch.autograd.forward_ad
    >>> with fwAD.dual_level():
    ...     fwAD.unpack_dual(fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0)).exp()).tangent
    tensor(7.3891)
    """
    if not levels:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError("_unpack_dual(): argument 'dual' (position 1) must be Tensor, not "
                        f"{type(tensor).__name__}")
    current = levels[-1]
    if tensor.__dict__.get("_tangent_in") is current.mark:
        return UnpackedDualTensor(tensor, None)
    differentiable = not state.quiet and (
        current.differentiable or (tensor.requires_grad and current.depends_on_others(tensor)))
    primal = tensor if differentiable else tensor.detach()
    for root in current.roots:
        if root.dual is tensor and tensor._grad_fn is root.made:
            return UnpackedDualTensor(primal, root.tangent)
    if not tensor.requires_grad or not current.roots:
        return UnpackedDualTensor(primal, None)
    tangent = _push(tensor, current, differentiable)
    return UnpackedDualTensor(primal, None if tangent is None else _without_tangent(tangent, current))


def _without_tangent(tangent: Tensor, current: _Level) -> Tensor:
    """A tangent of the level: it has none itself, though it may be computed from what has one."""
    if not current.differentiable and tangent.requires_grad and not current.depends_on_others(tangent):
        return tangent.detach()
    tangent.__dict__["_tangent_in"] = current.mark
    return tangent


def _describe(tensor: Tensor) -> list[str] | None:
    """For ``repr``: the tangent, and the history only if it is not one for the tangent's sake."""
    if not levels or not tensor.requires_grad:
        return None
    tangent = unpack_dual(tensor).tangent
    if tangent is None:
        return None
    current = levels[-1]
    outside = current.differentiable or current.depends_on_others(tensor)
    shown = not state.quiet and outside and tensor.grad_fn is not None
    history = history_suffixes(tensor) if shown else []
    return [*history, f"tangent={tangent}"]


descriptions.append(_describe)


def _push(output: Tensor, current: _Level, differentiable: bool) -> Any:
    """The tangent of an output (Note: forward mode)."""
    with enable_grad():
        # Any weights would do. Rules that take logarithms of gradients can be differentiated at 1, not at 0.
        weights = (_zeros(output) + 1).requires_grad_()
        variables = [root.variable for root in current.roots]
        found = grad(output, variables, weights, create_graph=True, allow_unused=True)
        used = [(g, root.tangent) for g, root in zip(found, current.roots) if g is not None]
        if not used:
            return None
        varying = [(g, tangent) for g, tangent in used if g.requires_grad]
        if not varying:
            return _zeros(output)
        pushed = grad([g for g, _ in varying], weights, [tangent for _, tangent in varying],
                      create_graph=differentiable, retain_graph=True, allow_unused=True)[0]
    return _zeros(output) if pushed is None else pushed


def _zeros(output: Tensor) -> Tensor:
    """Zeros like an output, each example's own under vmap."""
    return output.detach().new_zeros(output.shape)


def transposed(function: Any, ctx: Any, grads: list[Any], arguments: list[Any]) -> tuple[Any, ...]:
    """The gradients of a Function's arguments by its ``jvp``, which is linear: what it gives backward."""
    tangents = [zeros(g.shape, dtype=g.dtype, requires_grad=True) if wanted else None
                for g, wanted in zip(arguments, ctx._needs_input_grad)]
    before = ctx._saved_entries
    if ctx._for_forward:        # which is what ``jvp`` is shown, if there is any
        ctx._saved_entries = None
    try:
        given = function.jvp(ctx, *tangents)
    finally:
        ctx._saved_entries = before
    several = given if isinstance(given, tuple) else (given,)
    pairs = [(y, g) for y, g in zip(several, grads) if isinstance(y, Tensor) and y.requires_grad]
    wanted = [t for t in tangents if t is not None]
    found = iter(grad([y for y, _ in pairs], wanted, [g for _, g in pairs], create_graph=True,
                      materialize_grads=True))
    return tuple([None if t is None else next(found) for t in tangents])


def custom_tangents(function: Any, ctx: Any, args: tuple[Any, ...], outputs: list[Any]) -> list[Any]:
    """Outputs of a Function with a ``jvp``, as dual tensors with the tangents that it gives."""
    tangents = [unpack_dual(a).tangent if isinstance(a, Tensor) else None for a in args]
    if all(t is None for t in tangents):
        return outputs
    given = function.jvp(ctx, *tangents)
    several = given if isinstance(given, tuple) else (given,)
    several = tuple([_without_tangent(t, levels[-1]) if isinstance(t, Tensor) else t for t in several])
    return [make_dual(x.detach(), t) if isinstance(x, Tensor) and t is not None else x
            for x, t in zip(outputs, several)]
