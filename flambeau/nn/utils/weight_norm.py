"""Weight normalization by a hook; `parametrizations.weight_norm` supersedes it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from ..parameter import Parameter, UninitializedParameter
from ._swapped_weight import WeightHook

__all__ = ["remove_weight_norm", "weight_norm"]

norm_except_dim: Callable[..., Tensor] = ops.norm_except_dim    # programs take it from here, too


class WeightNorm(WeightHook):
    """Computes weight = g v / |v|."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """Return g v / |v|."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, 2, self.dim))


def weight_norm(module: Any, name: str = "weight", dim: int = 0) -> Any:
    """Replace a parameter by its length `<name>_g`, for each index of `dim`, and its direction `<name>_v`.

    Salimans and Kingma, 2016. `dim=None` takes one length for all.

    >>> import warnings
    >>> warnings.simplefilter("ignore", FutureWarning)
    >>> import flambeau as torch
    >>> sorted(dict(torch.nn.utils.weight_norm(torch.nn.Linear(2, 3)).named_parameters()))
    ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if WeightNorm.find(module, name) is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    if isinstance(weight, UninitializedParameter):
        raise ValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the "
            "dummy forward before applying weight normalization"
        )
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, hook.dim).data))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make the normalized weight an ordinary parameter again.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))
    >>> sorted(dict(torch.nn.utils.remove_weight_norm(layer).named_parameters()))
    ['bias', 'weight']
    """
    found = WeightNorm.find(module, name)
    if found is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    hook_id, hook = found
    weight = hook.compute_weight(module)
    delattr(module, name)
    del module._parameters[name + "_g"]
    del module._parameters[name + "_v"]
    setattr(module, name, Parameter(weight.data))
    del module._forward_pre_hooks[hook_id]
    return module
