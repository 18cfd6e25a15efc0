"""What a Function's backward gives for an argument that wants no gradient is not looked at."""

from typing import Any

import pytest

import flambeau as torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, times: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2, torch.zeros(7)


def test_its_shape_may_be_any() -> None:
    x = torch.ones(3, requires_grad=True)
    Scaled.apply(x, torch.ones(5)).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="invalid gradient at index 1"):
        Scaled.apply(x, torch.ones(5, requires_grad=True)).sum().backward()
