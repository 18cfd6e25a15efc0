"""Native code accumulates first gradients as Python does, and leaves the rest to it."""

from __future__ import annotations

import importlib
import sys

import pytest

import flambeau as torch

pytest.importorskip("llvmlite")
importlib.import_module("flambeau.executors.native.run")
templates = importlib.import_module("flambeau.autograd.templates")
readings = importlib.import_module("flambeau.autograd.readings")
accumulating = importlib.import_module("flambeau.tensor.recording.native.accumulating")


@pytest.fixture(params=["natively", "in Python"])
def accumulate(request, monkeypatch):
    natively = accumulating.accumulator(readings.Reading) if request.param == "natively" else None
    monkeypatch.setattr(templates, "_natively", natively)
    return templates.accumulate_all


def leaf(value, *shape):
    return torch.full(shape or (2, 3), float(value), requires_grad=True)


def on_its_way(value, *shape):
    return readings.travelling(torch.full(shape or (2, 3), float(value)))


def test_gradients_are_given_in_order(accumulate):
    order = []
    simple, had, hooked, last, detached = [leaf(i) for i in range(5)]
    had.grad = torch.full((2, 3), 10.0)
    hooked.register_post_accumulate_grad_hook(
        lambda x: order.append((simple.grad is not None, last.grad is not None)))
    detached.requires_grad_(False)
    crossed = torch.zeros(3, 2).t().requires_grad_()
    tensor = torch.full((2, 3), 6.0)
    other = leaf(7)
    accumulate([(simple, on_its_way(1)), (had, on_its_way(2)), (hooked, on_its_way(3)), (last, on_its_way(4)),
                (detached, on_its_way(5)), (crossed, on_its_way(6)), (other, tensor)])
    assert order == [(True, False)]
    assert [x.grad[0, 0].item() for x in (simple, had, hooked, last, crossed, other)] == [1, 12, 3, 4, 6, 6]
    assert detached.grad is None and crossed.grad.stride() == (1, 2)
    assert type(simple.grad) is torch.Tensor and not simple.grad.requires_grad and simple.grad.is_leaf
    simple.grad.add_(1)
    assert simple.grad[0, 0].item() == 2 and simple.grad._version == 1


def test_parameters_and_nothing(accumulate):
    parameter = torch.nn.Parameter(torch.ones(4))
    accumulate([])
    accumulate([(parameter, on_its_way(2, 4))])
    assert parameter.grad.tolist() == [2.0] * 4


def test_references_are_let_go_of(accumulate):
    x, grad = leaf(1), on_its_way(2)
    before = sys.getrefcount(x), sys.getrefcount(grad[0]), sys.getrefcount(grad), sys.getrefcount(x._geometry)
    for _ in range(100):
        accumulate([(x, grad)])
        x.grad = None
    after = sys.getrefcount(x), sys.getrefcount(grad[0]), sys.getrefcount(grad), sys.getrefcount(x._geometry)
    assert before == after
