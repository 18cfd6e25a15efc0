"""torch.library: operators of one's own."""

from __future__ import annotations

from typing import Any

import pytest


def _scale(torch: Any, name: str) -> Any:
    def scale(x, s=2.0):
        return x * s

    scale.__annotations__ = {"x": torch.Tensor, "s": float, "return": torch.Tensor}
    return torch.library.custom_op(f"tests::{name}", scale, mutates_args=())


def test_call_by_every_name(torch: Any) -> None:
    _scale(torch, "called")
    x = torch.ones(2)
    assert torch.ops.tests.called(x, 3.0).tolist() == [3.0, 3.0]
    assert torch.ops.tests.called.default(x, s=3.0).tolist() == [3.0, 3.0]
    assert str(torch.ops.tests.called.default) == "tests.called.default"
    assert not hasattr(torch.ops.tests, "absent")


def test_gradient(torch: Any) -> None:
    op = _scale(torch, "derived")
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"Trying to backward through tests\.derived\.default but no autograd formula"
    ):
        op(x).sum().backward()

    def setup(ctx, inputs, output):
        ctx.scale = inputs[1]

    op.register_autograd(lambda ctx, grad: (grad * ctx.scale, None), setup_context=setup)
    result = op(x)
    assert type(result.grad_fn).__name__ == "GeneratedBackwardFor_tests_derived_defaultBackward"
    result.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_shapes_without_values(torch: Any) -> None:
    op = _scale(torch, "shaped")
    op.register_fake(lambda x, s=2.0: torch.empty_like(x))
    assert op(torch.ones(3, device="meta")).shape == (3,)


def test_an_input_must_not_come_back(torch: Any) -> None:
    def same(x):
        return x

    same.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op("tests::same", same, mutates_args=())
    with pytest.raises(RuntimeError, match="must not also be an input"):
        op(torch.ones(1))


def test_libraries(torch: Any) -> None:
    library = torch.library.Library("tests_lib", "DEF")
    library.define("plus(Tensor x) -> Tensor")
    library.impl("plus", lambda x: x + 5, "CPU")
    assert torch.ops.tests_lib.plus(torch.ones(1)).tolist() == [6.0]
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.library.register_fake("tests_lib::absent", lambda x: x)


def test_kernels_for_autocast(torch: Any) -> None:
    library = torch.library.Library("tests_autocast", "DEF")
    library.define("half(Tensor x) -> Tensor")
    library.impl("half", lambda x: x / 2, "CPU")
    library.impl("half", lambda x: x.to(torch.bfloat16) / 2, "AutocastCPU")
    assert torch.ops.tests_autocast.half(torch.ones(1)).dtype is torch.float32
    with torch.autocast("cpu"):
        assert torch.ops.tests_autocast.half(torch.ones(1)).dtype is torch.bfloat16


def test_operands_cast_while_autocast_is_on(torch: Any) -> None:
    def total(x, y, n):
        assert not torch.is_autocast_enabled("cpu")
        return (x + y) * n

    total.__annotations__ = {"x": torch.Tensor, "y": torch.Tensor, "n": int, "return": torch.Tensor}
    op = torch.library.custom_op("tests::total", total, mutates_args=())
    op.register_autocast("cpu", torch.bfloat16)
    single, double, whole = (torch.ones(2, dtype=d) for d in (torch.float32, torch.float64, torch.int64))
    with torch.autocast("cpu"):
        assert op(single, whole, 2).dtype is torch.bfloat16
        assert op(double, whole, 2).dtype is torch.float64
    assert op(single, whole, 2).dtype is torch.float32
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        op.register_autocast(3, torch.bfloat16)


def test_a_kernel_for_autograd_is_used_where_a_gradient_is_asked_for(torch: Any) -> None:
    lib = torch.library.Library("test_autograd_key", "DEF")
    lib.define("twice(Tensor x) -> Tensor")

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x + x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    lib.impl("twice", lambda x: x + x, "CPU")
    lib.impl("twice", Twice.apply, "Autograd")
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.test_autograd_key.twice(x)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([2, 2], [2, 2])
    with torch.no_grad():
        assert torch.ops.test_autograd_key.twice(x).grad_fn is None


def test_what_registering_kernels_gives_back(torch: Any) -> None:
    torch.library.define("flambeau_tests::given", "(Tensor x) -> Tensor")
    assert torch.library.impl("flambeau_tests::given", "CPU", lambda x: x + 1) is None
    assert torch.ops.flambeau_tests.given(torch.ones(1)).item() == 2
    operator = torch.library.custom_op("flambeau_tests::own", lambda x: x + 2, mutates_args=(),
                                       schema="(Tensor x) -> Tensor")

    def kernel(x: Any) -> Any:
        return x + 3

    assert torch.library.register_kernel(operator, "cpu", kernel) is kernel
    assert operator(torch.ones(1)).item() == 4
