"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ... import operators as ops
from ...tensor import Tensor
from ...tensor.typename import typename

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_same_device(parameters: list[Tensor]) -> None:
    if len({parameter.device for parameter in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all values as one vector, in the parameters' order.

    >>> import flambeau as torch
    >>> torch.nn.utils.parameters_to_vector(torch.nn.Linear(2, 3).parameters()).shape
    torch.Size([9])
    """
    every = list(parameters)
    _check_same_device(every)
    return ops.cat([parameter.view(-1) for parameter in every])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the values of a vector, in their order.

    >>> import flambeau as torch
    >>> layer = torch.nn.Linear(1, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (1.0, 2.0)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    every = list(parameters)
    _check_same_device(every)
    start = 0
    for parameter in every:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
