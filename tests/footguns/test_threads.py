"""Two threads that record and look at once: what PyTorch does (and passes under it, ``--under torch``)."""

from __future__ import annotations

import threading
from typing import Any

import pytest


def test_two_threads_train_two_models(torch: Any) -> None:
    """Each thread's losses are those of a run alone; gradient mode is each thread's own."""

    def train(seed: int, losses: list[float]) -> None:
        generator = torch.Generator().manual_seed(seed)
        w = torch.randn(4, 1, generator=generator).requires_grad_()
        x, y = torch.randn(16, 4, generator=generator), torch.randn(16, 1, generator=generator)
        optimizer = torch.optim.Adam([w], lr=0.1)
        for _ in range(40):
            optimizer.zero_grad()
            loss = (x @ w - y).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())

    alone: list[list[float]] = [[], [], []]
    together: list[list[float]] = [[], [], []]
    for seed in range(3):
        train(seed, alone[seed])
    threads = [threading.Thread(target=train, args=(seed, together[seed])) for seed in range(3)]
    with torch.no_grad():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    # Graphs that come back are compiled, which may change the last bits.
    for mine, other in zip(together, alone):
        assert mine == pytest.approx(other, rel=1e-4)


def test_one_tensor_read_by_two_threads(torch: Any) -> None:
    """A value that is still to be computed when two threads look at it is the same for both."""
    found: list[float] = []
    for _ in range(10):
        pending = (torch.arange(1000.0) * 2).sum()
        threads = [
            threading.Thread(target=lambda value=pending: found.append(value.item())) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [999000.0] * 20
