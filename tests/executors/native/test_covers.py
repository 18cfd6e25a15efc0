"""Convolutions whose kernel covers the input once, which are products, give what the interpreter gives."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from flambeau.executors.native.templates.convolutions import covers
from tests.executors.native.agreement import check

F = flambeau.nn.functional
TOLERANCES = {flambeau.float32: 1e-4, flambeau.float64: 1e-11, flambeau.bfloat16: 3e-2,
              flambeau.float16: 4e-3}
SPACES = [(1,), (7,), (1, 1), (4, 4), (5, 3), (2, 3, 4)]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The plans that are made."""
    made: list[str] = []

    def watched(name: str) -> Any:
        plan = getattr(covers, name)

        def make(*arguments: Any) -> Any:
            made.append(name)
            return plan(*arguments)
        return make
    for name in ("forward_plan", "input_plan", "weight_plan"):
        monkeypatch.setattr(covers, name, watched(name))
    return made


def _gradients(function: Any) -> Any:
    def run(*operands: Tensor) -> Any:
        leaves = [x.detach().requires_grad_() for x in operands]
        out = function(*leaves)
        return out, flambeau.autograd.grad((out * (out.detach() + 1)).sum(), leaves)
    return run


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("outs", [1, 6])
def test_agrees(space: tuple[int, ...], outs: int, dtype: Any, planned: list[str]) -> None:
    flambeau.manual_seed(0)
    x, w = (flambeau.randn(n, 3, *space).to(dtype) for n in (5, outs))
    bias, dims = flambeau.randn(outs).to(dtype), len(space)
    flambeau.synchronize()
    forward, transposed = getattr(F, f"conv{dims}d"), getattr(F, f"conv_transpose{dims}d")
    check(_gradients(forward), (x, w, bias), "convolution", TOLERANCES[dtype])
    check(_gradients(forward), (x, w), "convolution_weight", TOLERANCES[dtype])
    assert set(planned) == {"forward_plan", "input_plan", "weight_plan"}
    points = flambeau.randn(5, outs, *[1] * dims).to(dtype)
    flambeau.synchronize()
    check(_gradients(transposed), (points, w), "convolution_input", TOLERANCES[dtype])


def test_others_are_not_taken_for_such(planned: list[str]) -> None:
    """One pixel comes out, but some of the input is read twice, or not, or by groups."""
    flambeau.manual_seed(0)
    x, w = flambeau.randn(2, 4, 5, 5), flambeau.randn(6, 4, 3, 3)
    flambeau.synchronize()
    check(lambda x, w: F.conv2d(x, w, stride=3), (x, w), "convolution", 1e-4)
    check(lambda x, w: F.conv2d(x, w, dilation=2), (x, w), "convolution", 1e-4)
    check(lambda x, w: F.conv2d(x[:, :, :3, :3], w[:, :2], groups=2), (x, w), "convolution", 1e-4)
    check(lambda x, w: F.conv2d(x[:, :, 1:4, 1:4], w), (x, w), "convolution", 1e-4)
    check(lambda x, w: F.conv_transpose2d(x[:, :, :1, :1], w[:4], stride=2, output_padding=1), (x, w),
          "convolution_input", 1e-4)
    check(lambda x, w: F.conv2d(x[:, :, :3, :3].contiguous(memory_format=flambeau.channels_last), w), (x, w),
          "convolution", 1e-4)
    assert not planned
