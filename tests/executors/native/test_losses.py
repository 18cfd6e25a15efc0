"""Negative log likelihood and its gradient give what the interpreter gives."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor, config

pytest.importorskip("llvmlite")

from flambeau.executors.native.llvm.compiling import notes
from flambeau.executors.native.movement import spaces
from tests.executors.native.agreement import check, compiled, forget

F = flambeau.nn.functional
SHAPES = [(5,), (1, 10), (7, 3), (64, 10), (1000, 17), (3, 4, 5), (2, 5, 33, 7), (2, 3, 4, 5, 6)]


def case(shape: tuple[int, ...], dtype: Any = flambeau.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Log probabilities, targets of which some are ignored, weights of classes (one of them zero)."""
    flambeau.manual_seed(0)
    axis = 1 if len(shape) > 1 else 0
    x = flambeau.randn(*shape, dtype=dtype).log_softmax(axis).requires_grad_()
    rest = shape[:axis] + shape[axis + 1:]
    target = flambeau.randint(0, shape[axis], rest)
    target = flambeau.where(flambeau.rand(rest) < 0.2, -100, target)
    weight = flambeau.rand(shape[axis], dtype=dtype)
    weight[0] = 0
    flambeau.synchronize()
    return x.detach().requires_grad_(), target, weight


def loss_and_gradient(x: Tensor, target: Tensor, weight: Any, **how: Any) -> Any:
    loss = F.nll_loss(x, target, weight, **how)
    return loss, flambeau.autograd.grad((loss * 3).sum(), x)[0]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_losses(shape: tuple[int, ...], reduction: str) -> None:
    for dtype, tolerance in ((flambeau.float32, 2e-6), (flambeau.float64, 2e-6), (flambeau.bfloat16, 8e-3),
                             (flambeau.float16, 1e-3)):
        x, target, weight = case(shape, dtype)
        for w in (None, weight):
            for name in ("nll_loss", "nll_loss_backward"):
                check(lambda *o: loss_and_gradient(*o, reduction=reduction), [x, target, w], name, tolerance)
        check(lambda *o: F.nll_loss(*o, ignore_index=1, reduction=reduction),
              [x, target.clamp_min(0), weight], "nll_loss", tolerance)


def test_other_layouts() -> None:
    x, target, weight = case((12, 6, 10))
    channels_last = x.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
    for operand in (channels_last, x.detach()[::2].requires_grad_(), x.detach().flip(0)[2:].requires_grad_()):
        t = target[:operand.shape[0]]
        check(loss_and_gradient, [operand, t, weight[::1]], "nll_loss", 2e-6)
        check(loss_and_gradient, [operand, t.t().contiguous().t(), None], "nll_loss_backward", 2e-6)
    check(loss_and_gradient, [*case((50, 9))[:1], case((50, 9))[1].clamp_min(0).to(flambeau.uint8), None],
          "nll_loss", 2e-6)


def test_what_is_ignored_does_not_count() -> None:
    x, target, _ = case((20, 4))
    broken = x.detach().masked_fill((target == -100).unsqueeze(1), float("nan")).requires_grad_()
    check(loss_and_gradient, [broken, target, None], "nll_loss", 2e-6)
    for reduction in ("mean", "sum"):
        check(lambda *o, r=reduction: loss_and_gradient(*o, reduction=r),
              [x, flambeau.full((20,), -100), None], "nll_loss")


@pytest.mark.parametrize("bad", [4, -1, 10**12])
def test_bad_targets(bad: int) -> None:
    x, target, weight = case((20, 4))
    with config.executor("native"):
        late = flambeau.where(flambeau.arange(20) == 7, bad, target)
        with pytest.raises(IndexError, match=f"Target {bad} is out of bounds"):
            F.nll_loss(x, late, weight).item()


def test_tasks_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "TASK_BYTES", 64)
    monkeypatch.setattr(notes, "keep", lambda key, note: None)     # of the same graphs in fewer tasks
    for shape in ((1000, 17), (2, 5, 33, 7)):
        for reduction in ("mean", "none"):
            check(lambda *o, r=reduction: loss_and_gradient(*o, reduction=r), case(shape), "nll_loss", 2e-6)
    forget()


def test_other_shapes_compile_nothing() -> None:
    with config.executor("native"):
        F.nll_loss(*case((9, 5))[:2]).item()
        before = compiled()
        for shape in ((1, 2), (100, 7), (33, 1000)):
            x, target, _ = case(shape)
            known = compiled() - before
            F.nll_loss(x, target).item()
            assert compiled() - before == known
