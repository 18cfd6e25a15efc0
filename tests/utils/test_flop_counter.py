"""Counts of operations, as PyTorch 2.13 gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
import flambeau.nn.functional as F
from flambeau.utils.flop_counter import FlopCounterMode


def param(*shape: int) -> Any:
    return torch.ones(*shape, requires_grad=True)


def ones(*shape: int) -> Any:
    return torch.ones(*shape)


CASES: list[tuple[Callable[[], Any], dict[str, int]]] = [
    (lambda: ones(2, 3) @ ones(3, 4), {"mm": 48}),
    (lambda: torch.bmm(ones(2, 3, 4), ones(2, 4, 5)), {"bmm": 240}),
    (lambda: ones(2, 3, 4) @ ones(2, 4, 5), {"bmm": 240}),
    (lambda: ones(6, 2, 3, 4) @ ones(4, 5), {"mm": 1440}),
    (lambda: (param(2, 3) @ param(3, 4)).sum().backward(), {"mm": 144}),
    (lambda: (ones(2, 3) @ param(3, 4)).sum().backward(), {"mm": 96}),
    (lambda: (param(2, 3, 4) @ param(2, 4, 5)).sum().backward(), {"bmm": 720}),
    (lambda: F.conv2d(param(1, 2, 5, 5), param(4, 2, 3, 3), padding=1).sum().backward(),
     {"convolution": 3600, "convolution_backward": 7200}),
    (lambda: F.conv1d(ones(1, 2, 5), ones(4, 1, 3), stride=2, groups=2), {"convolution": 48}),
    (lambda: ones(3) @ ones(3), {}),
    (lambda: torch.addmm(ones(4), ones(2, 3), ones(3, 4)), {"addmm": 48}),
    (lambda: torch.baddbmm(ones(2, 3, 5), ones(2, 3, 4), ones(2, 4, 5)), {"baddbmm": 240}),
    (lambda: F.linear(param(2, 5, 3), param(4, 3), param(4)).sum().backward(), {"addmm": 240, "mm": 480}),
    (lambda: torch.nn.MultiheadAttention(4, 2)(ones(2, 1, 4), ones(2, 1, 4), ones(2, 1, 4)),
     {"addmm": 256, "bmm": 64}),
]


@pytest.mark.parametrize(("run", "expected"), CASES)
def test_operations_are_counted(run: Callable[[], Any], expected: dict[str, int]) -> None:
    with FlopCounterMode(display=False) as counter:
        run()
    counts = counter.get_flop_counts()["Global"]
    assert {str(name).removeprefix("aten."): n for name, n in counts.items()} == expected


def test_modules_have_counts_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2, bias=False)))
    with FlopCounterMode() as counter:
        net(ones(5, 3)).sum().item()
        net(ones(2, 5, 3))
    by_module = {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()}
    assert by_module == {"Sequential": 600, "Sequential.0": 360, "Sequential.2": 240, "Sequential.2.0": 240,
                         "Global": 600}
    assert counter.get_total_flops() == 600
    assert "Sequential.0     360     60.00%" in capsys.readouterr().out
