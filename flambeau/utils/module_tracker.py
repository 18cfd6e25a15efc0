"""``ModuleTracker``: the modules that run now, in forward or in backward, by their qualified names."""

from __future__ import annotations

from typing import Any, Self
from weakref import WeakKeyDictionary

from ..autograd.graph import register_multi_grad_hook
from ..nn import Module
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..tensor import Tensor, state
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Tell in a ``with`` block which modules run now.

    ``parents`` holds their names and ``"Global"``; a module that is met before the one that holds it is
    called by its class. In backward a module runs from the gradients of its results to those of its
    arguments; gradients of leaves arrive when the pass is over.

    >>> import flambeau as torch
    >>> from flambeau.utils.module_tracker import ModuleTracker
    >>> class Seen(torch.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents)); return x
    >>> with ModuleTracker() as tracker:
    ...     y = torch.nn.Sequential(Seen())(torch.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self._in_forward = {"Global"}
        self._in_backward: set[str] = set()
        self._starts: Any = None        # of the backward pass that runs
        self._names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._met: WeakKeyDictionary[Module, None] = WeakKeyDictionary()
        self._handles: list[Any] = []

    def __enter__(self) -> Self:
        self._handles = [register_module_forward_pre_hook(self._begins),
                         register_module_forward_hook(self._ends)]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    @property
    def parents(self) -> set[str]:
        """The names of the modules that run, and ``"Global"``.

        >>> from flambeau.utils.module_tracker import ModuleTracker
        >>> ModuleTracker().parents
        {'Global'}
        """
        if state.starts is not self._starts:
            self._starts, self._in_backward = state.starts, {"Global"}
        return self._in_forward if self._starts is None else self._in_backward

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs.

        >>> from flambeau.utils.module_tracker import ModuleTracker
        >>> ModuleTracker().is_bw
        False
        """
        return state.starts is not None

    def _begins(self, module: Module, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._at_gradients(args, lambda grads: self.parents.discard(name))

    def _ends(self, module: Module, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._at_gradients(output, lambda grads: self.parents.add(name))

    def _name(self, module: Module) -> str:
        """The module's name; one that is met first names those that it holds."""
        if module not in self._met:
            self._met[module] = None
            name = self._names.setdefault(module, type(module).__name__)
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
        return self._names[module]

    def _at_gradients(self, values: Any, act: Any) -> None:
        """Act when the gradients of the tensors in `values` are there."""
        tensors = [x for x in tree_leaves(values) if isinstance(x, Tensor) and x.requires_grad]
        if tensors:
            register_multi_grad_hook(tensors, act)
