"""Gradients of each example: those of a loop over examples."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn.utils._per_sample_grad import call_for_per_sample_grads

MODELS: list[tuple[Any, Any]] = [
    (lambda: nn.Sequential(nn.Conv1d(2, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(9, 2)), (4, 2, 4)),
    (lambda: nn.Conv2d(2, 4, 3, padding=1, groups=2), (3, 2, 5, 5)),
    (lambda: nn.Conv3d(1, 2, 2, stride=2, bias=False), (3, 1, 4, 4, 4)),
    (lambda: nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh()), (3, 2, 4)),
    (lambda: nn.GroupNorm(2, 4), (3, 4, 5)),
    (lambda: nn.InstanceNorm1d(4, affine=True), (3, 4, 5)),
]


@pytest.mark.parametrize(("make", "shape"), MODELS)
def test_equal_to_those_of_single_examples(make: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model, x = make(), torch.randn(*shape)
    call_for_per_sample_grads(model)(x).square().sum().backward()
    for p in model.parameters():
        assert p.grad is None
        for i in range(shape[0]):
            (expected,) = torch.autograd.grad(model(x[i:i + 1]).square().sum(), p)
            torch.testing.assert_close(p.grad_sample[i], expected, rtol=1e-4, atol=1e-5)


def test_embeddings_means_and_the_place_of_the_batch() -> None:
    embedding = nn.Embedding(3, 1)
    call_for_per_sample_grads(embedding)(torch.tensor([[1, 1], [0, 2]])).sum().backward()
    assert embedding.weight.grad_sample.squeeze().tolist() == [[0, 2, 0], [1, 0, 1]]
    layer, x = nn.Linear(2, 2), torch.ones(5, 3, 2)
    call_for_per_sample_grads(layer, loss_reduction="mean", batch_first=False)(x).mean(1).sum().backward()
    torch.testing.assert_close(layer.bias.grad_sample, torch.full((3, 2), 5.0))
    frozen = nn.Linear(2, 2).requires_grad_(False)
    frozen.bias.requires_grad_(True)
    call_for_per_sample_grads(frozen)(torch.ones(3, 2)).sum().backward()
    assert not hasattr(frozen.weight, "grad_sample") and frozen.bias.grad_sample.shape == (3, 2)


def test_a_layer_that_is_used_twice_sums() -> None:
    layer = nn.Linear(2, 2)
    call_for_per_sample_grads(nn.Sequential(layer, layer))(torch.ones(3, 2)).sum().backward()
    torch.testing.assert_close(layer.bias.grad_sample, (1 + layer.weight.detach().sum(0)).expand(3, 2))
    with pytest.raises(RuntimeError, match="Please clear out the grad_sample parameter"):
        call_for_per_sample_grads(layer)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: call_for_per_sample_grads(abs), "Module passed must be nn.Module"),  # type: ignore[arg-type]
    (lambda: call_for_per_sample_grads(nn.Tanh(), batch_size="a"),  # type: ignore[arg-type]
     "Batch size passed must be None or an integer, got str"),
    (lambda: call_for_per_sample_grads(nn.Tanh(), loss_reduction="x"), "to be sum or mean, got x"),
    (lambda: call_for_per_sample_grads(nn.Linear(1, 1), batch_size=3)(torch.ones(2, 1)),
     "input batch size of 2 with ExpandedWeight of batch size 3"),
    (lambda: call_for_per_sample_grads(nn.BatchNorm1d(1))(torch.ones(2, 1)),
     "cannot handle function batch_norm"),
])
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()
