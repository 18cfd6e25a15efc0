"""Small helpers that layers share."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that turns one value into n equal ones and an iterable into a tuple."""

    def parse(value: Any) -> tuple[Any, ...]:
        if isinstance(value, collections.abc.Iterable):
            return tuple(value)
        return (value,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(values: Iterable[Any], n: int) -> tuple[Any, ...]:
    """Return the values in reverse order, each n times: the order in which `F.pad` takes amounts.

    >>> from flambeau.nn.modules.utils import _reverse_repeat_tuple
    >>> _reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(value for value in reversed(tuple(values)) for _ in range(n))


def _list_with_default(out_size: list[int], defaults: list[int]) -> list[int]:
    """Replace each None in `out_size` by the entry of `defaults` at the same distance from the end."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [given if given is not None else default for given, default in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` off every name of a state dict, in place; names without it stay.

    >>> from flambeau.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata: Any = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # The owner itself is stored under its name without the dot: "module" becomes "".
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
