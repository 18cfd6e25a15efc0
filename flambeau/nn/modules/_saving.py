"""Saving a module's state to a flat dictionary."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from itertools import chain
from typing import Any

from ...tensor import Tensor
from ...tensor.handle import RemovableHandle, hooked
from ._traversal import ModuleTraversal

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class ModuleSaving(ModuleTraversal):
    """The part of `Module` that saves state."""

    # Raised by a layer whose saved form changes; stored per module, so that old checkpoints can be converted.
    _version: int = 1

    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]

    # -- extra state
    # ---------------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Return state to save besides tensors; override together with `set_extra_state`.

        >>> import flambeau as torch
        >>> class Counting(torch.nn.Module):
        ...     count = 3
        ...     def get_extra_state(self):
        ...         return self.count
        ...     def set_extra_state(self, state):
        ...         self.count = state
        >>> counting = Counting()
        >>> dict(counting.state_dict())
        {'_extra_state': 3}
        >>> counting.load_state_dict({"_extra_state": 7})
        <All keys matched successfully>
        >>> counting.count
        7
        """
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please file an "
            "issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this "
            "bug."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned, where there is an example; override together with it.

        >>> import flambeau as torch
        >>> class Counter(torch.nn.Module):
        ...     count = 0
        ...     def get_extra_state(self):
        ...         return self.count
        ...     def set_extra_state(self, state):
        ...         self.count = state
        >>> counter = Counter()
        >>> _ = counter.load_state_dict({"_extra_state": 3})
        >>> counter.count
        3
        """
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please file an "
            "issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this "
            "bug."
        )

    # -- saving
    # --------------------------------------------------------------------------------------------------

    def _persistent_buffers(self) -> dict[str, Tensor | None]:
        return {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the members of this module alone, without its children, into `destination`."""
        for name, tensor in chain(self._parameters.items(), self._persistent_buffers().items()):
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not ModuleSaving.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Return all parameters and persistent buffers by dotted name, detached unless `keep_vars`.

        >>> import flambeau as torch
        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict"
                " for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return self._run_state_dict_hooks(destination, prefix, local_metadata)

    def _run_state_dict_hooks(self, destination: Any, prefix: str, local_metadata: dict[str, Any]) -> Any:
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if result is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif result is not None:
                destination = result
        return destination

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before this module's state is saved.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("saving"))
        >>> list(layer.state_dict())
        saving
        ['weight', 'bias']
        """
        return hooked(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after saving; it edits the dict in
        place.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(1, 1)
        >>> def without_bias(module, state, prefix, metadata):
        ...     del state[prefix + "bias"]
        >>> handle = layer.register_state_dict_post_hook(without_bias)
        >>> list(layer.state_dict())
        ['weight']
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return hooked(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register a post-hook of the older kind, whose result replaces the dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return hooked(self._state_dict_hooks, hook)
