"""``torch.autograd.functional``: results, and the errors of wrong vectors and of strict mode."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import flambeau

# Expressions of F (the module), x, y and v (vectors of two) and of functions of them.
RESULTS = {
    "F.vjp(square, x, v)": "(tensor([1., 4.]), tensor([ 2., 40.]))",
    "F.vjp(first, (x, y))": "(tensor(6.), (tensor([2., 2.]), tensor([0., 0.])))",
    "F.vjp(detached, x, v)": "(tensor([2., 4.]), tensor([0., 0.]))",
    "F.jvp(square, x, v)": "(tensor([1., 4.]), tensor([ 2., 40.]))",
    "F.jvp(detached, x, v)": "(tensor([2., 4.]), tensor([0., 0.]))",
    "F.hvp(apart, (x, y), (v, v))": "(tensor(30.), (tensor([ 2., 20.]), tensor([ 2., 20.])))",
    "F.vhp(apart, (x, y), (v, v), strict=True)": "(tensor(30.), (tensor([ 2., 20.]), tensor([ 2., 20.])))",
    "F.hvp(lambda a: detached(a).sum(), x, v)": "(tensor(6.), tensor([0., 0.]))",
    "F.jacobian(square, x)": "tensor([[2., 0.], [0., 4.]])",
    "F.jacobian(square, x, vectorize=True)": "tensor([[2., 0.], [0., 4.]])",
    "F.jacobian(square, x, vectorize=True, strategy='forward-mode')": "tensor([[2., 0.], [0., 4.]])",
    "F.jacobian(lambda a, b: (a * b, a.sum()), (x, y), vectorize=True, strategy='forward-mode')":
        "[[tensor([[3., 0.], [0., 4.]]), tensor([[1., 0.], [0., 2.]])], "
        "[tensor([1., 1.]), tensor([0., 0.])]]",
    "F.jacobian(lambda a: a * a, x[1])": "tensor(4.)",
    "F.jacobian(lambda a: a * a, x[1], vectorize=True)": "tensor(4.)",
    "F.jacobian(lambda a: a * a, x[1], vectorize=True, strategy='forward-mode')": "tensor(4.)",
    "F.hessian(lambda a: a * a, x[1])": "tensor(2.)",
    "F.hessian(lambda a: (a ** 3).sum(), x)": "tensor([[ 6., 0.], [ 0., 12.]])",
    "F.hessian(lambda a: detached(a).sum(), x)": "tensor([[0., 0.], [0., 0.]])",
}
INDEPENDENT = "The output of the user-provided function is independent of input 1"
ELSEWHERE = "Output 0 of the user-provided function is independent of input 1"
CONSTANT = "The jacobian of the user-provided function is independent of input 0"
TWICE = "the jacobian of the user-provided function with respect to input {} is independent of the input"
ERRORS = {
    "F.vjp(square, x, (v, v))": "The given v should contain a single Tensor",
    "F.vjp(lambda a, b: (a, b), (x, y), (v,))": "v is a tuple of invalid length: should be 2 but got 1",
    "F.vjp(lambda a, b: (a, b), (x, y), (v, v[:1]))": "Entry 1 in v has invalid size",
    "F.vjp(lambda a: [a, a], x, (v, v))": "must be either a Tensor or a tuple of Tensors",
    "F.vjp(square, x)": "The vector v can only be None if the user-provided function returns a single",
    "F.jvp(square, x)": "The vector v can only be None if the input to the user-provided function",
    "F.jvp(square, x, v[:1])": "v has invalid size: should be",
    "F.hvp(apart, (x, y))": "The vector v can only be None if the input to the user-provided function",
    "F.hvp(square, x, v)": "The Tensor returned by the function given to hvp should contain a single element",
    "F.vhp(lambda a: (a.sum(),), x, v)": "The function given to vhp should return a single Tensor",
    "F.hessian(lambda a: (a, a), x)": "The function given to hessian should return a single Tensor",
    "F.jacobian(square, x, strategy='both')": "Expected strategy to be either",
    "F.jacobian(square, x, strategy='forward-mode')": "only implemented for `vectorize=True`",
    "F.jacobian(square, x, strict=True, vectorize=True)": "are not supported together",
    "F.jacobian(square, x, True, vectorize=True, strategy='forward-mode')": "`create_graph=True` and",
    "F.vjp(first, (x, y), strict=True)": INDEPENDENT,
    "F.vjp(detached, x, v, strict=True)": "Output 0 of the user-provided function does not require gradients",
    "F.vjp(double, x, v, True, strict=True)": CONSTANT,
    "F.jvp(first, (x, y), (v, v), strict=True)": INDEPENDENT,
    "F.jvp(double, x, v, True, strict=True)": CONSTANT,
    "F.jacobian(first, (x, y), strict=True)": ELSEWHERE,
    "F.jacobian(double, x, True, strict=True)": CONSTANT,
    "F.hessian(apart, (x, y), strict=True)": ELSEWHERE,
    "F.hessian(first, (x, y), strict=True)": TWICE.format(0),
    "F.hvp(lambda a: double(a).sum(), x, v, strict=True)": TWICE.format(0),
    "F.vhp(lambda a, b: (a * a).sum(), (x, y), (v, v), strict=True)": INDEPENDENT,
    "F.vhp(first, (x, y), (v, v), strict=True)": TWICE.format(0),
    "F.hvp(apart, (x, y), (v, v), True, strict=True)": "The hessian of the user-provided function is",
}


def outcome(torch: ModuleType, expression: str) -> Any:
    """What an expression gives, in a framework."""
    tensor = torch.tensor
    return eval(expression, {
        "F": torch.autograd.functional,
        "x": tensor([1.0, 2.0]), "y": tensor([3.0, 4.0]), "v": tensor([1.0, 10.0]),
        "square": lambda a: a * a, "double": lambda a: a * 2, "detached": lambda a: a.detach() * 2,
        "first": lambda a, b: (a * 2).sum(), "apart": lambda a, b: (a * a).sum() + (b * b).sum(),
    })


@pytest.mark.parametrize("expression", RESULTS)
def test_results(torch: ModuleType, expression: str) -> None:
    assert " ".join(str(outcome(torch, expression)).split()) == RESULTS[expression]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(torch: ModuleType, expression: str) -> None:
    with pytest.raises((RuntimeError, TypeError, AssertionError)) as raised:
        outcome(torch, expression)
    assert ERRORS[expression] in str(raised.value)


@pytest.mark.oracle
@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_pytorchs(torch: ModuleType, oracle: ModuleType, expression: str) -> None:
    messages = []
    for framework in (torch, oracle):
        with pytest.raises(Exception) as raised:
            outcome(framework, expression)
        messages.append((type(raised.value), str(raised.value)))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_empty_inputs(strategy: str) -> None:
    """Where PyTorch fails."""
    found = flambeau.autograd.functional.jacobian(lambda x: x * x, flambeau.ones(0, 3), vectorize=True,
                                                  strategy=strategy)
    assert found.shape == (0, 3, 0, 3)
