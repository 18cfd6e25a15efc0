"""What a backward pass lets go of."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch

_PASSES: dict[str, Callable[[Any, Any], Any]] = {
    "backward": lambda y, x: y.backward(),
    "grad": lambda y, x: torch.autograd.grad(y, x) and None,
}


@pytest.mark.parametrize("passes", _PASSES.values(), ids=_PASSES)
def test_a_pass_that_is_over_holds_nothing(passes: Callable[[Any, Any], Any]) -> None:
    x = torch.ones(3, requires_grad=True)
    held = weakref.ref(x)
    passes((x * 2).sum(), x)
    del x
    assert held() is None
