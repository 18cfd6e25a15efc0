"""Optimizer: parameter groups, state, hooks and state dicts; what all optimizers share."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeAlias

from ..engine import look_at_parameters
from ..operators.optimization.multi_tensor import forget_gradients
from ..tensor import Tensor
from ..tensor.handle import RemovableHandle
from ..utils._foreach_utils import _group_tensors_by_device_and_dtype as grouped
from ._helpers import (
    _default_to_fused_or_foreach,
    _disable_dynamo_if_unsupported,
    _get_value,
    _stack_if_compiling,
    _use_grad_for_differentiable,
    _view_as_real,
)
from ._hooks import (
    Hook,
    add_hook,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)
from ._param_groups import ParamsT, append_group, checked_params, required
from ._state_dict import pack, unpack

__all__ = [
    "Optimizer",
    "ParamsT",
    "_default_to_fused_or_foreach",
    "_disable_dynamo_if_unsupported",
    "_get_value",
    "_stack_if_compiling",
    "_use_grad_for_differentiable",
    "_view_as_real",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]

StateDict: TypeAlias = dict[str, Any]


class Optimizer:
    """Base class of all optimizers.

    `params` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dictionaries, each a parameter
    group with its own options; `defaults` are the options of groups that do not give them. A subclass
    implements :meth:`step`, keeps what it remembers of each parameter in ``self.state[param]``, and reads its
    options from ``self.param_groups``.

    >>> import flambeau as torch
    >>> class Descent(torch.optim.Optimizer):
    ...     def step(self):
    ...         with torch.no_grad():
    ...             for group in self.param_groups:
    ...                 for p in group["params"]:
    ...                     p.sub_(p.grad, alpha=group["lr"])
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = Descent([w], {"lr": 0.5})
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._create_hooks()
        groups = checked_params(params)
        self.state = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        for group in groups:
            self.add_param_group(group)

    def _create_hooks(self) -> None:
        self._optimizer_step_pre_hooks: dict[int, Hook] = OrderedDict()
        self._optimizer_step_post_hooks: dict[int, Hook] = OrderedDict()
        self._optimizer_state_dict_pre_hooks: dict[int, Hook] = OrderedDict()
        self._optimizer_state_dict_post_hooks: dict[int, Hook] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: dict[int, Hook] = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: dict[int, Hook] = OrderedDict()
        self._patch_step_function()

    def _patch_step_function(self) -> None:
        """Let hooks run around ``step``; optimizers that wrap another one call it without ``__init__``."""
        # One wrapper for a class, however many instances and subclasses it has.
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = with_hooks(cls.step)  # type: ignore[method-assign]

    # -- state
    # ---------------------------------------------------------------------------------------------------

    @property
    def state(self) -> defaultdict[Any, Any]:
        """What is remembered of each parameter, as a dictionary of dictionaries keyed by the parameter.

        >>> import flambeau as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        >>> w.sum().backward(); optimizer.step(); list(optimizer.state[w])
        ['momentum_buffer']
        """
        return self._state

    @state.setter
    def state(self, value: defaultdict[Any, Any]) -> None:
        self._state = value

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # made by unpickling, without __init__
            self._create_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines.extend(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")
            lines.append("")
        return "\n".join(lines[:-1] if self.param_groups else lines) + "\n)"

    # -- stepping
    # ------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss, and its value is returned.

        >>> import flambeau as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.25)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.7500], requires_grad=True)
        """
        raise NotImplementedError

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[Any]], with_indices: bool = False,
    ) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
        """The lists' items by device and dtype of the first list's: optimizers of other packages sort so."""
        return grouped(tensorlistlist, with_indices)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros.

        >>> import flambeau as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.1)
        >>> w.sum().backward()
        >>> optimizer.zero_grad()
        >>> print(w.grad)
        None
        """
        for group in self.param_groups:
            if set_to_none:
                forget_gradients(group["params"])
                continue
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters: ``{"params": ..., option: value, ...}``.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1)
        >>> optimizer.add_param_group({"params": [torch.zeros(3, requires_grad=True)], "lr": 0.01})
        >>> [(len(group["params"]), group["lr"]) for group in optimizer.param_groups]
        [(1, 0.1), (1, 0.01)]
        """
        append_group(self.param_groups, param_group, self.defaults)
        params = self.param_groups[-1]["params"]
        look_at_parameters((p._storage for p in params if not p._sparse), are_learnt=True)

    # -- hooks
    # ---------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; a returned pair replaces the arguments.

        >>> import flambeau as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.1)
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optimizer.step()
        before
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step.

        >>> import flambeau as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.1)
        >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("after"))
        >>> optimizer.step()
        after
        """
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict`.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print("saving"))
        >>> saved = optimizer.state_dict()
        saving
        """
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after :meth:`state_dict`; what it returns replaces it.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "epoch": 3})
        >>> optimizer.state_dict()["epoch"]
        3
        """
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; a returned dictionary is loaded instead.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: state["optimizer"])
        >>> optimizer.load_state_dict({"optimizer": optimizer.state_dict(), "epoch": 3})
        """
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after :meth:`load_state_dict`.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: print("loaded"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        loaded
        """
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- state dicts
    # ---------------------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """State and options as ``{"state": {number: {...}}, "param_groups": [...]}``, parameters numbered.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1, momentum=0.9)
        >>> saved = optimizer.state_dict()
        >>> saved["state"], saved["param_groups"][0]["params"]
        ({}, [0])
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        state_dict = pack(self.state, self.param_groups)
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        return state_dict

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over what :meth:`state_dict` returned, here or in PyTorch; parameters by position.

        >>> import flambeau as torch
        >>> w = torch.zeros(2, requires_grad=True)
        >>> saved = torch.optim.SGD([w], lr=0.1).state_dict()
        >>> optimizer = torch.optim.SGD([w], lr=1.0)
        >>> optimizer.load_state_dict(saved)
        >>> optimizer.param_groups[0]["lr"]
        0.1
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        state, groups = unpack(state_dict, self.param_groups)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _parameters(self) -> Iterable[Tensor]:
        return chain.from_iterable(group["params"] for group in self.param_groups)
