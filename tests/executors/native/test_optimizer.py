"""Optimizer steps in native code: the interpreter's parameters and states, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import config
from flambeau.executors.native.templates import plan_of
from tests.executors.native.agreement import TEXTS

OPTIMIZERS: list[tuple[Any, dict[str, Any]]] = [
    (torch.optim.SGD, {"lr": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "maximize": True, "dampening": 0.1}),
    (torch.optim.Adam, {}),
    (torch.optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
    (torch.optim.AdamW, {"maximize": True}),
    (torch.optim.Adamax, {}),
    (torch.optim.NAdam, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    (torch.optim.RAdam, {}),
    (torch.optim.RMSprop, {}),
    (torch.optim.RMSprop, {"momentum": 0.9, "centered": True}),
    (torch.optim.Adagrad, {"lr_decay": 0.1}),
    (torch.optim.Adadelta, {}),
    (torch.optim.Rprop, {}),
    (torch.optim.ASGD, {"t0": 1}),
]
# Empty, scalar, short, with tails, of several tasks.
SHAPES: list[tuple[int, ...]] = [(5, 7), (1,), (), (0, 3), (33,), (17, 1, 3), (2, 2, 3, 5), (64, 300),
                                 (50_001,)]


def trained(tier: str, optimizer: Any, options: dict[str, Any], dtype: Any = torch.float32, steps: int = 7,
            shapes: list[tuple[int, ...]] = SHAPES) -> list[Any]:
    """Parameters and states after a few steps, along gradients of several geometries."""
    torch.manual_seed(0)
    with config.executor("interpreter"):
        params = [torch.randn(shape, dtype=dtype).requires_grad_() for shape in shapes]
        grads = [[_gradient(p, step + k) for k, p in enumerate(params)] for step in range(steps)]
        torch.synchronize()
    with config.executor(tier):
        optimizer = optimizer(params, **options)
        for step in range(steps):
            for p, grad in zip(params, grads[step]):
                p.grad = grad
            optimizer.step()
        found = [p.detach().numpy().copy() for p in params]
        for p in params:
            found += [x.numpy().copy() for _, x in sorted(optimizer.state[p].items())]
    return found


def _gradient(p: Any, variant: int) -> Any:
    grad = torch.randn(p.shape, dtype=p.dtype)
    if p.ndim > 1 and variant % 4 == 1:
        return torch.randn(p.shape[::-1], dtype=p.dtype).permute(*range(p.ndim)[::-1])
    if p.ndim and variant % 4 == 2:
        return torch.randn((*p.shape, 2), dtype=p.dtype)[..., 1]
    if p.ndim and variant % 4 == 3:
        return torch.randn(p.shape[:-1] + (1,), dtype=p.dtype).expand(p.shape)
    return grad


def check(*arguments: Any, **options: Any) -> None:
    """Both tiers train alike."""
    want, found = (trained(tier, *arguments, **options) for tier in ("interpreter", "native"))
    for x, y in zip(found, want, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("optimizer, options", OPTIMIZERS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_optimizers(optimizer: Any, options: dict[str, Any]) -> None:
    check(optimizer, options)


def test_double_precision() -> None:
    check(torch.optim.AdamW, {}, torch.float64)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_not_a_number(optimizer: Any) -> None:
    def run(tier: str) -> Any:
        with config.executor(tier):
            p = torch.tensor([1.0, float("nan"), 2.0, float("inf")]).requires_grad_()
            p.grad = torch.tensor([float("inf"), 1.0, float("nan"), 1.0])
            optimizer([p], lr=0.1).step()
            return p.detach().numpy()
    np.testing.assert_array_equal(run("native"), run("interpreter"))


def test_what_others_hold_stays() -> None:
    with config.executor("native"):
        p = torch.ones(1000).requires_grad_()
        p.grad = torch.ones(1000)
        optimizer = torch.optim.SGD([p], lr=0.5, momentum=0.5)
        before = p.detach().clone()
        view = p.detach()
        optimizer.step()
        buffer = optimizer.state[p]["momentum_buffer"].clone()
        optimizer.step()
        assert before.tolist() == [1.0] * 1000
        assert buffer.tolist() == [1.0] * 1000
        assert view.tolist() == p.tolist() == [-0.25] * 1000


def test_a_gradient_that_is_the_parameter() -> None:
    with config.executor("native"):
        p = torch.full((100,), 2.0).requires_grad_()
        p.grad = p.detach()
        torch.optim.SGD([p], lr=0.25).step()
        assert p.tolist() == [1.5] * 100


def test_numbers_and_shapes_compile_nothing() -> None:
    trained("native", torch.optim.AdamW, {"lr": 0.1})
    before = len(TEXTS)
    trained("native", torch.optim.AdamW, {"lr": 0.2, "eps": 1e-6}, shapes=[(12, 3), (70_000,), (4,)])
    assert len(TEXTS) == before


def test_it_is_native() -> None:
    p = torch.ones(3).requires_grad_()
    p.grad = torch.ones(3)
    with torch.no_grad():
        from flambeau.operators.optimization import optimizer as rules
        from flambeau.operators.optimization.multi_tensor import multi_tensor
        multi_tensor(rules.sgd, [p], [p.grad], [None], (0.1, 0.0, 0.0, 1.0),
                           {"maximize": False, "decay": False, "nesterov": False})
    node = p._storage.node.operands[0]
    assert plan_of(node.signature) is not None


def test_copies_stay_apart_when_a_part_was_interpreted() -> None:
    with config.executor("native"):
        params = [torch.tensor([1.0, 2.0]).requires_grad_(), torch.ones(0).requires_grad_()]
        optimizer = torch.optim.SGD(params, lr=1.0)
        for _ in range(3):
            for p in params:
                p.grad = p.detach() * 0.5  # of nothing: the interpreter computes it
            optimizer.step()
            kept = params[0].detach().clone()
        other = [p.detach().clone().requires_grad_() for p in params]
        again = torch.optim.SGD(other, lr=1.0)
        for p in other:
            p.grad = p.detach() * 0.5
        again.step()
        assert params[0].tolist() == kept.tolist() == [0.125, 0.25]
        assert other[0].tolist() == [0.0625, 0.125]
