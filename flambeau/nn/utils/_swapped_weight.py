"""The base of the hooks that compute a weight before each forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ...tensor import Tensor


class WeightHook:
    """A forward pre-hook that computes the attribute `name` of a module from other parameters."""

    name: str
    # Called with the module, returns the weight for the coming forward.
    compute_weight: Callable[..., Tensor]

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    @classmethod
    def find(cls, module: Any, name: str) -> tuple[int, Self] | None:
        """Return the hook of this kind on `name`, with its id."""
        for hook_id, hook in module._forward_pre_hooks.items():
            if isinstance(hook, cls) and hook.name == name:
                return hook_id, hook
        return None
