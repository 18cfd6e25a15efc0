"""``ctx.mark_dirty``: a write, whether the library saw it or not."""

from typing import Any

import pytest

import flambeau as torch


class Unseen(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad


def test_it_counts_as_a_write() -> None:
    x = torch.ones(2)
    assert Unseen.apply(x)._version == 1
    y = torch.ones(2, requires_grad=True) * 1
    assert Unseen.apply(y)._version == 1
    with torch.no_grad():
        Unseen.apply(y)
    assert y._version == 2


def test_what_was_saved_before_is_no_longer_there() -> None:
    y = (torch.ones(2, requires_grad=True) * 1).exp()
    Unseen.apply(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
