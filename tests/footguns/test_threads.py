"""Two threads that record and look at once: what PyTorch does (and passes under it, ``--under torch``)."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
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


def test_threads_that_interrupt_each_other_anywhere(torch: Any) -> None:
    """Also between an operation of several results and the taking of them, while other graphs come back."""

    def train(seed: int) -> list[float]:
        generator = torch.Generator().manual_seed(seed)
        w, v = (torch.randn(6, 6, generator=generator).mul_(0.3).requires_grad_() for _ in range(2))
        optimizer = torch.optim.SGD([w, v], lr=0.05)
        losses = []
        for i in range(60):
            x = torch.randn(5 + i % 3, 6, generator=generator)
            normal = torch.nn.functional.layer_norm((x @ w).tanh() @ v, (6,), eps=1.0)
            loss = (normal - x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if i % 10 == 0:
                losses.append(loss.item())
        return losses

    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1e-5)
        for _ in range(2):
            with ThreadPoolExecutor(6) as pool:
                together = [*pool.map(train, range(6))]
    finally:
        sys.setswitchinterval(before)
    for seed, mine in enumerate(together):
        assert mine == pytest.approx(train(seed), rel=1e-3)
