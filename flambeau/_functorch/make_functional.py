"""Modules as functions of their parameters, in functorch's older form."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

from .. import operators as ops
from ..func.modules import functional_call
from ..nn import Module, Parameter
from ..tensor import Tensor

Tensors = tuple[Tensor, ...]


def _deprecated(old: str, new: str) -> None:
    warnings.warn(
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{old}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of "
        f"PyTorch >= 2.3. Please use `torch.func.{new}` instead; see the PyTorch 2.0 release notes and/or "
        "the `torch.func` migration guide for more details "
        "https://pytorch.org/docs/main/func.migrating.html", FutureWarning, stacklevel=3)


def _parts(named: Any, disable_autograd_tracking: bool) -> tuple[tuple[str, ...], Tensors]:
    """Names and copies; a copy of a parameter is one, too."""
    names, values = [], []
    for name, x in named:
        names.append(name)
        made = x.detach().clone()
        if isinstance(x, Parameter):
            made = Parameter(made, requires_grad=x.requires_grad and not disable_autograd_tracking)
        values.append(made)
    return tuple(names), tuple(values)


class FunctionalModuleWithBuffers(Module):
    """A module whose call takes its parameters and buffers first."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...],
                 buffer_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.buffer_names = buffer_names

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers)))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """A module without buffers whose call takes its parameters first."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        return functional_call(self.stateless_model, dict(zip(self.param_names, params)), args, kwargs)


def _stateless(model: Module) -> Module:
    """A copy whose own values nobody needs: they lie on no device."""
    return copy.deepcopy(model).to("meta")


def make_functional(model: Module, disable_autograd_tracking: bool = False,
                    ) -> tuple[FunctionalModule, Tensors]:
    """A module without buffers as a function, and copies of its parameters.

    >>> import flambeau as torch
    >>> from flambeau._functorch.make_functional import make_functional
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> function, params = make_functional(torch.nn.Linear(2, 1))
    >>> function((torch.ones(1, 2), torch.zeros(1)), torch.ones(2)).tolist()
    [2.0]
    """
    _deprecated("make_functional", "functional_call")
    if any(True for _ in model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use "
                           "make_functional_with_buffers(model) instead.")
    names, params = _parts(model.named_parameters(), disable_autograd_tracking)
    return FunctionalModule(_stateless(model), names), params


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False,
                                 ) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A module as a function, and copies of its parameters and buffers.

    >>> import flambeau as torch
    >>> from flambeau._functorch.make_functional import make_functional_with_buffers
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> function, params, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(2).eval())
    >>> function(params, (torch.ones(2), *buffers[1:]), torch.ones(1, 2)).tolist()
    [[0.0, 0.0]]
    """
    _deprecated("make_functional_with_buffers", "functional_call")
    names, params = _parts(model.named_parameters(), disable_autograd_tracking)
    buffer_names, buffers = _parts(model.named_buffers(), disable_autograd_tracking)
    return FunctionalModuleWithBuffers(_stateless(model), names, buffer_names), params, buffers


def combine_state_for_ensemble(models: Sequence[Module],
                               ) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """One function for several models of a class, for ``vmap`` over their stacked parameters and buffers.

    >>> import flambeau as torch
    >>> from flambeau._functorch.make_functional import combine_state_for_ensemble
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> models = [torch.nn.Linear(2, 1) for _ in range(3)]
    >>> function, params, buffers = combine_state_for_ensemble(models)
    >>> torch.func.vmap(function, in_dims=(0, 0, None))(params, buffers, torch.ones(2)).shape
    torch.Size([3, 1])
    """
    _deprecated("combine_state_for_ensemble", "stack_module_state")
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval "
                           "mode.")
    parts = [(_parts(m.named_parameters(), True), _parts(m.named_buffers(), True)) for m in models]
    (names, _), (buffer_names, _) = parts[0]
    params = tuple(ops.stack(each).detach() for each in zip(*[own[1] for own, _ in parts]))
    buffers = tuple(ops.stack(each).detach() for each in zip(*[own[1] for _, own in parts]))
    return FunctionalModuleWithBuffers(_stateless(models[0]), names, buffer_names), params, buffers


__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "make_functional",
           "make_functional_with_buffers"]
