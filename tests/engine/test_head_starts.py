"""The first part of a graph that comes again and again runs while the rest of it is recorded."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import flambeau as torch
from flambeau import config
from flambeau.config import settings
from flambeau.engine import looks
from flambeau.engine.head_starts import HeadStarts, head_starts
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.glances.kin import Kin
from flambeau.executors.native.programs.runtime.team import Team
from flambeau.graph import pending

DEPTH, WIDTH = 10, 192
ROUNDS = 24


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known.clear()
    torch.synchronize()
    head_starts.forget()
    monkeypatch.setattr(settings, "threads", 2)
    with config.executor("native"), torch.inference_mode():
        yield
    torch.synchronize()


@pytest.fixture
def weights() -> list[torch.Tensor]:
    torch.manual_seed(0)
    made = [torch.randn(WIDTH, WIDTH) / WIDTH ** 0.5 for _ in range(DEPTH)]
    torch.synchronize()
    return made


def _layers(x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    for weight in weights:
        x = (x @ weight).tanh() + x * 0.5
    return x


def _expected(x: np.ndarray, weights: list[torch.Tensor]) -> np.ndarray:
    for weight in weights:
        x = np.tanh(x @ weight.numpy()) + x * 0.5
    return x


def _begun() -> bool:
    return head_starts.begun is not None


def _rounds_until_begun(weights: list[torch.Tensor]) -> torch.Tensor:
    """Rounds of one line that looks, until the first part of a graph runs ahead; what has been recorded."""
    for k in range(4 * ROUNDS):
        y = _layers(torch.full((8, WIDTH), k * 0.01), weights)
        if _begun():
            return y
        y.sum().item()
    raise AssertionError("no graph had a head start")


def test_a_graph_of_new_shapes_has_a_head_start(weights: list[torch.Tensor],
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_OFTEN", 2)
    monkeypatch.setattr(known, "_WORTH_CODE", 0)
    begun = 0
    for k in range(6 * ROUNDS):
        y = _layers(torch.full((9 + k, WIDTH), k * 0.01), weights)
        begun += _begun()
        if _begun():
            assert head_starts.begun.__class__ is Kin
            found = y.sum().item()
            wanted = _expected(np.full((9 + k, WIDTH), k * 0.01, np.float32), weights).sum()
            assert found == pytest.approx(float(wanted), rel=1e-4, abs=1e-3)
        else:
            y.sum().item()
    assert begun > ROUNDS


def test_values_are_those_of_the_whole_graph(weights: list[torch.Tensor]) -> None:
    looks.clear()
    for k in range(2 * ROUNDS):
        x = torch.full((8, WIDTH), k * 0.01)
        total = _layers(x, weights).sum().item()
        expected = _expected(np.full((8, WIDTH), k * 0.01), weights).sum()
        assert total == pytest.approx(float(expected), rel=1e-4)
    line = max(head_starts.lines.values(), key=lambda line: line.taken)
    assert line.taken >= ROUNDS // 2 and line.missed <= 2
    ahead = [look for look in looks if look.cause == "head start"]
    assert len(ahead) == line.taken + line.missed
    assert ahead[-1].computed == len(line.first_part)
    assert looks[-1].computed == line.nodes - ahead[-1].computed


def test_only_what_is_the_first_part_is_begun(weights: list[torch.Tensor]) -> None:
    for k in range(2 * ROUNDS):
        _layers(torch.full((8, WIDTH), k * 0.01), weights).sum().item()
    taken = [(line.taken, line.missed) for line in head_starts.lines.values()]
    x = torch.full((8, WIDTH), 1.0)
    for _ in range(DEPTH * 6):
        x = x * 0.5
    assert not _begun() and x.sum().item() == 8 * WIDTH * 0.5 ** (DEPTH * 6)
    assert [(line.taken, line.missed) for line in head_starts.lines.values()][:len(taken)] == taken


def test_one_thread_begins_nothing(weights: list[torch.Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "threads", 1)
    with pytest.raises(AssertionError, match="head start"):
        _rounds_until_begun(weights)


def test_what_runs_is_pending(weights: list[torch.Tensor]) -> None:
    y = _rounds_until_begun(weights)
    assert pending.nodes and all(node.value is None for node in pending.nodes)
    other = (weights[0] * 2).numpy()
    assert not _begun()
    assert np.allclose(other, weights[0].numpy() * 2)
    assert torch.isfinite(y).all()


def test_writes_into_operands_of_what_runs(weights: list[torch.Tensor]) -> None:
    before = weights[0].clone()
    torch.synchronize()
    y = _rounds_until_begun(weights)
    weights[0].zero_()
    weights[1][0, 0] = 7
    assert weights[1][0, 0].item() == 7 and not weights[0].any()
    x = torch.zeros(8, WIDTH) + y      # of the weights before
    weights[0].copy_(before)
    assert x.shape == (8, WIDTH) and x.abs().sum() > 0


def _pick(table: torch.Tensor, k: int, weights: list[torch.Tensor]) -> torch.Tensor:
    return _layers(torch.nn.functional.embedding(torch.tensor([[k]]) + 0, table)[0], weights)


def test_a_kernel_that_fails_is_told_at_the_look(weights: list[torch.Tensor]) -> None:
    table = torch.ones(40, WIDTH)
    torch.synchronize()
    for k in [*range(39)] * 3 + [40, 39]:
        y = _pick(table, k, weights)
        if k < 40:
            expected = _expected(np.ones((1, WIDTH)), weights).sum()
            assert y.sum().item() == pytest.approx(float(expected), rel=1e-3)
            continue
        assert _begun()
        with pytest.raises(IndexError) as error:
            y.sum().item()
        assert "test_head_starts.py" in error.value.__notes__[0]
        with pytest.raises(IndexError):
            y.tolist()


def test_a_cache_that_is_written_in_place(weights: list[torch.Tensor]) -> None:
    for _ in range(4):
        cache = torch.zeros(DEPTH, 30, WIDTH)
        expected = np.zeros((DEPTH, 30, WIDTH), np.float32)
        for k in range(30):
            x = torch.full((1, WIDTH), k * 0.01)
            a = np.full((1, WIDTH), k * 0.01, np.float32)
            for i, weight in enumerate(weights):
                cache[i, k] = x[0]
                expected[i, k] = a[0]
                x = (x @ weight).tanh() + cache[i, :k + 1].mean(0)
                a = np.tanh(a @ weight.numpy()) + expected[i, :k + 1].mean(0)
            assert x.sum().item() == pytest.approx(float(a.sum()), rel=1e-3, abs=1e-3)
        assert np.allclose(cache.numpy(), expected, atol=1e-4)
    assert any(line.taken for line in head_starts.lines.values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_process_that_is_forked_meanwhile(weights: list[torch.Tensor]) -> None:
    y = _rounds_until_begun(weights)
    child = os.fork()
    if not child:
        os._exit(0 if torch.isfinite(y).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert torch.isfinite(y).all()


def test_another_thread_may_look(weights: list[torch.Tensor]) -> None:
    y = _rounds_until_begun(weights)
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(y.sum().item()))
    thread.start()
    thread.join()
    assert not _begun()
    assert found == [pytest.approx(y.sum().item(), rel=1e-5)]


def test_values_that_nobody_wants_any_more(weights: list[torch.Tensor]) -> None:
    y = _rounds_until_begun(weights)
    del y
    assert (weights[0] * 0).sum().item() == 0 and not _begun()
    assert not pending.nodes


@pytest.mark.parametrize("place", ["begin", "launch", "join", "finish"])
def test_an_interrupt_loses_nothing(weights: list[torch.Tensor], place: str) -> None:
    expected = _expected(np.full((8, WIDTH), 0.5), weights).sum()
    for k in range(2 * ROUNDS):
        _layers(torch.full((8, WIDTH), k * 0.01), weights).sum().item()
    patch = pytest.MonkeyPatch()

    def interrupted(*arguments: object) -> None:
        patch.undo()
        raise KeyboardInterrupt

    patch.setattr(Team if place in ("launch", "join") else HeadStarts, place, interrupted)
    y = torch.full((8, WIDTH), 0.5)
    stopped = False
    for weight in weights:
        try:
            y = (y @ weight).tanh() + y * 0.5
        except KeyboardInterrupt:
            stopped = True
            y = (y @ weight).tanh() + y * 0.5
    try:
        found = y.sum().item()
    except KeyboardInterrupt:
        stopped = True
        found = y.sum().item()
    assert stopped and found == pytest.approx(float(expected), rel=1e-4) and not _begun()
