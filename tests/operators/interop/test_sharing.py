"""Tensors in memory that processes share, under both ways to start processes."""

from __future__ import annotations

import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")


def _work(shared: torch.Tensor, model: nn.Module, queue: Any) -> None:
    shared.add_(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    queue.put([shared.is_shared(), *(p.is_shared() for p in model.parameters()), shared.tolist()])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_another_process_writes_is_seen_here(method: str) -> None:
    context = multiprocessing.get_context(method)
    shared, model = torch.zeros(4).share_memory_(), nn.Linear(3, 2)
    view, before = shared[1:3], model.weight.detach().clone()
    assert model.share_memory() is model
    queue = context.Queue()
    for n in range(1, 3):
        process = context.Process(target=_work, args=(shared, model, queue))
        process.start()
        assert queue.get(timeout=60) == [True, True, True, [float(n)] * 4]
        process.join()
        assert process.exitcode == 0
    assert view.tolist() == [2.0, 2.0]
    assert torch.allclose(model.weight, before - 1) and (shared + view[0]).tolist() == [4.0] * 4


def _serve(requests: Any, answers: Any) -> None:
    x = requests.get(timeout=60)
    x.mul_(3)
    answers.put(x)
    requests.get(timeout=60)    # the sender of a descriptor lives until it was taken


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.complex64])
def test_a_queue_passes_the_memory_on(dtype: Any) -> None:
    context = multiprocessing.get_context("fork")
    requests, answers = context.Queue(), context.Queue()
    process = context.Process(target=_serve, args=(requests, answers))
    process.start()
    x = torch.ones(2, 3, dtype=dtype).t().share_memory_()
    requests.put(x[1:])
    back = answers.get(timeout=60)
    assert back.is_shared() and back.stride() == x[1:].stride()
    back.add_(1)
    assert torch.equal(x, torch.tensor([[1, 1], [4, 4], [4, 4]], dtype=dtype))
    requests.put(torch.ones(1))
    process.join()


def test_what_is_shared_and_what_is_not() -> None:
    x = torch.arange(6.0).view(2, 3)
    view, copy = x[0], x.clone()
    assert not (x.is_shared() or view.is_shared() or x.untyped_storage().is_shared())
    assert x.share_memory_() is x
    assert x.is_shared() and view.is_shared() and x.untyped_storage().is_shared() and x.storage().is_shared()
    assert not any(y.is_shared() for y in (copy, x + 1, x.clone(), x.to(torch.float64)))
    assert torch.equal(x, copy) and torch.zeros(0).share_memory_().is_shared()
    assert torch.equal(pickle.loads(pickle.dumps(x)), copy)


def test_gradients_of_shared_parameters() -> None:
    weight = torch.ones(3, requires_grad=True).share_memory_()
    y = (weight * weight).sum()
    with torch.no_grad():
        weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    (weight * weight).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [4.0, 4.0, 4.0]


def test_results_with_a_history_are_not_sent() -> None:
    from multiprocessing.reduction import ForkingPickler

    x = torch.ones(2, requires_grad=True).share_memory_()
    assert pickle.loads(pickle.dumps(x * 2)).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"^Cowardly refusing to serialize non-leaf tensor"):
        ForkingPickler.dumps(x * 2)
    assert pickle.loads(ForkingPickler.dumps((x * 2).detach())).tolist() == [2.0, 2.0]


def test_truth_values_of_numpys_functions_are_bytes() -> None:
    x = np.isnan(torch.tensor([1.0, float("nan")]))
    assert x.dtype is torch.uint8 and x.tolist() == [0, 1]


def test_what_cannot_be_shared_is_told() -> None:
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Float' into dtype 'Int'"):
        torch.asarray(torch.ones(2), dtype=torch.int, copy=False)
    with pytest.raises(ValueError, match="can't alias tensor from device 'cpu' to 'meta'"):
        torch.asarray(torch.ones(2), device="meta", copy=False)
