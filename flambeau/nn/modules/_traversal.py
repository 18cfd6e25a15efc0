"""Walking the tree of modules and reaching a member by its dotted name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...tensor import Tensor
from ..parameter import Parameter
from ._attributes import ModuleAttributes


class ModuleTraversal(ModuleAttributes):
    """The part of `Module` that lists members and finds them by path."""

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield every module below and including this one with its dotted name, parents first.

        >>> import flambeau as torch
        >>> net = torch.nn.Sequential(torch.nn.ReLU())
        >>> [name for name, _ in net.named_modules()]
        ['', '0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = prefix + ("." if prefix else "") + name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Yield every module below and including this one, a shared one once unless duplicates are kept.

        >>> import flambeau as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> [type(module).__name__ for module in model.modules()]
        ['Sequential', 'Linear', 'ReLU']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield the direct children with their names, a shared one once.

        >>> import flambeau as torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
        >>> list(model.named_children())
        [('0', Flatten(start_dim=1, end_dim=-1)), ('1', ReLU())]
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """Yield the direct children.

        >>> import flambeau as torch
        >>> list(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU()).children())
        [Flatten(start_dim=1, end_dim=-1), ReLU()]
        """
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yield what `get_members_fn` gives for each module, with dotted names, each object once."""
        seen = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in owners if recurse else [(prefix, self)]:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield path + ("." if path else "") + name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters of this module and, if `recurse`, of all below, with dotted names.

        >>> import flambeau as torch
        >>> [name for name, _ in torch.nn.Linear(2, 1).named_parameters()]
        ['weight', 'bias']
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, as an optimizer takes them.

        >>> import flambeau as torch
        >>> sum(p.numel() for p in torch.nn.Linear(2, 1).parameters())
        3
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers of this module and, if `recurse`, of all below, with dotted names.

        >>> import flambeau as torch
        >>> [name for name, _ in torch.nn.Sequential(torch.nn.BatchNorm1d(2)).named_buffers()]
        ['0.running_mean', '0.running_var', '0.num_batches_tracked']
        """
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers.

        >>> import flambeau as torch
        >>> [buffer.tolist() for buffer in torch.nn.BatchNorm1d(2).buffers()]
        [[0.0, 0.0], [1.0, 1.0], 0]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # -- by path
    # -------------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Any:
        """Return the module at a dotted path; the empty path is this module.

        >>> import flambeau as torch
        >>> torch.nn.Sequential(torch.nn.ReLU()).get_submodule("0")
        ReLU()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, ModuleAttributes):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Replace the module at a dotted path, or add it there unless `strict`.

        >>> import flambeau as torch
        >>> net = torch.nn.Sequential(torch.nn.ReLU())
        >>> net.set_submodule("0", torch.nn.Tanh())
        >>> net[0]
        Tanh()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleAttributes):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), ModuleAttributes):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> tuple[Any, str, Any]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name, getattr(owner, name)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path.

        >>> import flambeau as torch
        >>> torch.nn.Sequential(torch.nn.Linear(2, 3)).get_parameter("0.weight").shape
        torch.Size([3, 2])
        """
        _, name, parameter = self._get_member(target)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path.

        >>> import flambeau as torch
        >>> torch.nn.Sequential(torch.nn.BatchNorm1d(2)).get_buffer("0.running_mean")
        tensor([0., 0.])
        """
        owner, name, buffer = self._get_member(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer
