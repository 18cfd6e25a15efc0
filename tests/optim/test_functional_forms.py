"""The optimizers' functional forms beside the optimizers: the same steps on lists of tensors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import flambeau as torch
from flambeau.optim import _functional

# Function; optimizer and its options; states by the functions' arguments; options of the function.
BETAS = {"beta1": 0.9, "beta2": 0.99}
FORMS: list[tuple[str, str, dict[str, Any], list[str], dict[str, Any]]] = [
    ("adam", "Adam", {"betas": (0.9, 0.99), "amsgrad": True},
     ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"],
     {**BETAS, "amsgrad": True, "eps": 1e-8, "maximize": False}),
    ("adamw", "AdamW", {"betas": (0.9, 0.99), "maximize": True}, ["exp_avg", "exp_avg_sq", "none", "step"],
     {**BETAS, "amsgrad": False, "eps": 1e-8, "maximize": True}),
    ("adagrad", "Adagrad", {"lr_decay": 0.1}, ["sum", "step"],
     {"lr_decay": 0.1, "eps": 1e-10, "maximize": False}),
    ("rmsprop", "RMSprop", {"momentum": 0.5, "centered": True},
     ["square_avg", "grad_avg", "momentum_buffer", "step"],
     {"alpha": 0.99, "eps": 1e-8, "momentum": 0.5, "centered": True}),
    ("adadelta", "Adadelta", {}, ["square_avg", "acc_delta", "step"],
     {"rho": 0.9, "eps": 1e-6, "maximize": False}),
    ("nadam", "NAdam", {"betas": (0.9, 0.99)}, ["exp_avg", "exp_avg_sq", "mu_product", "step"],
     {**BETAS, "momentum_decay": 4e-3, "eps": 1e-8}),
    ("radam", "RAdam", {"betas": (0.9, 0.99)}, ["exp_avg", "exp_avg_sq", "step"], {**BETAS, "eps": 1e-8}),
    ("adamax", "Adamax", {"betas": (0.9, 0.99)}, ["exp_avg", "exp_inf", "step"], {**BETAS, "eps": 1e-8}),
    ("asgd", "ASGD", {"t0": 1}, ["ax", "mu", "eta", "step"], {"lambd": 1e-4, "t0": 1, "alpha": 0.75}),
]


def grads_of(step: int) -> list[torch.Tensor]:
    torch.manual_seed(step)
    return [torch.randn(3), torch.randn(2, 2)]


@pytest.mark.parametrize("name, kind, options, states, more", FORMS, ids=[form[0] for form in FORMS])
def test_a_step_is_the_optimizers(name: str, kind: str, options: Any, states: list[str], more: Any) -> None:
    function = getattr(_functional, name)
    assert function is getattr(import_module(f"flambeau.optim.{name}"), name)
    params = [torch.ones(3), torch.ones(2, 2)]
    own = [torch.nn.Parameter(p.clone()) for p in params]
    decay = 0.01
    optimizer = getattr(torch.optim, kind)(own, lr=0.1, weight_decay=decay, **options)
    first = {"mu_product": 1.0, "mu": 1.0, "eta": 0.1}
    lists = [[] if each == "none" else [torch.tensor(first.get(each, 0.0)) if each in (*first, "step")
                                        else torch.zeros_like(p) for p in params] for each in states]
    for step in range(4):
        grads = grads_of(step)
        for p, g in zip(own, grads):
            p.grad = g.clone()
        optimizer.step()
        function(params, grads, *lists, lr=0.1, weight_decay=decay, **more)
    torch.testing.assert_close(params, [p.detach() for p in own])
    for each, column in zip(states, lists):
        if each != "none":
            torch.testing.assert_close(column, [optimizer.state[p][each] for p in own])


@pytest.mark.parametrize("momentum, nesterov", [(0, False), (0.9, False), (0.9, True)])
def test_sgd_makes_its_buffers(momentum: float, nesterov: bool) -> None:
    params, buffers = [torch.ones(3), torch.ones(2, 2)], [None, None]
    own = [torch.nn.Parameter(p.clone()) for p in params]
    optimizer = torch.optim.SGD(own, 0.1, momentum=momentum, nesterov=nesterov)
    for step in range(3):
        grads = grads_of(step)
        for p, g in zip(own, grads):
            p.grad = g.clone()
        optimizer.step()
        _functional.sgd(params, grads, buffers, lr=0.1, momentum=momentum, weight_decay=0, dampening=0,
                        nesterov=nesterov, maximize=False)
    torch.testing.assert_close(params, [p.detach() for p in own])
    assert (buffers[0] is None) == (momentum == 0)


def test_rprop_and_scaled_gradients() -> None:
    params, own = [torch.ones(3)], [torch.nn.Parameter(torch.ones(3))]
    optimizer = torch.optim.Rprop(own, 0.1)
    lists = [[torch.zeros(3)], [torch.full((3,), 0.1)], [torch.tensor(0.0)]]
    for step in range(3):
        own[0].grad = grads_of(step)[0]
        optimizer.step()
        _functional.rprop(params, [own[0].grad], *lists, step_size_min=1e-6, step_size_max=50.0, etaminus=0.5,
                          etaplus=1.2)
    torch.testing.assert_close(params[0], own[0].detach())
    x, common = [torch.ones(2)], {"weight_decay": 0, "momentum": 0, "dampening": 0, "nesterov": False}
    _functional.sgd(x, [torch.full((2,), 4.0)], [None], lr=0.5, maximize=False, fused=True,
                    grad_scale=torch.tensor(4.0), **common)
    assert x[0].tolist() == [0.5, 0.5]
    infinite = torch.tensor(1.0)
    _functional.sgd(x, [torch.ones(2)], [None], lr=0.5, maximize=False, fused=True, found_inf=infinite,
                    **common)
    assert x[0].tolist() == [0.5, 0.5]
    with pytest.raises(AssertionError, match="Expected grad_scale and found_inf to be None"):
        _functional.sgd(x, [torch.ones(2)], [None], lr=0.5, maximize=False, found_inf=infinite, **common)


def test_helpers_of_optimizers_written_after_pytorchs() -> None:
    from flambeau.optim import optimizer as helpers

    class Tells(torch.optim.Optimizer):
        def __init__(self, params: Any, differentiable: bool = False) -> None:
            super().__init__(params, {"differentiable": differentiable})

        @helpers._use_grad_for_differentiable
        def step(self, closure: Any = None) -> bool:
            return torch.is_grad_enabled()
    p = [torch.nn.Parameter(torch.ones(1))]
    assert (Tells(p).step(), Tells(p, True).step()) == (False, True)
    assert [helpers._default_to_fused_or_foreach(p, d, f) for d in (False, True) for f in (False, True)] == [
        (False, False), (True, False), (False, False), (False, False)]
    assert (helpers._get_value(torch.tensor(2.0)), helpers._get_value(3)) == (2, 3)
    assert helpers._stack_if_compiling(4) == 4
    params, grads = ([torch.ones(2, dtype=torch.complex64), torch.ones(1)] for _ in range(2))
    helpers._view_as_real(params, grads)
    assert [tuple(x.shape) for x in (*params, *grads)] == [(2, 2), (1,)] * 2
    assert helpers._disable_dynamo_if_unsupported()(len) is len
