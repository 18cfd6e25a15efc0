"""Every optimizer with every flag: 30 steps in groups of their own options, with hooks, moved in mid-run."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from .cases import MATRICES, SHAPES, assert_same_state, assert_same_values, outcome, plain

pytestmark = pytest.mark.oracle

NAMES = ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop",
         "ASGD", "Adafactor", "Muon")
FLAGS: dict[str, dict[str, Any]] = {
    "foreach": {"foreach": True},
    "one by one": {"foreach": False},
    "fused": {"fused": True},
    "maximize": {"maximize": True},
    "foreach, maximize": {"foreach": True, "maximize": True},
    "differentiable": {"differentiable": True},
    "capturable": {"capturable": True},
    "weight_decay": {"weight_decay": 0.1},
    "decoupled": {"weight_decay": 0.1, "decoupled_weight_decay": True},
    "amsgrad, fused": {"amsgrad": True, "fused": True},
}


class Run:
    """Two groups of parameters with other options each, gradients that some lack now and then, and hooks."""

    def __init__(self, torch: ModuleType, name: str, flags: dict[str, Any]) -> None:
        self.torch = torch
        self.random = np.random.default_rng(3)
        shapes = (*MATRICES, (4, 4)) if name == "Muon" else SHAPES
        self.params = [self.tensor(self.random.standard_normal(s)).requires_grad_() for s in shapes]
        half = len(shapes) // 2
        groups = [{"params": self.params[:half], "lr": 0.02},
                  {"params": self.params[half:], "weight_decay": 0.03}]
        self.optimizer = getattr(torch.optim, name)(groups, lr=0.05, **flags)
        self.seen: list[Any] = []
        self.optimizer.register_step_pre_hook(lambda o, a, k: self.seen.append(("before", len(a), sorted(k))))
        self.optimizer.register_step_post_hook(lambda o, a, k: self.seen.append(("after", len(a), sorted(k))))

    def tensor(self, values: Any) -> Any:
        return self.torch.tensor(np.asarray(values).tolist(), dtype=self.torch.float32)

    def steps(self, count: int) -> None:
        differentiable = self.optimizer.defaults.get("differentiable")
        for _ in range(count):
            for i, p in enumerate(self.params):
                noise = self.tensor(self.random.standard_normal(tuple(p.shape)))
                p.grad = None if self.random.integers(6) == i else noise * 0.5 + p.detach()
            if differentiable:  # which writes leaves: not allowed while history is recorded
                with self.torch.no_grad():
                    self.optimizer.step()
            else:
                self.optimizer.step()

    def values(self) -> list[Any]:
        return [np.asarray(p.detach().tolist()) for p in self.params]


def moved(state: Any, to: ModuleType) -> Any:
    """A state dict with tensors of another framework."""
    if hasattr(state, "tolist"):
        return to.tensor(state.tolist(), dtype=getattr(to, str(state.dtype).rpartition(".")[2]))
    if isinstance(state, dict):
        return {key: moved(value, to) for key, value in state.items()}
    return type(state)(moved(value, to) for value in state) if isinstance(state, list | tuple) else state


CASES = [(name, flag) for name in NAMES for flag in FLAGS]


@pytest.mark.parametrize(("name", "flag"), CASES, ids=lambda part: part)
def test_thirty_steps(torch: ModuleType, oracle: ModuleType, name: str, flag: str) -> None:
    flags = FLAGS[flag]
    if not set(flags) <= set(inspect.signature(getattr(oracle.optim, name)).parameters):
        assert not set(flags) <= set(inspect.signature(getattr(torch.optim, name)).parameters)
        return
    tolerance = 5e-2 if name == "Muon" else 1e-5    # Muon iterates in bfloat16

    def run(framework: ModuleType) -> Any:
        made = Run(framework, name, flags)
        made.steps(30)
        return made

    ours, theirs = outcome(lambda: run(torch)), outcome(lambda: run(oracle))
    if theirs[0][0] != "returned":
        assert ours[0] == theirs[0]
        return
    mine, other = ours[0][1], theirs[0][1]
    assert_same_values(mine.values(), other.values(), tolerance)
    assert_same_state(plain(mine.optimizer.state_dict()), plain(other.optimizer.state_dict()), tolerance)
    assert mine.seen == other.seen


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flag", ["foreach", "one by one", "fused", "maximize"])
def test_state_moves_in_mid_run(torch: ModuleType, oracle: ModuleType, name: str, flag: str) -> None:
    """PyTorch, flambeau, PyTorch, flambeau, 8 steps each, do as 32 steps of PyTorch."""
    flags = FLAGS[flag]
    if not set(flags) <= set(inspect.signature(getattr(oracle.optim, name)).parameters):
        return
    straight = Run(oracle, name, flags)
    straight.steps(32)
    hopping = Run(oracle, name, flags)
    hopping.steps(8)
    for framework in (torch, oracle, torch):
        following = Run(framework, name, flags)
        following.random = hopping.random
        with framework.no_grad():
            for p, value in zip(following.params, hopping.values(), strict=True):
                p.copy_(following.tensor(value))
        following.optimizer.load_state_dict(moved(hopping.optimizer.state_dict(), framework))
        hopping = following
        hopping.steps(8)
    assert_same_values(hopping.values(), straight.values(), 5e-2 if name == "Muon" else 2e-5)
