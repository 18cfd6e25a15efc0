"""Modules that hold other modules, or parameters, in order or by name."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Self

from ._hooks import active_global_hooks
from ._parameter_containers import ParameterDict, ParameterList
from .module import Module, _addindent

_call = Module.__call__

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """A module with the children given by keyword; deprecated, subclass Module instead."""

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _NumberedModules(Module):
    """What Sequential and ModuleList share: children named "0", "1", ... and list access to them."""

    # What indexing with a slice gives; the two differ in the names they keep.
    _sliced: Callable[[slice], Any]

    def _index(self, idx: Any) -> int:
        """Return the position that a possibly negative index means."""
        size = len(self)
        idx = operator.index(idx)
        if not -size <= idx < size:
            raise IndexError(f"index {idx} is out of range")
        return idx % size

    def _key(self, idx: Any) -> str:
        return list(self._modules)[self._index(idx)]

    def _renumber(self) -> None:
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self._sliced(idx)
        return self._modules[self._key(idx)]

    def __setitem__(self, idx: Any, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: Any) -> None:
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        self._renumber()

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove the module at a position and return it."""
        module = self[key]
        del self[key]
        return module

    def _insert(self, position: int, module: Module | None) -> None:
        for i in range(len(self._modules), position, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(position)] = module


class Sequential(_NumberedModules):
    """Modules called one after the other, each on what the one before returned.

    >>> import flambeau as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> net(torch.zeros(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named: Iterable[tuple[str, Module]]
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            # Calling a module without hooks is calling its forward; going there directly saves a call.
            if module.__class__.__call__ is _call and not (
                    getattr(module, "_active_hooks", True) or active_global_hooks):
                input = module.forward(input)
            else:
                input = module(input)
        return input

    def _sliced(self, idx: slice) -> Sequential:
        return type(self)(OrderedDict(list(self._modules.items())[idx]))

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)!s} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)!s} is given."
            )
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*chain.from_iterable([self] * other))

    def __rmul__(self, other: int) -> Sequential:
        return self.__mul__(other)

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        originals = list(self)
        for _ in range(other - 1):
            self.extend(originals)
        return self

    @staticmethod
    def _check_factor(other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {Sequential}")

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`.

        >>> import flambeau as torch
        >>> torch.nn.Sequential(torch.nn.ReLU()).insert(0, torch.nn.Tanh())
        Sequential(
          (0): Tanh()
          (1): ReLU()
        )
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self._modules)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + size if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add all modules of an iterable at the end.

        >>> import flambeau as torch
        >>> torch.nn.Sequential(torch.nn.ReLU()).extend([torch.nn.Tanh()])
        Sequential(
          (0): ReLU()
          (1): Tanh()
        )
        """
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(_NumberedModules):
    """A list of modules, registered so that their parameters are found.

    >>> import flambeau as torch
    >>> layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _sliced(self, idx: slice) -> ModuleList:
        return type(self)(list(self._modules.values())[idx])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        combined = ModuleList()
        for i, module in enumerate(chain(self, other)):
            combined.add_module(str(i), module)
        return combined

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`, as `list.insert` does.

        >>> import flambeau as torch
        >>> layers = torch.nn.ModuleList([torch.nn.ReLU()])
        >>> layers.insert(0, torch.nn.Tanh()); layers[0]
        Tanh()
        """
        self._insert(index + len(self) if index < 0 else index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add all modules of an iterable at the end.

        >>> import flambeau as torch
        >>> layers = torch.nn.ModuleList().extend([torch.nn.ReLU(), torch.nn.Tanh()])
        >>> len(layers)
        2
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self

    def __repr__(self) -> str:
        """Print runs of equal modules as one line: `(0-5): 6 x Linear(...)`."""
        reprs = [repr(module) for module in self]
        if not reprs:
            return self._get_name() + "()"
        runs: list[list[int]] = []
        for i, text in enumerate(reprs):
            if i and text == reprs[i - 1]:
                runs[-1][1] = i
            else:
                runs.append([i, i])
        lines = []
        for start, end in runs:
            label = f"({start}): " if start == end else f"({start}-{end}): {end - start + 1} x "
            lines.append(_addindent(label + reprs[start], 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules, registered so that their parameters are found; it keeps insertion order.

    >>> import flambeau as torch
    >>> heads = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1)})
    >>> heads["a"](torch.zeros(3, 2)).shape
    torch.Size([3, 1])
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules.

        >>> import flambeau as torch
        >>> acts = torch.nn.ModuleDict({"relu": torch.nn.ReLU()})
        >>> acts.clear(); len(acts)
        0
        """
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it.

        >>> import flambeau as torch
        >>> acts = torch.nn.ModuleDict({"relu": torch.nn.ReLU()})
        >>> acts.pop("relu"), len(acts)
        (ReLU(), 0)
        """
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """Return the names.

        >>> import flambeau as torch
        >>> list(torch.nn.ModuleDict({"relu": torch.nn.ReLU(), "tanh": torch.nn.Tanh()}).keys())
        ['relu', 'tanh']
        """
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the (name, module) pairs.

        >>> import flambeau as torch
        >>> acts = torch.nn.ModuleDict({"relu": torch.nn.ReLU(), "tanh": torch.nn.Tanh()})
        >>> list(acts.items())
        [('relu', ReLU()), ('tanh', Tanh())]
        """
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """Return the modules.

        >>> import flambeau as torch
        >>> list(torch.nn.ModuleDict({"relu": torch.nn.ReLU(), "tanh": torch.nn.Tanh()}).values())
        [ReLU(), Tanh()]
        """
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace the modules of a mapping or of (name, module) pairs.

        >>> import flambeau as torch
        >>> acts = torch.nn.ModuleDict({"relu": torch.nn.ReLU()})
        >>> acts.update({"tanh": torch.nn.Tanh()}); list(acts.keys())
        ['relu', 'tanh']
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                + type(modules).__name__
            )
        if isinstance(modules, Mapping | ModuleDict):
            for key, module in modules.items():
                self[key] = module
            return
        for position, pair in enumerate(modules):
            self._check_pair(position, pair)
            self[pair[0]] = pair[1]

    @staticmethod
    def _check_pair(position: int, pair: Any) -> None:
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"ModuleDict update sequence element #{position} should be Iterable; is{type(pair).__name__}"
            )
        size = len(list(islice(pair, 3)))
        if size != 2:
            raise ValueError(
                f"ModuleDict update sequence element #{position} has length {size}; 2 is required"
            )
