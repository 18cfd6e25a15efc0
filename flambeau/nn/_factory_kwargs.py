"""Keyword arguments that a module hands on to functions that make tensors."""

from __future__ import annotations

from typing import Any

_NAMES = {"device", "dtype", "memory_format"}


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the `device`, `dtype` and `memory_format` of `kwargs` and its `factory_kwargs`; refuse others.

    >>> import flambeau as torch
    >>> torch.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": torch.float64}})
    {'dtype': torch.float64, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    unexpected = set(kwargs) - _NAMES - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in sorted(_NAMES & set(kwargs)):
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = kwargs[name]
    return found
