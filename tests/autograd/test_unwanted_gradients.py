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


@pytest.mark.parametrize(("differentiable", "expected"), [(True, [True, True]), (False, [False, True])])
def test_saved_results_of_functions_have_their_history(differentiable: bool, expected: list[bool]) -> None:
    """Also where backward itself is not recorded."""
    seen: list[bool] = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            doubled, other = x.detach() * 2, x * 3
            if not differentiable:
                ctx.mark_non_differentiable(doubled)
            ctx.save_for_backward(doubled, x)
            return doubled, other

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            seen.extend(kept.requires_grad for kept in ctx.saved_tensors)
            return grads[0] * 2 + grads[1] * 3

    first, second = Double.apply(torch.ones(2, requires_grad=True))
    (first + second).sum().backward()
    assert seen == expected
