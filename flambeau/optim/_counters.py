"""What optimizers count, as their states show it (Note: counters)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

from .. import operators as ops
from ..dtypes import dtype, float32, float64, get_default_dtype
from ..graph.references import UNHELD
from ..tensor import Tensor
from ..tensor.aliasing.inplace import write

Counters = dict[str, float]


def counter_dtype() -> dtype:
    """The dtype in which counters are shown: float32 unless float64 is the default."""
    return float64 if get_default_dtype() == float64 else float32


def counter_tensor(value: float, fused: bool | None = False) -> Tensor:
    """A number of steps, as new states hold it; fused steps count in float32."""
    return ops.tensor(float(value), dtype=float32 if fused else counter_dtype())


def rounded(value: float) -> float:
    """The value that a counter has once it has been shown."""
    return value if counter_dtype() == float64 else struct.unpack("f", struct.pack("f", float(value)))[0]


def number(value: Any) -> Any:
    """An option as a Python number, where it was given as a tensor with one element."""
    return value.item() if isinstance(value, Tensor) else value


def shown(old: Any, value: float) -> Tensor:
    """A counter's tensor at this value: the old one, which others may hold, where it can be."""
    if not isinstance(old, Tensor):
        return counter_tensor(value)
    new = ops.tensor(float(value), dtype=old.dtype)
    if old._geometry is not new._geometry:
        return new
    write(old, new)
    return old


class Shown:
    """A counter that somebody holds, so that it is written at each step."""

    __slots__ = ("name", "tensor", "version")

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name = name
        self.tensor = tensor
        self.version = tensor._storage.version

    def show(self, counters: Counters) -> None:
        """Write its present value."""
        shown(self.tensor, counters[self.name])
        self.version = self.tensor._storage.version

    def is_written(self) -> bool:
        """Whether it was written by somebody else since."""
        return self.tensor._storage.version != self.version


def held(states: dict[Any, Any], params: Sequence[Tensor], names: Sequence[str]) -> list[Shown]:
    """The counters of these parameters that somebody holds, or reaches by a dictionary that he holds.

    Beside who holds them, there is a reference from an attribute, or from a dictionary.
    """
    if not names:
        return []
    every = getrefcount(states) > UNHELD + 1
    found = []
    for p in params:
        state = states[p]
        all_of_it = every or getrefcount(state) > UNHELD + 1
        for name in names:
            tensor = state[name]
            if all_of_it or getrefcount(tensor) > UNHELD + 1:
                found.append(Shown(name, tensor))
    return found
