"""Dispatch keys: the names under which PyTorch's dispatcher keeps kernels, as far as libraries use them."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from ..amp.switches import is_autocast_enabled


class DispatchKey(enum.Enum):
    """Kinds of devices, and the layers above them."""

    Undefined = 0
    CPU = 1
    CUDA = 2
    Meta = 3
    Autograd = 4
    AutocastCPU = 5
    AutocastCUDA = 6
    AutocastXPU = 7
    AutocastMPS = 8
    CompositeExplicitAutograd = 9
    CompositeImplicitAutograd = 10


class DispatchKeySet:
    """A set of keys."""

    def __init__(self, key: DispatchKey) -> None:
        self.keys = frozenset([key])

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        made = DispatchKeySet.__new__(DispatchKeySet)
        made.keys = self.keys | other.keys
        return made

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is in the set."""
        return key in self.keys

    def __iter__(self) -> Iterator[DispatchKey]:
        return iter(self.keys)


_excluded: list[DispatchKeySet] = []


class ExcludedKeys:
    """Inside, kernels of these keys are passed over."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self.keys = keys

    def __enter__(self) -> ExcludedKeys:
        _excluded.append(self.keys)
        return self

    def __exit__(self, *exc: object) -> None:
        _excluded.remove(self.keys)


def autocasts(key: DispatchKey) -> bool:
    """Whether autocast is on for a key's type of device, and not excluded."""
    return (is_autocast_enabled(key.name.removeprefix("Autocast").lower())
            and not any(keys.has(key) for keys in _excluded))
