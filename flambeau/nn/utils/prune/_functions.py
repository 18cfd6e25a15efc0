"""Pruning a parameter of a module, or parameters of several modules together; making it permanent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .... import operators as ops
from ....tensor import Tensor
from ...modules.module import Module
from ._base import BasePruningMethod, PruningContainer, hook_on
from ._methods import (
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones, without pruning anything.

    >>> import flambeau as torch
    >>> sorted(torch.nn.utils.prune.identity(torch.nn.Linear(2, 3), "bias").state_dict())
    ['bias_mask', 'bias_orig', 'weight']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune `amount` entries of a parameter, a number (int) or a fraction (float), at random.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 3), "weight", amount=2)
    >>> int(layer.weight_mask.sum())
    4
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the `amount` entries of a parameter that are smallest, or have the smallest scores.

    >>> import flambeau as torch
    >>> layer = torch.nn.Linear(3, 1, bias=False)
    >>> layer.weight.data = torch.tensor([[3.0, -1.0, 2.0]])
    >>> torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=1).weight_mask
    tensor([[1., 0., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune `amount` channels of a parameter along `dim` at random.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.prune.random_structured(torch.nn.Linear(4, 3), "weight", amount=2, dim=1)
    >>> int(layer.weight_mask.sum())
    6
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the `amount` channels of a parameter along `dim` with the smallest `n`-norm.

    >>> import flambeau as torch
    >>> layer = torch.nn.Linear(2, 2, bias=False)
    >>> layer.weight.data = torch.tensor([[3.0, 1.0], [2.0, 1.0]])
    >>> torch.nn.utils.prune.ln_structured(layer, "weight", amount=0.5, n=2, dim=1).weight_mask
    tensor([[1., 0.],
            [1., 0.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Any,
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one vector; `parameters` are pairs of module and name.

    >>> import flambeau as torch
    >>> from flambeau.nn.utils import prune
    >>> a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=4)
    >>> int(a.weight_mask.sum() + b.weight_mask.sum())
    2
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs: list[tuple[Module, str]] = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    values = [getattr(module, name) for module, name in pairs]
    flat = ops.cat([scores.get(pair, value).reshape(-1) for pair, value in zip(pairs, values, strict=True)])
    masks = [
        getattr(module, name + "_mask", ops.ones_like(value))
        for (module, name), value in zip(pairs, values, strict=True)
    ]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    default = ops.cat([mask.reshape(-1) for mask in masks])
    mask = PruningContainer(method).compute_mask(flat, default)
    parts = ops.split(mask, [value.numel() for value in values])
    for (module, name), value, part in zip(pairs, values, parts, strict=True):
        custom_from_mask(module, name, mask=part.view_as(value))


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter where `mask` is zero.

    >>> import flambeau as torch
    >>> layer = torch.nn.Linear(2, 3)
    >>> layer = torch.nn.utils.prune.custom_from_mask(layer, "bias", torch.tensor([0, 1, 0]))
    >>> layer.bias_mask
    tensor([0., 1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one again; what was pruned stays zero.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 2), "weight", amount=3)
    >>> layer = torch.nn.utils.prune.remove(layer, "weight")
    >>> list(layer.state_dict()), int(layer.weight.count_nonzero())
    (['bias', 'weight'], 1)
    """
    found = hook_on(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    hook_id, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[hook_id]
    return module


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of the module, or of a module in it, is pruned.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(2, 2), "weight")
    >>> torch.nn.utils.prune.is_pruned(torch.nn.Sequential(layer, torch.nn.ReLU()))
    True
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for _, inner in module.named_modules()
        for hook in inner._forward_pre_hooks.values()
    )
