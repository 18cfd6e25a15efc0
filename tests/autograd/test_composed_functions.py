"""Losses show one ``grad_fn``, which leads to their operands; gradients run through what was recorded."""

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
import flambeau.nn.functional as F

LOSSES: dict[str, Callable[..., Any]] = {
    "MseLossBackward0": F.mse_loss,
    "SmoothL1LossBackward0": F.smooth_l1_loss,
    "HuberLossBackward0": F.huber_loss,
    "BinaryCrossEntropyBackward0": F.binary_cross_entropy,
    "BinaryCrossEntropyWithLogitsBackward0": F.binary_cross_entropy_with_logits,
    "SoftMarginLossBackward0": F.soft_margin_loss,
}


def _walk(fn: Any) -> list[str]:
    names = []
    while fn is not None:
        names.append(type(fn).__name__)
        fn = fn.next_functions[0][0] if fn.next_functions else None
    return names


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_one_function(name: str, reduction: str) -> None:
    x = torch.tensor([[0.2, 0.7], [0.9, 0.4]], requires_grad=True)
    loss = LOSSES[name](x * 0.5, torch.ones(2, 2), reduction=reduction)
    assert _walk(loss.grad_fn) == [name, "MulBackward0", "AccumulateGrad"]
    assert loss.grad_fn.next_functions[1:] == (() if name.startswith("Soft") else ((None, 0),))
    assert loss.grad_fn.name() == name


def test_gradients_and_hooks_are_those_of_the_whole() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = F.mse_loss(x, torch.zeros(2))
    seen = []
    loss.grad_fn.register_hook(lambda into, out: seen.append(out[0].item()))
    (loss * 3).backward()
    assert x.grad.tolist() == [3.0, 6.0]
    assert seen == [3.0]
    first, = torch.autograd.grad(F.mse_loss(x, torch.zeros(2)), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [1.0, 1.0]


def test_margin_losses_lead_to_the_scores() -> None:
    x = torch.tensor([[0.2, 0.7], [0.9, 0.4]], requires_grad=True)
    target = torch.tensor([0, 1])
    assert _walk(F.multi_margin_loss(x, target).grad_fn) == ["MultiMarginLossBackward0", "AccumulateGrad"]
    several = F.multilabel_margin_loss(x, torch.tensor([[0, -1], [1, -1]]))
    assert _walk(several.grad_fn) == ["MultilabelMarginLossBackward0", "AccumulateGrad"]


def test_a_linear_layer_leads_to_its_bias_first() -> None:
    layer = torch.nn.Linear(2, 2)
    hidden = layer(torch.ones(1, 2)).relu()
    out = layer(hidden)
    ends = [fn for fn, _ in out.grad_fn.next_functions]
    assert ends[0].variable is layer.bias and ends[1] is hidden.grad_fn and ends[2].variable is layer.weight
    plain = torch.nn.Linear(2, 2, bias=False)
    ends = [fn for fn, _ in plain(torch.ones(1, 2)).grad_fn.next_functions]
    assert ends[0] is None and ends[1].variable is plain.weight and len(ends) == 2
