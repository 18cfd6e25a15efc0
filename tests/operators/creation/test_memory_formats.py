"""Memory formats of results and gradients are PyTorch's, as recorded by record_memory_formats.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from memory_format_cases import answers  # noqa: E402

FACTS = json.loads((HERE / "memory_formats.json").read_text())
F = torch.nn.functional
LAST = torch.channels_last


@pytest.mark.parametrize("name", FACTS)
def test_lies_as_in_pytorch(name: str) -> None:
    ndim, function = name.split(" ", 1)
    assert answers(torch, int(ndim), function) == FACTS[name]


def of_leaf(leaf: Any, loss: Any) -> Any:
    leaf = leaf.detach().requires_grad_()
    for _ in range(3):      # what is recorded by rules at first is repeated from then on
        leaf.grad = None
        loss(leaf).backward()
    return leaf.grad


@pytest.mark.parametrize("loss", [lambda p: p.sum(), lambda p: p.mean(), lambda p: p.square().sum(),
                                  lambda p: (p * torch.ones(2, 4, 6, 8)).sum(),
                                  lambda p: p.permute(0, 2, 3, 1).reshape(-1).square().sum()])
def test_gradients_lie_as_their_leaves(loss: Any) -> None:
    x = torch.randn(2, 4, 6, 8)
    turned = x.transpose(0, 1).contiguous().transpose(0, 1)
    assert of_leaf(x, loss).stride() == (192, 48, 8, 1)
    assert of_leaf(x.contiguous(memory_format=LAST), loss).stride() == (192, 1, 32, 4)
    assert of_leaf(turned, loss).stride() == (48, 96, 8, 1)
    assert of_leaf(torch.cat([x, x], -1)[..., ::2], loss).is_contiguous()
    assert of_leaf(x[:1].expand(2, 4, 6, 8), loss).is_contiguous()


def test_modules_become_channels_last() -> None:
    conv = torch.nn.Conv2d(4, 6, 1).to(memory_format=LAST)
    assert conv.weight.stride() == (4, 1, 4, 4)
    layers = torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3), torch.nn.BatchNorm2d(6), torch.nn.ReLU(),
                                 torch.nn.MaxPool2d(2)).to(memory_format=LAST)
    y = layers(torch.randn(2, 4, 9, 9))
    y.sum().backward()
    assert y.is_contiguous(memory_format=LAST) and not y.is_contiguous()
    assert layers[0].weight.grad.stride() == layers[0].weight.stride() == (36, 1, 12, 4)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        y.view(2, -1)


def test_to_looks_at_what_strides_suggest() -> None:
    thin = torch.ones(2, 4, 1, 1)
    assert thin.contiguous(memory_format=LAST) is thin
    assert thin.to(memory_format=LAST).stride() == (4, 1, 4, 4)
    turned = torch.ones(4, 2, 6, 8).transpose(0, 1)
    assert turned.to(memory_format=torch.contiguous_format) is turned
    assert turned.to(torch.float64, memory_format=torch.contiguous_format).is_contiguous()


def test_dropout_draws_in_the_order_of_memory() -> None:
    x = torch.ones(2, 3, 4, 5)
    torch.manual_seed(3)
    contiguous = F.dropout(x.permute(0, 2, 3, 1).contiguous())
    torch.manual_seed(3)
    last = F.dropout(x.contiguous(memory_format=LAST))
    assert last.is_contiguous(memory_format=LAST)
    assert torch.equal(last.permute(0, 2, 3, 1), contiguous)
