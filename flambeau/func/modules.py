"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import operators
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..nn.utils import stateless
from ..tensor import Tensor


def functional_call(module: Module,
                    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
                    args: Any = None, kwargs: dict[str, Any] | None = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    >>> import flambeau as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> values = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, values, torch.tensor([[1., 2.]]))
    tensor([[3.]])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        values = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(each, dict) for each in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        values = {}
        for each in parameter_and_buffer_dicts:
            repeated = [name for name in values if name in each]
            if repeated:
                raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call "
                                 "is ambiguous")
            values.update(each)
    else:
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but "
                         f"got {type(parameter_and_buffer_dicts)}")
    return stateless.call_with(module, values, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of equal modules, stacked along a new first dimension.

    >>> import flambeau as torch
    >>> params, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3) for _ in range(5)])
    >>> params["weight"].shape
    torch.Size([5, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not all(model.training == models[0].training for model in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {name: _stack(name, [dict(model.named_parameters())[name] for model in models])
                  for name, _ in models[0].named_parameters()}
    buffers = {name: operators.stack([dict(model.named_buffers())[name] for model in models])
               for name, _ in models[0].named_buffers()}
    return parameters, buffers


def _stack(name: str, tensors: list[Tensor]) -> Tensor:
    if len({t.requires_grad for t in tensors}) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    joined: Tensor = operators.stack(tensors)
    return joined.detach().requires_grad_() if all(t.is_leaf and t.requires_grad for t in tensors) else joined


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Switch off the running statistics of all batch normalizations, in place.

    >>> import flambeau as torch
    >>> model = torch.func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
    >>> model[0].track_running_stats, model[0].running_mean is None
    (False, True)
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
