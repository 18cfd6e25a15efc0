"""Gradient clipping in native code agrees with the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import config
from flambeau.executors.native.programs import known
from flambeau.executors.native.templates import plan_of
from tests.executors.native.agreement import TEXTS

SHAPES: list[list[tuple[int, ...]]] = [[(3,)], [(5, 7), (), (33,), (2, 3, 4)], [(300, 400), (1,), (70_001,)]]


def clipped(tier: str, shapes: list[tuple[int, ...]], dtype: Any, most: float, p: float = 2.0,
            poison: float = 0.0) -> list[Any]:
    """The norm, and the gradients after it."""
    torch.manual_seed(0)
    with config.executor(tier):
        params = [torch.zeros(shape, dtype=dtype).requires_grad_() for shape in shapes]
        for k, x in enumerate(params):
            grad = torch.randn(x.shape[::-1], dtype=dtype)
            x.grad = grad.permute(*range(x.ndim)[::-1]) if k % 2 == 0 else grad.reshape(x.shape)
        params[0].grad.add_(poison)
        norm = torch.nn.utils.clip_grad_norm_(params, most, p)
        return [norm.numpy(), *[x.grad.numpy() for x in params]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=len)
@pytest.mark.parametrize("most, p, poison", [(0.1, 2.0, 0.0), (1e6, 2.0, 0.0), (0.1, 1.0, 0.0),
                                             (1.0, 2.0, float("nan")), (1.0, 2.0, float("inf"))])
def test_clipping(shapes: list[tuple[int, ...]], dtype: Any, most: float, p: float, poison: float) -> None:
    want, found = (clipped(tier, shapes, dtype, most, p, poison) for tier in ("interpreter", "native"))
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, 1e-6 if dtype is torch.float32 else 1e-14)


def test_another_shape_compiles_nothing() -> None:
    clipped("native", SHAPES[1], torch.float32, 0.1)
    before = len(TEXTS)
    clipped("native", [(4, 7), (77,)], torch.float32, 0.3)
    assert len(TEXTS) == before


def test_it_is_native() -> None:
    x = torch.zeros(3).requires_grad_()
    x.grad = torch.ones(3)
    norm = torch.nn.utils.clip_grad_norm_([x], 1.0)
    assert plan_of(norm._storage.node.signature) is not None
    assert plan_of(x.grad._storage.node.operands[0].signature) is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_limiting_values(dtype: Any) -> None:
    def limited(tier: str) -> list[Any]:
        torch.manual_seed(0)
        with config.executor(tier):
            params = [torch.zeros(shape, dtype=dtype).requires_grad_() for shape in SHAPES[1]]
            for x in params:
                x.grad = torch.randn(x.shape, dtype=dtype)
            params[0].grad[0, 0] = float("nan")
            params[0].grad[1, 0] = float("inf")
            torch.nn.utils.clip_grad_value_(params, 0.3)
            return [x.grad.numpy() for x in params]
    for x, y in zip(limited("native"), limited("interpreter"), strict=True):
        np.testing.assert_array_equal(x, y)


def test_sums_do_not_depend_on_threads() -> None:
    found = []
    for count in (1, 2, 1):
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        found.append(clipped("native", [(1 << 20,), (300_001,)], torch.float32, 0.1))
        torch.set_num_threads(before)
    for other in found[1:]:
        for x, y in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("seen", ["nothing", "before", "after"])
def test_scaled_gradients_lie_where_they_were_computed(seen: str) -> None:
    found: dict[str, list[Any]] = {}
    for tier in ("interpreter", "native"):
        torch.manual_seed(0)
        weights = [torch.randn(8, 8, requires_grad=True) for _ in range(3)]
        x = torch.randn(5, 8)
        with config.executor(tier):
            for w in weights:
                x = torch.tanh(x @ w)
            x.square().sum().backward()
            grads = [w.grad for w in weights]
            before = [g * 1 + 2 if seen == "after" else g.sum() for g in grads] if seen != "nothing" else []
            torch.nn.utils.clip_grad_norm_(weights, 0.01)
            after = before[0] + grads[0] if seen == "after" else grads[0] * 2
            torch.synchronize()
            found[tier] = [y.detach().numpy().copy() for y in (*grads, *before, after)]
    for y, z in zip(found["native"], found["interpreter"], strict=True):
        np.testing.assert_allclose(y, z, 1e-5, 1e-7)
    pattern = known._entries[-1].family.pattern
    assert pattern is not None
    names = {pattern.signatures[k].operator.name for k, _ in pattern.shared}
    assert names == {"clip_gradients"} and len(pattern.shared) == 3


def test_gradients_that_others_hold_are_not_written_over() -> None:
    with config.executor("native"):
        w = torch.ones(4, requires_grad=True)
        (w * 3).sum().backward()
        held = w.grad.detach().clone()
        shown = w.grad * 1
        torch.nn.utils.clip_grad_norm_([w], 1.0)
        assert held.tolist() == [3.0] * 4 and shown.tolist() == [3.0] * 4
        np.testing.assert_allclose(w.grad.tolist(), [0.5] * 4, 1e-5)
