"""DataParallel, for one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Call `module` on its own device; its state is saved under "module.", as PyTorch saves it.

    Splitting a batch over several devices of one process is not supported: more than one device is refused.

    >>> import flambeau as torch
    >>> list(torch.nn.DataParallel(torch.nn.Linear(2, 1)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids = list(device_ids) if device_ids is not None else []
        self.output_device = output_device
        _check_single(self.device_ids)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call `module(*inputs, **module_kwargs)` on one device."""
    _check_single(device_ids or ())
    arguments = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*arguments, **(module_kwargs or {}))


def _check_single(device_ids: Sequence[Any]) -> None:
    if len(device_ids) > 1:
        raise ValueError(
            f"DataParallel supports one device, but got device_ids={list(device_ids)}; use one process for "
            "each device instead"
        )
