"""Forward mode: tangents of operators and of custom functions."""

from __future__ import annotations

from typing import Any

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


@pytest.mark.parametrize(("function", "slope"), [
    (lambda z: z * 2j, lambda z, v: v * 2j),
    (lambda z: z * z, lambda z, v: 2 * z * v),
    (lambda z: z.exp(), lambda z, v: z.exp() * v),
    (lambda z: z * z.conj(), lambda z, v: z * v.conj() + v * z.conj()),
    (lambda z: z.abs(), lambda z, v: (z.conj() * v).real / z.abs()),
    (lambda z: torch.complex(z.real, z.imag ** 2), lambda z, v: torch.complex(v.real, 2 * z.imag * v.imag)),
])
def test_complex_tangents(function: Any, slope: Any) -> None:
    z, v = torch.tensor([1 + 2j, 2 - 1j]), torch.tensor([1 + 0.5j, 0.25 - 1j])
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(function(fwAD.make_dual(z, v))).tangent
    torch.testing.assert_close(tangent, slope(z, v))


def test_rules_that_take_logarithms_of_gradients() -> None:
    x = torch.tensor([[0.3, -1.2, 2.0]], dtype=torch.float64)
    tangent = torch.tensor([[1.0, -2.0, 3.0]], dtype=torch.float64)
    step = 1e-6
    ends = [torch.logcumsumexp(x + sign * step * tangent, 1) for sign in (1, -1)]
    want = (ends[0] - ends[1]) / (2 * step)
    with fwAD.dual_level():
        found = fwAD.unpack_dual(torch.logcumsumexp(fwAD.make_dual(x, tangent), 1)).tangent
    torch.testing.assert_close(found, want, rtol=1e-6, atol=1e-6)
    pushed = torch.func.jvp(lambda a: torch.logcumsumexp(a, 1), (x,), (tangent,))[1]
    torch.testing.assert_close(pushed, want, rtol=1e-6, atol=1e-6)


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


@pytest.mark.oracle
@pytest.mark.parametrize(
    "call",
    [
        "make_dual(torch.arange(2), torch.ones(2))",
        "make_dual(torch.ones(2), torch.arange(2))",
        "make_dual(torch.ones(2), torch.ones(3))",
        "make_dual(make_dual(torch.ones(2), torch.ones(2)), torch.ones(2))",
        "unpack_dual(3)",
        "enter_dual_level()",
    ],
)
def test_errors_of_pytorch(torch: Any, oracle: Any, call: str) -> None:
    def error(framework: Any) -> Any:
        names = {**vars(framework.autograd.forward_ad), "torch": framework}
        with framework.autograd.forward_ad.dual_level(), pytest.raises(Exception) as caught:
            eval(call, names)
        return caught.type, str(caught.value).replace("flambeau", "torch")

    assert error(torch) == error(oracle)


def test_dual_tensors_show_their_tangents() -> None:
    """And not the history that they have for the tangents' sake."""
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(3), torch.arange(3.0))
        assert repr(dual) == "tensor([1., 1., 1.], tangent=tensor([0., 1., 2.]))"
        assert repr(dual * 2) == "tensor([2., 2., 2.], tangent=tensor([0., 2., 4.]))"
        assert repr(fwAD.make_dual(torch.tensor(1.0), torch.tensor(2.0))) == "tensor(1., tangent=2.0)"
        assert repr(torch.ones(1)) == "tensor([1.])"
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(2, requires_grad=True), torch.ones(2))
        assert repr(dual) == "tensor([1., 1.], grad_fn=<ViewBackward0>, tangent=tensor([1., 1.]))"
    assert repr(dual) == "tensor([1., 1.], grad_fn=<ViewBackward0>)"


def test_a_tangent_has_no_tangent() -> None:
    """Though it is computed from duals: of what a ``jvp`` kept, or of a primal that wants gradients."""
    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.result = torch.exp(x)
            return ctx.result

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * ctx.result

    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(Exponential.apply(fwAD.make_dual(torch.zeros(2), torch.ones(2)))).tangent
        assert repr(tangent) == "tensor([1., 1.])"
        assert fwAD.unpack_dual(tangent).tangent is None
    x = torch.zeros(2, requires_grad=True)
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(torch.exp(fwAD.make_dual(x, torch.ones(2)))).tangent
        assert repr(tangent) == "tensor([1., 1.], grad_fn=<MulBackward0>)"
        assert fwAD.unpack_dual(tangent).tangent is None
        tangent.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_layers_are_made_and_written_within_a_level() -> None:
    """Without gradients a leaf may be written, although tangents are followed."""
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(2, 3), torch.ones(2, 3))
        layer, table = torch.nn.Linear(3, 2), torch.nn.Embedding(3, 2, padding_idx=1)
        with torch.no_grad():
            layer.weight.mul_(0).add_(2)
            layer.weight[0].zero_()
            layer.bias.copy_(torch.ones(2))
        assert layer.weight.is_leaf and table.weight.is_leaf and table.weight[1].tolist() == [0.0, 0.0]
        assert layer(dual).tolist() == [[1.0, 7.0]] * 2
        assert fwAD.unpack_dual(layer(dual)).tangent.tolist() == [[0.0, 6.0]] * 2
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            layer.weight.mul_(2)
        with torch.no_grad(), pytest.raises(NotImplementedError):
            layer.weight.copy_(dual[:, :3])
        layer(torch.ones(2, 3)).sum().backward()
        torch.optim.SGD(layer.parameters(), lr=1.0).step()
        assert layer.weight.tolist() == [[-2.0] * 3, [0.0] * 3] and layer.weight.is_leaf


@pytest.mark.oracle
def test_levels_that_are_not_there(oracle: Any) -> None:
    def found(torch: Any) -> Any:
        forward = torch.autograd.forward_ad
        with pytest.raises(RuntimeError) as error:
            forward.exit_dual_level()
        return str(error.value), tuple(forward.unpack_dual(3))
    assert found(torch) == found(oracle)
