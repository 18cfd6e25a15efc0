"""Transforms called under ``no_grad`` differentiate inside, and give what nothing outside depends on."""

from typing import Any

import flambeau as torch
from flambeau.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp

X = torch.arange(3.0)


def _function(w: Any) -> Any:
    return (w * X).sin().sum()


def test_results_require_no_gradient() -> None:
    w = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        found = [grad(_function)(w), *jvp(_function, (w,), (X,)), vjp(_function, w)[0],
                 vjp(_function, w)[1](torch.tensor(1.0))[0], jacrev(_function)(w), jacfwd(_function)(w),
                 hessian(_function)(w), grad_and_value(_function)(w)[1]]
    assert not any(x.requires_grad for x in found)
    assert found[0].tolist() == grad(_function)(w).tolist()
    value, pull = vjp(_function, w)
    with torch.no_grad():
        assert not pull(torch.tensor(1.0))[0].requires_grad
    assert value.requires_grad and pull(torch.tensor(1.0))[0].requires_grad


def test_inside_another_transform_they_are_constants() -> None:
    def outer(a: Any) -> Any:
        with torch.no_grad():
            inner = grad(_function)(a)
        return (inner * a).sum()
    assert torch.equal(grad(outer)(torch.ones(3)), grad(_function)(torch.ones(3)))
