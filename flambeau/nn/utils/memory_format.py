"""Laying the weights of convolutions out in memory with the channels last."""

from __future__ import annotations

from typing import Any

from ..modules.conv import _ConvNd

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, memory_format: Any, spatial_dims: int) -> Any:
    for layer in module.modules():
        if isinstance(layer, _ConvNd) and layer._spatial_dims == spatial_dims:
            layer.weight.data = layer.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Store the weights of all 2-D convolutions below `module` in a memory format; return the module.

    >>> import flambeau as torch
    >>> convert = torch.nn.utils.convert_conv2d_weight_memory_format
    >>> convert(torch.nn.Conv2d(3, 4, 2), torch.channels_last).weight.stride()
    (12, 1, 6, 3)
    """
    return _convert(module, memory_format, 2)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Store the weights of all 3-D convolutions below `module` in a memory format; return the module.

    >>> import flambeau as torch
    >>> convert = torch.nn.utils.convert_conv3d_weight_memory_format
    >>> convert(torch.nn.Conv3d(3, 4, 2), torch.channels_last_3d).weight.stride()
    (24, 1, 12, 6, 3)
    """
    return _convert(module, memory_format, 3)
