"""Loading a module's state from a flat dictionary."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from ... import __future__ as future
from ...autograd import no_grad
from ...tensor import Tensor
from ...tensor.handle import RemovableHandle, hooked
from ...tensor.swapping import swap_tensors
from ..parameter import Parameter, is_lazy
from ._saving import _EXTRA_STATE_KEY_SUFFIX, ModuleSaving


class _IncompatibleKeys(NamedTuple):
    """What `load_state_dict` could not match: names the module lacks values for, and names it does not
    have."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    def __str__(self) -> str:
        return repr(self)


class _StateDict(OrderedDict):
    """An ordered dictionary that may carry the versions of the modules it came from, as `_metadata`."""

    _metadata: Any


class ModuleLoading(ModuleSaving):
    """The part of `Module` that loads state."""

    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call the hook with the module and the arguments of `_load_from_state_dict` before loading.

        >>> import flambeau as torch
        >>> def from_old_name(module, state, prefix, metadata, strict, missing, unexpected, errors):
        ...     state[prefix + "weight"] = state.pop(prefix + "w")
        >>> layer = torch.nn.Linear(1, 1, bias=False)
        >>> handle = layer.register_load_state_dict_pre_hook(from_old_name)
        >>> layer.load_state_dict({"w": torch.ones(1, 1)})
        <All keys matched successfully>
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        bound = WrappedHook(hook, self if with_module else None)
        return hooked(self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may edit the two lists in place.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        >>> layer.load_state_dict({"weight": torch.ones(1, 1)})
        <All keys matched successfully>
        """
        return hooked(self._load_state_dict_post_hooks, hook)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy values by name into this module's state, or with `assign` take over the given tensors.

        With `strict` the names must match exactly; otherwise what did not match is returned.

        >>> import flambeau as torch
        >>> a, b = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys: list[str] = []
        unexpected_keys: list[str] = []
        error_msgs: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        # A copy, since hooks and overrides of _load_from_state_dict may rename entries.
        state_dict = _StateDict(state_dict)
        state_dict._metadata = metadata

        def load(module: Any, local_state_dict: Any, prefix: str) -> None:
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(
                local_state_dict, prefix, local_metadata, True, missing_keys, unexpected_keys, error_msgs
            )
            for name, child in module._modules.items():
                if child is not None:
                    path = f"{prefix}{name}."
                    load(child, {k: v for k, v in local_state_dict.items() if k.startswith(path)}, path)
            module._run_load_post_hooks(_IncompatibleKeys(missing_keys, unexpected_keys))

        load(self, state_dict, "")
        if strict:
            error_msgs[:0] = _describe_key_errors(missing_keys, unexpected_keys)
        if error_msgs:
            details = "\n\t".join(error_msgs)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{details}")
        return _IncompatibleKeys(missing_keys, unexpected_keys)

    def _run_load_post_hooks(self, incompatible_keys: _IncompatibleKeys) -> None:
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, incompatible_keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                    "return new values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the members of this module alone; errors are collected, not raised."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        members = chain(self._parameters.items(), self._persistent_buffers().items())
        local_state = {name: tensor for name, tensor in members if tensor is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in local_state.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_member(name, key, current, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys.extend(self._unknown_keys(state_dict, prefix, local_state))

    def _load_member(self, name: str, key: str, current: Tensor, given: Any, assign: bool) -> str | None:
        """Load one tensor; return what went wrong, if anything."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(given)}"
            )
        lazy = is_lazy(current)
        if not lazy and not is_lazy(given):
            if current.dim() == 0 and given.shape == (1,):
                given = given[0]  # written by versions without zero-dimensional tensors
            if given.shape != current.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the "
                    f"shape in current model is {current.shape}."
                )
        if not lazy and current.is_meta and not given.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
                "state dictionary to their corresponding key in the module instead of copying them in "
                "place?)",
                stacklevel=2,
            )
        swap = future.get_swap_module_params_on_conversion()
        try:
            with no_grad():
                if swap:
                    swap_tensors(current, _as_replacement(current, current.module_load(given, assign=assign)))
                elif assign:
                    setattr(self, name, _as_replacement(current, given))
                else:
                    current.copy_(given)
        except Exception as error:
            return (
                f'While {"swapping" if swap else "copying"} the parameter named "{key}", whose dimensions in '
                f"the model are {current.size()} "
                f"and whose dimensions in the checkpoint are {given.size()}, an exception occurred : "
                f"{error.args}."
            )
        return None

    def _load_extra_state(
        self,
        state_dict: Any,
        prefix: str,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
    ) -> None:
        key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not ModuleSaving.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _unknown_keys(self, state_dict: Any, prefix: str, local_state: dict[str, Tensor]) -> list[str]:
        unknown = []
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + _EXTRA_STATE_KEY_SUFFIX:
                continue
            head, dot, _ = key[len(prefix) :].partition(".")
            if head not in (self._modules if dot else local_state):
                unknown.append(key)
        return unknown


class WrappedHook:
    """A hook together with the module it is to be called with, held weakly so that the two form no cycle."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        self.module = weakref.ref(module) if module is not None else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "module": self.module() if self.module is not None else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["hook"], state["module"])  # type: ignore[misc]


def _as_replacement(current: Tensor, given: Tensor) -> Tensor:
    """Return `given` in the role that `current` has: a parameter stays a parameter and keeps
    requires_grad."""
    if not isinstance(current, Parameter):
        return given
    if isinstance(given, Parameter):
        return given.requires_grad_(current.requires_grad)
    return Parameter(given, requires_grad=current.requires_grad)


def _describe_key_errors(missing_keys: list[str], unexpected_keys: list[str]) -> list[str]:
    messages = []
    for kind, keys in (("Missing", missing_keys), ("Unexpected", unexpected_keys)):
        if keys:
            messages.append(f"{kind} key(s) in state_dict: {', '.join(map(_quote, keys))}. ")
    return messages


def _quote(name: str) -> str:
    return f'"{name}"'
