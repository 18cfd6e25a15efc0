"""Spectral normalization by a hook; `parametrizations.spectral_norm` supersedes it."""

from __future__ import annotations

from typing import Any

from ... import linalg
from ... import operators as ops
from ...autograd import no_grad
from ...tensor import Tensor
from .. import functional as F
from ..parameter import Parameter, UninitializedParameter
from ._power_iteration import as_matrix, default_dim, iterate
from ._swapped_weight import WeightHook

__all__ = ["remove_spectral_norm", "spectral_norm"]


class SpectralNorm(WeightHook):
    """Computes weight / sigma(weight), sigma the largest singular value."""

    # Version 1 saves v besides u.
    _version = 1

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Any, iterations: int | None = None) -> Tensor:
        """Return the normalized weight; in training the singular vectors are improved first."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if iterations is None:
            iterations = self.n_power_iterations if module.training else 0
        if iterations:
            with no_grad():
                iterate(matrix, u, v, iterations, self.eps)
            # Copies, since a second forward before the backward changes u and v in place.
            u, v = u.clone(), v.clone()
        return weight / ops.dot(u, ops.mv(matrix, v))


class SpectralNormStateDictHook:
    """Notes in a saved state with which version of the hook it was written."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Converts states that were saved before v was: without it, but with the normalized weight.

    From W / sigma = `weight` follows sigma, and v from W v = sigma u in the least-squares sense.
    """

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        name = self.fn.name
        if local_metadata.get("spectral_norm", {}).get(name + ".version", 0) >= 1:
            return
        key = prefix + name
        if key not in state_dict and all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")):
            return  # of the present form, only without the note
        incomplete = False
        for suffix in ("_orig", "", "_u"):
            if key + suffix not in state_dict:
                incomplete = True
                if strict:
                    missing_keys.append(key + suffix)
        if incomplete:
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            matrix, u = as_matrix(original, self.fn.dim), state_dict[key + "_u"]
            sigma = (original / weight).mean()
            v = ops.mv(linalg.pinv(matrix), u)
            state_dict[key + "_v"] = v * (sigma / ops.dot(u, ops.mv(matrix, v)))


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a parameter by its largest singular value before each forward (Miyato et al., 2018).

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(20, 40))
    >>> layer.weight_u.shape
    torch.Size([40])
    """
    if SpectralNorm.find(module, name) is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if isinstance(weight, UninitializedParameter):
        raise ValueError(
            "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the "
            "dummy forward before applying spectral normalization"
        )
    with no_grad():
        rows, columns = as_matrix(weight, hook.dim).size()
        u = F.normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = F.normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    del module._parameters[name]
    module.register_parameter(name + "_orig", weight)
    # A plain attribute, so that copies of the module have a weight before their first forward.
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(SpectralNormStateDictHook(hook))
    module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make the normalized weight an ordinary parameter again.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2))
    >>> sorted(name for name, _ in torch.nn.utils.remove_spectral_norm(layer).named_parameters())
    ['bias', 'weight']
    """
    found = SpectralNorm.find(module, name)
    if found is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook_id, hook = found
    with no_grad():
        weight = hook.compute_weight(module, iterations=0)
    delattr(module, name)
    for suffix in ("_u", "_v", "_orig"):
        delattr(module, name + suffix)
    module.register_parameter(name, Parameter(weight.detach()))
    del module._forward_pre_hooks[hook_id]
    for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for hook_id, entry in list(table.items()):
            if getattr(getattr(entry, "hook", entry), "fn", None) is hook:
                del table[hook_id]
    return module
