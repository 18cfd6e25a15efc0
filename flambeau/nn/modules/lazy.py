"""Layers that learn the shape of their parameters from the first input."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from ..parameter import is_lazy

if TYPE_CHECKING:
    from .module import Module

    _Base = Module
else:
    _Base = object

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(_Base):
    """Mixed into a layer, lets its parameters wait for the first call.

    The layer starts with `UninitializedParameter`s; the first call passes its arguments to
    `initialize_parameters`, and then the layer becomes an instance of `cls_to_become`.

    >>> import flambeau as torch
    >>> layer = torch.nn.LazyConv1d(4, kernel_size=3)
    >>> layer.has_uninitialized_params()
    True
    """

    cls_to_become: type[Module] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in chain(self._parameters.items(), self._persistent_buffers().items()):
            if tensor is not None:
                # A placeholder has no data to detach and is saved as it is.
                destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def _lazy_load_hook(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Give placeholders the shapes found in a state dict, so that they can be loaded into."""
        for name, tensor in chain(self._parameters.items(), self._buffers.items()):
            key = prefix + name
            if tensor is None or key not in state_dict or not is_lazy(tensor):
                continue
            if not is_lazy(state_dict[key]):
                placeholder: Any = tensor
                placeholder.materialize(state_dict[key].shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shape from the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Tell whether some parameter or buffer still waits for its shape.

        >>> import flambeau as torch
        >>> torch.nn.LazyLinear(3).has_uninitialized_params()
        True
        """
        return any(is_lazy(t) for t in chain(self._parameters.values(), self._buffers.values()))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Before the first forward: initialise, then become an ordinary layer."""
        kwargs = kwargs or {}
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(
                f"module {self._get_name()} has not been fully initialized after `initialize_parameters` was "
                "called"
            )
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook
        del self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward "
            "pass to correctly initialize the modules"
        )
