"""Forward mode: tangents of operators and of custom functions."""

from __future__ import annotations

import pytest

import flambeau as torch
import flambeau.autograd.forward_ad as fwAD


def test_tangents_are_directional_derivatives() -> None:
    x, w = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]])
    direction = torch.tensor([1.0, 0.0, -2.0])
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, direction)
        out = fwAD.unpack_dual((w @ dual.sin()).exp())
    expected = (w @ x.sin()).exp() * (w @ (x.cos() * direction))
    assert torch.allclose(out.tangent, expected)
    assert not out.tangent.requires_grad and not out.primal.requires_grad


def test_two_duals_and_what_has_none() -> None:
    a, b = torch.tensor(3.0), torch.tensor(4.0)
    with fwAD.dual_level():
        da, db = fwAD.make_dual(a, torch.tensor(1.0)), fwAD.make_dual(b, torch.tensor(10.0))
        assert fwAD.unpack_dual(da * db).tangent.item() == 4.0 + 30.0
        assert fwAD.unpack_dual(da * 2 + 1).tangent.item() == 2.0
        assert fwAD.unpack_dual(torch.ones(2)).tangent is None
        assert fwAD.unpack_dual(da).tangent.item() == 1.0


def test_tangents_can_be_differentiated() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(fwAD.make_dual(x, torch.tensor(1.0)) ** 3).tangent
        (second,) = torch.autograd.grad(tangent, x)
    assert tangent.item() == 12.0 and second.item() == 12.0


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_forward(x)
        return x * factor

    @staticmethod
    def jvp(ctx, x_tangent, _):
        (x,) = ctx.saved_tensors
        return x_tangent * ctx.factor + 0 * x


def test_the_jvp_of_a_function_is_used() -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0]))
        out = _Scaled.apply(dual, 3.0)
        assert fwAD.unpack_dual(out).tangent.tolist() == [15.0, 21.0]
        assert fwAD.unpack_dual(out.sum()).tangent.item() == 36.0


def test_errors() -> None:
    with pytest.raises(RuntimeError, match="no level exists"):
        fwAD.make_dual(torch.ones(1), torch.ones(1))
    with fwAD.dual_level():
        with pytest.raises(RuntimeError, match="different size"):
            fwAD.make_dual(torch.ones(1), torch.ones(2))
        with pytest.raises(RuntimeError, match="Nested"):
            fwAD.enter_dual_level()
