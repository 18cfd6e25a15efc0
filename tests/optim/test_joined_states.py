"""States that lie in one storage (Note: joined states) are seen as tensors of their own."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest

import flambeau as torch
from flambeau.engine.explain import looks

SHAPES: list[tuple[int, ...]] = [(3, 4), (5,), (), (2, 1, 3), (0,)]


def parameters(seed: int = 0) -> list[Any]:
    torch.manual_seed(seed)
    return [torch.randn(shape).requires_grad_() for shape in SHAPES]


def train(optimizer: Any, params: list[Any], steps: int, skip: int | None = None) -> None:
    """A few steps along gradients that depend on the parameters; one may have none."""
    for _ in range(steps):
        for k, p in enumerate(params):
            p.grad = None if k == skip else (p.detach() * 0.5 + 0.1 * k)
        optimizer.step()


def one_by_one(steps: list[int | None], make: Any) -> list[list[float]]:
    """The same training with an optimizer for each parameter."""
    params = parameters()
    optimizers = [make([p]) for p in params]
    for skip in steps:
        for k, p in enumerate(params):
            p.grad = p.detach() * 0.5 + 0.1 * k
            if k != skip:
                optimizers[k].step()
    return [p.tolist() for p in params]


MAKERS = [torch.optim.AdamW, lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9),
          lambda ps: torch.optim.Adam(ps, amsgrad=True), torch.optim.Rprop, torch.optim.RMSprop]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("steps", [[None] * 4, [None, None, 1, None, 0, None], [2, None, None], [4, 4, None]])
def test_as_if_each_were_alone(make: Any, steps: list[int | None]) -> None:
    params = parameters()
    optimizer = make(params)
    for skip in steps:
        train(optimizer, params, 1, skip)
    assert [p.tolist() for p in params] == one_by_one(steps, make)


def test_states_are_live_and_can_be_changed() -> None:
    params = parameters()
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    train(optimizer, params, 2)
    buffer = optimizer.state[params[0]]["momentum_buffer"]
    assert buffer.shape == (3, 4)
    assert buffer.is_contiguous()
    before, other = buffer.clone(), optimizer.state[params[1]]["momentum_buffer"].clone()
    train(optimizer, params, 1)
    assert optimizer.state[params[0]]["momentum_buffer"] is buffer
    assert buffer.tolist() != before.tolist()
    buffer.zero_()
    optimizer.state[params[1]]["momentum_buffer"].copy_(other)
    for p in params:
        p.grad = torch.zeros_like(p)
    kept = params[0].tolist()
    optimizer.step()
    assert params[0].tolist() == kept
    assert optimizer.state[params[1]]["momentum_buffer"].tolist() == pytest.approx((other * 0.9).tolist())


def test_a_state_can_be_replaced() -> None:
    params = parameters()
    optimizer = torch.optim.Adam(params)
    train(optimizer, params, 1)
    optimizer.state[params[1]]["exp_avg"] = torch.full((5,), 7.0)
    for p in params:
        p.grad = torch.zeros_like(p)
    optimizer.step()
    assert optimizer.state[params[1]]["exp_avg"].tolist() == pytest.approx([6.3] * 5)
    want = parameters()[0].detach() * 0.5 * 0.09
    assert torch.allclose(optimizer.state[params[0]]["exp_avg"], want)


@pytest.mark.parametrize("how", ["load", "file", "deepcopy"])
def test_copies_continue_alike(how: str) -> None:
    params = parameters()
    optimizer = torch.optim.AdamW(params)
    train(optimizer, params, 3)
    if how == "deepcopy":
        other, again = copy.deepcopy((params, optimizer))
    else:
        other = [p.detach().clone().requires_grad_() for p in params]
        again = torch.optim.AdamW(other)
        state = copy.deepcopy(optimizer.state_dict())
        if how == "file":
            file = io.BytesIO()
            torch.save(state, file)
            file.seek(0)
            state = torch.load(file)
        again.load_state_dict(state)
    train(optimizer, params, 2)
    kept = [p.tolist() for p in params]
    train(again, other, 2)
    assert [p.tolist() for p in other] == kept
    assert [p.tolist() for p in params] == kept
    states = [[o.state[p]["exp_avg"].tolist() for p in ps] for o, ps in ((optimizer, params), (again, other))]
    assert states[0] == states[1]


def test_groups_and_late_parameters() -> None:
    params = parameters()
    optimizer = torch.optim.Adam([{"params": params[:2]}, {"params": params[2:4], "lr": 0.1}])
    train(optimizer, params[:4], 2)
    optimizer.add_param_group({"params": params[4:]})
    params[0].grad = None
    train(optimizer, params, 2, skip=0)
    assert [float(optimizer.state[p]["step"]) for p in params] == [2, 4, 4, 4, 2]


@pytest.mark.parametrize("make", [MAKERS[0], MAKERS[1], MAKERS[4]])
def test_the_first_step_is_the_same_graph_as_the_second(make: Any) -> None:
    """What begins the states is no part of it: one program does for all steps."""
    pytest.importorskip("llvmlite")
    from flambeau.executors.native.programs import known

    known.clear()
    params = parameters()
    optimizer = make(params)
    tiers = []
    with torch.config.executor("native"):
        for _ in range(2):
            train(optimizer, params, 1)
            tiers.append(looks[-1].tier)
    assert tiers == ["native, new", "native"]
