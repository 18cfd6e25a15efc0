"""Functions with a derivative of their own inside of vmap, and with the other transforms."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.oracle


def functions(torch: ModuleType) -> tuple[Any, Any, list[Any]]:
    """A function that a rule is generated for, one with a rule of its own, and what that was told."""
    told: list[Any] = []

    class Scaled(torch.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, weight: Any, factor: float) -> Any:
            return x * weight * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, weight, ctx.factor = inputs
            ctx.save_for_backward(x, weight)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, weight = ctx.saved_tensors
            return grad * weight * ctx.factor, grad * x * ctx.factor, None

        @staticmethod
        def jvp(ctx: Any, tangent: Any, other: Any, _: Any) -> Any:
            return tangent * ctx.factor

    class Exp(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any) -> Any:
            return x.exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (output,) = ctx.saved_tensors
            return grad * output

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            told.append((info.batch_size, info.randomness, len(in_dims)))
            return Exp.apply(x), in_dims[0]

    return Scaled, Exp, told


CALLS = [
    "vmap(scaled, in_dims=(0, None))(x, w)",
    "vmap(scaled, in_dims=(None, 0))(w, x)",
    "vmap(func.grad(lambda a: scaled(a, w).sum()))(x)",
    "vmap(func.grad(lambda a, b: scaled(a, b).sum(), argnums=(0, 1)), in_dims=(0, None))(x, w)",
    "func.grad(lambda a: vmap(scaled, in_dims=(0, None))(a, w).sum())(x)",
    "func.grad(lambda b: vmap(scaled, in_dims=(0, None))(x, b).sum())(w)",
    "func.jacrev(lambda a: scaled(a, w))(w)",
    "func.jacrev(func.jacrev(lambda a: exp(a)))(w)",
    "vmap(vmap(scaled, in_dims=(0, None)), in_dims=(0, None))(cube, w.sum())",
    "vmap(vmap(func.grad(lambda a: exp(a).sum())))(cube)",
    "vmap(exp)(x)",
    "vmap(exp, in_dims=1, out_dims=1)(x)",
    "vmap(func.grad(lambda a: exp(a).sum()))(x)",
    "func.grad(lambda a: vmap(exp)(a).sum())(x)",
]


@pytest.mark.parametrize("call", CALLS)
def test_transforms(torch: ModuleType, oracle: ModuleType, call: str) -> None:
    def run(framework: ModuleType) -> Any:
        scaled, exp, told = functions(framework)
        names = {
            "func": framework.func,
            "vmap": framework.vmap,
            "scaled": lambda a, b: scaled.apply(a, b, 3.0),
            "exp": exp.apply,
            "x": framework.arange(6.0).view(2, 3),
            "w": framework.tensor([1.0, 2.0, -1.0]),
            "cube": framework.arange(12.0).view(2, 2, 3) / 10,
        }
        result = eval(call, names)
        results = result if isinstance(result, tuple) else (result,)
        return [np.asarray(x.tolist()) for x in results], told

    ours, theirs = run(torch), run(oracle)
    for mine, other in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    assert bool(ours[1]) == bool(theirs[1])
    assert ours[1][:1] == theirs[1][:1]


def test_backward_after_vmap(torch: ModuleType, oracle: ModuleType) -> None:
    """The level of the forward is gone by then; a second derivative passes through the same rule."""

    def run(framework: ModuleType) -> Any:
        scaled, _, _ = functions(framework)
        x = framework.arange(6.0).view(2, 3).requires_grad_()
        w = framework.tensor([1.0, 2.0, -1.0], requires_grad=True)
        y = framework.vmap(lambda a, b: scaled.apply(a, b, 2.0), in_dims=(0, None))(x, w)
        first, shared = framework.autograd.grad((y**2).sum(), (x, w), create_graph=True)
        (first.sum() + shared.sum()).backward()
        return [first.tolist(), shared.tolist(), x.grad.tolist(), w.grad.tolist()]

    assert run(torch) == run(oracle)


def test_two_rules_are_one_too_many(torch: ModuleType, oracle: ModuleType) -> None:
    def message(framework: ModuleType) -> str:
        _, exp, _ = functions(framework)
        both = type("Both", (exp,), {"generate_vmap_rule": True})
        with pytest.raises(RuntimeError) as caught:
            framework.vmap(both.apply)(framework.ones(2, 2))
        return str(caught.value)

    assert message(torch) == message(oracle)


def refusals(torch: ModuleType) -> list[str]:
    """What is said of Functions without a rule, and of rules that return something else."""
    class Square(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any) -> Any:
            return x * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

    class Older(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x

    class One(Square):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return (x * x,)

    class Three(Square):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x * x, (0, 0)

    said = []
    for function in (Square, Older, One, Three):
        with pytest.raises(RuntimeError) as caught:
            torch.vmap(function.apply)(torch.arange(3.0))
        said.append(str(caught.value))
    return said


def test_functions_without_a_rule_are_refused(torch: ModuleType, oracle: ModuleType) -> None:
    assert refusals(torch) == refusals(oracle)


@pytest.mark.parametrize("kept", ["save_for_forward", "save_for_backward"])
def test_forward_derivatives_of_functions_that_have_no_backward(torch: Any, kept: str) -> None:
    class Cube(torch.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, factor: float) -> Any:
            return x**3 * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            getattr(ctx, kept)(inputs[0])
            ctx.factor = inputs[1]

        @staticmethod
        def jvp(ctx: Any, tangent: Any, _: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * ctx.factor * tangent

    x = torch.tensor([1.0, 2.0])
    direction = torch.tensor([1.0, 0.5])
    value, derivative = torch.func.jvp(lambda a: Cube.apply(a, 2.0).sin(), (x,), (direction,))
    assert value.tolist() == (2 * x**3).sin().tolist()
    assert derivative.tolist() == pytest.approx(((2 * x**3).cos() * 6 * x**2 * direction).tolist())
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        torch.func.grad(lambda a: Cube.apply(a, 2.0).sum())(x)


def test_jacobians_of_numbers(torch: Any) -> None:
    x = torch.tensor(2.0)
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        assert transform(lambda a: a**3)(x).item() == 12.0
        assert transform(torch.func.jacrev(lambda a: a**3))(x).item() == 12.0
