"""Module, the base class of everything that has parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

from ...engine import first_draws, look_at_parameters
from ...naming import claim
from ._attributes import new_fields
from ._conversion import ModuleConversion
from ._hooks import (
    ModuleHooks,
    active_global_hooks,
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from ._loading import _IncompatibleKeys
from ._registration_hooks import buffer_registration_hooks as _global_buffer_registration_hooks
from ._registration_hooks import module_registration_hooks as _global_module_registration_hooks
from ._registration_hooks import parameter_registration_hooks as _global_parameter_registration_hooks
from ._registration_hooks import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._saving import _EXTRA_STATE_KEY_SUFFIX

__all__ = [
    "Module",
    "_EXTRA_STATE_KEY_SUFFIX",
    "_IncompatibleKeys",
    "_global_buffer_registration_hooks",
    "_global_module_registration_hooks",
    "_global_parameter_registration_hooks",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def _forward_unimplemented(self: Module, *input: Any) -> None:
    """Compute the module's output; every subclass defines this.

    Call the module itself, which runs hooks, too.

    >>> import flambeau as torch
    >>> class Double(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Double()(torch.ones(2))
    tensor([2., 2.])
    """
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _addindent(text: str, spaces: int) -> str:
    """Indent every line but the first."""
    return text.replace("\n", "\n" + " " * spaces)


class Module(ModuleConversion, ModuleHooks):
    """Base class of all layers and models: it owns parameters, buffers and other modules.

    A subclass calls `super().__init__()`, assigns its parts as attributes and defines `forward`. Calling the
    module runs `forward` between the registered hooks.

    >>> import flambeau as torch
    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = torch.nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return self.fc(x).relu()
    >>> Net()
    Net(
      (fc): Linear(in_features=2, out_features=1, bias=True)
    )
    """

    dump_patches: bool = False
    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # The hot path of small models: two emptiness checks, then straight to forward.
        try:
            hooked: Any = self._active_hooks or active_global_hooks
        except AttributeError:
            hooked = self._backward_hooks  # Module.__init__ was not called; the error names this table
        if hooked:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    _call_impl = __call__

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accept a request to compile; there is nothing to do, since every module runs as recorded graphs.

        >>> import flambeau as torch
        >>> layer = torch.nn.ReLU()
        >>> layer.compile()
        >>> layer(torch.tensor([-1.0, 1.0]))
        tensor([0., 1.])
        """

    # -- modes
    # ---------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set this module and all below to training mode, or to evaluation mode if `mode` is false.

        >>> import flambeau as torch
        >>> torch.nn.Dropout().train(False).training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set this module and all below to evaluation mode.

        What is evaluated will be used as it is: before a program's first step its weights are drawn now.

        >>> import flambeau as torch
        >>> torch.nn.Dropout(0.5).eval()(torch.ones(3))
        tensor([1., 1., 1.])
        """
        found = self.train(False)
        if first_draws.waits:
            look_at_parameters(parameter._storage for parameter in self.parameters() if not parameter._sparse)
        return found

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether autograd records operations on the parameters; False freezes them.

        >>> import flambeau as torch
        >>> torch.nn.Linear(1, 1).requires_grad_(False).weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros if `set_to_none` is false.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(1, 1)
        >>> layer(torch.ones(1, 1)).sum().backward()
        >>> layer.zero_grad()
        >>> print(layer.weight.grad)
        None
        """
        for parameter in self.parameters():
            grad = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()

    # -- printing
    # ------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what stands in the parentheses of the printed form; override to say more.

        >>> import flambeau as torch
        >>> class Scale(torch.nn.Module):
        ...     def extra_repr(self):
        ...         return "factor=2"
        >>> Scale()
        Scale(factor=2)
        """
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            body = lines[0]
        elif lines or children:
            body = "\n  " + "\n  ".join(lines + children) + "\n"
        else:
            body = ""
        return f"{self._get_name()}({body})"

    # -- copying
    # -------------------------------------------------------------------------------------------------

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle of an older version may lack some of the tables.
        self.__dict__.update(new_fields())
        self.__dict__.update(state)

    def _replicate_for_data_parallel(self) -> Self:
        """Return a shallow copy whose tables can be changed without touching this module."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        return replica


T_destination = OrderedDict


claim(Module)
