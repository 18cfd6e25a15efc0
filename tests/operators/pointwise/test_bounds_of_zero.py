"""A zero that a bound of 0 meets keeps its sign, and NaN stays NaN, in every tier, as PyTorch 2.13 has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import flambeau as torch

F = torch.nn.functional
NAN = float("nan")
VALUES = [-0.0, 0.0, 1.0, -1.0, NAN, 5.0]
# what bounds the values; what becomes of them
BOUNDS: list[tuple[Callable[[torch.Tensor], torch.Tensor], list[float]]] = [
    (lambda x: x.clamp(min=0), [-0.0, 0.0, 1.0, 0.0, NAN, 5.0]),
    (lambda x: x.clamp(min=-0.0), [-0.0, 0.0, 1.0, -0.0, NAN, 5.0]),
    (lambda x: x.clamp(max=0), [-0.0, 0.0, 0.0, -1.0, NAN, 0.0]),
    (lambda x: x.clamp(max=-0.0), [-0.0, 0.0, -0.0, -1.0, NAN, -0.0]),
    (lambda x: x.clamp(0, 1), [-0.0, 0.0, 1.0, 0.0, NAN, 1.0]),
    (lambda x: x.clamp(-1, 0), [-0.0, 0.0, 0.0, -1.0, NAN, 0.0]),
    (lambda x: x.clamp(min=NAN), [NAN] * 6),
    (lambda x: torch.clamp_min(x, 0), [-0.0, 0.0, 1.0, 0.0, NAN, 5.0]),
    (lambda x: torch.clamp_max(x, 0), [-0.0, 0.0, 0.0, -1.0, NAN, 0.0]),
    (lambda x: x.clone().clamp_(min=0), [-0.0, 0.0, 1.0, 0.0, NAN, 5.0]),
    (lambda x: F.hardtanh(x, 0, 1), [-0.0, 0.0, 1.0, 0.0, NAN, 1.0]),
    (F.relu6, [-0.0, 0.0, 1.0, 0.0, NAN, 5.0]),
    (torch.relu, [-0.0, 0.0, 1.0, 0.0, NAN, 5.0]),
]


@pytest.mark.parametrize("tier", ["interpreter", "native"])
@pytest.mark.parametrize("count", [1, 6, 30, 300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_a_zero_within_its_bounds_keeps_its_sign(tier: str, count: int, dtype: torch.dtype) -> None:
    with torch.config.executor(tier):
        values = torch.tensor((VALUES * 50)[:count], dtype=dtype)
        for number, (bounded, expected) in enumerate(BOUNDS):
            found = [str(value) for value in bounded(values).tolist()]
            assert found == [str(value) for value in (expected * 50)[:count]], number
