"""Small programs on modules; each takes a framework and returns what a user would see, as plain values.

They are run in flambeau and, where it can be imported, in PyTorch, and must return the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

PROGRAMS: list[Callable[[Any], Any]] = []


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(function)
    return function


def attempt(function: Callable[[], Any]) -> Any:
    """Return the result, or the exception's type and text without what names the framework or an address."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error).replace("flambeau.", "torch.")


def net(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        OrderedDict(
            a=torch.nn.Linear(2, 3), n=torch.nn.BatchNorm1d(3), b=torch.nn.Sequential(torch.nn.Linear(3, 1))
        )
    )


def values(state: Any) -> Any:
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in state.items()}
