"""Which initialisers ask modes first: those that Lightning's empty initialisation leaves out."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau.nn import init
from flambeau.overrides import TorchFunctionMode


class Skipping(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[str]]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", "").endswith("nn.init"):
            self.seen.append((func.__name__, list(kwargs)))
            return kwargs["tensor"]
        return func(*args, **kwargs)


@pytest.mark.parametrize(("name", "given", "told"), [
    ("uniform_", (), ["tensor", "a", "b", "generator"]),
    ("normal_", (0.0, 2.0), ["tensor", "mean", "std", "generator"]),
    ("constant_", (0.5,), ["tensor", "val"]),
    ("kaiming_uniform_", (), ["tensor", "a", "mode", "nonlinearity", "generator"]),
])
def test_seen_and_left_out(name: str, given: Any, told: list[str]) -> None:
    x = torch.full((2, 2), 7.0)
    with Skipping() as mode:
        assert getattr(init, name)(x, *given) is x
    assert mode.seen == [(name, told)] and x.tolist() == [[7.0, 7.0], [7.0, 7.0]]


@pytest.mark.parametrize("name", ["xavier_uniform_", "xavier_normal_", "kaiming_normal_", "ones_", "zeros_",
                                  "trunc_normal_", "orthogonal_", "eye_"])
def test_not_seen(name: str) -> None:
    x = torch.full((2, 2), 7.0)
    with Skipping() as mode:
        getattr(init, name)(x)
    assert not mode.seen and x.tolist() != [[7.0, 7.0], [7.0, 7.0]]
