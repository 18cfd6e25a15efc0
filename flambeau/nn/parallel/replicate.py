"""``replicate``: a module once for each device."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeVar

from ...tensor import Tensor
from ..modules.module import Module

__all__ = ["replicate"]

T = TypeVar("T", bound=Module)


def replicate(network: T, devices: Sequence[Any], detach: bool = False) -> list[T]:
    """Copies of the structure of ``network``, one for each device, with gradients that reach its parameters.

    A copy's parameters are copies of ``network``'s (views of them where the device is the same), and not
    leaves. With ``detach`` they have no history.

    >>> import flambeau as torch
    >>> from flambeau.nn.parallel import replicate
    >>> net = torch.nn.Linear(2, 1)
    >>> first, second = replicate(net, ["cpu", "cpu"])
    >>> (first(torch.ones(1, 2)) + second(torch.ones(1, 2))).backward()
    >>> net.weight.grad
    tensor([[2., 2.]])
    """
    return [_copy(network, device, detach) for device in devices]


def _copy(network: T, device: Any, detach: bool) -> T:
    made: dict[int, Module] = {}
    for module in network.modules():
        twin = made[id(module)] = copy.copy(module)
        twin.__dict__ = {
            name: value.copy() if name in ("_parameters", "_buffers", "_modules") else value
            for name, value in module.__dict__.items()
        }
    for module in network.modules():
        twin = made[id(module)]
        for name, child in module._modules.items():
            twin._modules[name] = None if child is None else made[id(child)]
        for name, buffer in module._buffers.items():
            twin._buffers[name] = None if buffer is None else buffer.detach().to(device)
        for name, parameter in module._parameters.items():
            twin._parameters[name] = None if parameter is None else _moved(parameter, device, detach)
    return made[id(network)]  # type: ignore[return-value]


def _moved(parameter: Tensor, device: Any, detach: bool) -> Any:
    moved = parameter.to(device)
    if detach:
        return moved.detach()
    return moved.view_as(moved) if moved is parameter else moved
