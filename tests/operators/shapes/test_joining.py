"""Tensors joined, some of them at once."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau import config
from flambeau.engine import looks
from flambeau.graph import pending


def _samples(count: int, *shape: int) -> list[Any]:
    samples = [torch.full(shape, float(k)) for k in range(count)]
    torch.synchronize()
    return samples


@pytest.mark.parametrize("join", [torch.cat, torch.stack])
def test_many_known_values_are_joined_at_once(join: Any) -> None:
    samples = _samples(20, 1, 3)
    before = len(pending.nodes)
    joined = join(samples)
    assert len(pending.nodes) == before
    assert joined.reshape(-1)[::3].tolist() == list(range(20))
    assert joined.shape == ((20, 3) if join is torch.cat else (20, 1, 3))


@pytest.mark.parametrize("join", [torch.cat, torch.stack])
@pytest.mark.parametrize("count", [2, 20])
def test_gradients_reach_what_was_joined(join: Any, count: int) -> None:
    weights = [torch.full((1, 2), float(k), requires_grad=True) for k in range(count)]
    (join(weights) ** 2).sum().backward()
    assert [w.grad.tolist() for w in weights] == [[[2.0 * k, 2.0 * k]] for k in range(count)]


@pytest.mark.parametrize("join", [torch.cat, torch.stack])
def test_a_join_does_not_see_later_changes(join: Any) -> None:
    samples = _samples(9, 2)
    joined = join(samples)
    samples[0].add_(5)
    joined.mul_(2)
    assert samples[1].tolist() == [1, 1] and joined.reshape(-1)[:4].tolist() == [0, 0, 2, 2]


@pytest.mark.parametrize("shape", [(1, 1, 4, 4), (1, 3, 4, 4), (1, 3, 1, 1), (2, 3, 4, 5)])
@pytest.mark.parametrize("last", [False, True])
def test_layouts_are_those_of_few(shape: tuple[int, ...], last: bool) -> None:
    def layout(join: Any, count: int) -> Any:
        each = torch.zeros(shape)
        each = each.to(memory_format=torch.channels_last) if last else each
        torch.synchronize()
        joined = join([each] * count)
        return joined.is_contiguous(), joined.stride()[1:]

    for join in torch.cat, torch.stack:
        assert layout(join, 8) == layout(join, 4)


def test_a_replay_buffer_is_one_graph() -> None:
    """Which samples are one tensor is told by no graph."""
    buffer = _samples(12, 1, 4)
    weight = torch.ones(4, 2, requires_grad=True)
    tiers = []
    with config.executor("native"):
        for k in range(6):
            batch = [buffer[(k * j + j // 3) % 12] for j in range(16)]
            loss = (torch.cat(batch) @ weight).tanh().sum()
            loss.backward()
            loss.item()
            tiers.append(looks[-1].tier)
    assert tiers[2:].count("native, new") == 0     # the second accumulates a gradient
