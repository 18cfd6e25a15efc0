"""Graphs that are another one each time come in pieces, which come back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

import flambeau as torch
from flambeau import config
from flambeau.engine import looks
from flambeau.executors import native
from flambeau.executors.native import tiers
from flambeau.executors.native.programs import known, pieces


@pytest.fixture
def _late(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Enough was interpreted for the compiler to be worth starting."""
    ledger = tiers.Ledger()
    ledger.total = tiers.COMPILER
    monkeypatch.setattr("flambeau.executors.native.ledger", ledger)
    monkeypatch.setattr(known, "ledger", ledger)
    native.expect_steps()
    with config.executor("auto"):
        yield


def _walk(turns: list[bool]) -> torch.Tensor:
    """A loop whose rounds differ."""
    x = torch.linspace(-1, 1, 12)
    weight = torch.linspace(0, 1, 12).requires_grad_()
    for turn in turns:
        x = torch.tanh(x * weight + 1) - x.mean() if turn else torch.sigmoid(x).cumsum(0) * weight
    loss = (x * x).sum()
    loss.backward()
    assert weight.grad is not None
    return torch.cat([weight.grad, loss.detach()[None]])


def _turns(seed: int) -> list[bool]:
    generator = random.Random(seed)
    return [generator.random() < 0.5 for _ in range(24)]


def _computed(turns: list[bool]) -> tuple[list[float], str]:
    """The values, and who computed them."""
    values = _walk(turns).tolist()
    return values, looks[-1].tier


@pytest.mark.usefixtures("_late")
def test_strange_graphs_are_cut_and_give_the_values_that_they_have() -> None:
    cut = 0
    for seed in range(20):
        values, tier = _computed(_turns(seed))
        cut += "pieces" in tier
        with config.executor("interpreter"):
            expected = _walk(_turns(seed)).tolist()
        np.testing.assert_allclose(values, expected, rtol=2e-5, atol=1e-5)
    assert cut >= 8
    assert any(entry.program is not None for entry in known._entries)     # pieces came back


@pytest.mark.usefixtures("_late")
def test_a_graph_that_comes_back_gets_a_program_after_all() -> None:
    for seed in range(12):
        _walk(_turns(seed)).tolist()
    found = [_computed(_turns(99))[1] for _ in range(40)]
    assert "pieces" in found[0]
    assert found[-1] == "native"


@pytest.mark.usefixtures("_late")
def test_more_graphs_than_are_remembered_stay_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of all of them would be forgotten before they come again, and made anew each time."""
    monkeypatch.setattr(pieces, "_ROOM", 600)
    pieces.strangers.clear()
    for seed in range(12):
        _walk(_turns(seed)).tolist()
    for _ in range(24):
        found = [_computed(_turns(100 + k))[1] for k in range(12)]
    assert 1 <= found.count("native") <= 6
    assert found.count("native") + found.count("native, pieces") == 12


def _parts(counts: list[int]) -> str:
    """Who computes a loss of several parts of so many rows each, of which there may be none or one."""
    x = torch.linspace(-1, 1, 60).reshape(10, 6)
    weight = torch.linspace(0, 1, 6).requires_grad_()
    losses = []
    for count in counts:
        part = torch.tanh(x[:count] * weight + 1).exp().cumsum(0)
        losses.append((part * part).sum() + part.sigmoid().sum())
    sum(losses).backward()
    assert weight.grad is not None
    weight.grad.tolist()
    return looks[-1].tier


@pytest.mark.usefixtures("_late")
def test_graphs_of_many_kinds_of_extents_are_cut_and_others_are_not() -> None:
    few = [_parts([k % 2, 5, 3 + k % 3, 4, 2, 3]) for k in range(40)]
    assert not any("pieces" in tier for tier in few)
    generator = random.Random(0)
    many = [_parts([generator.randrange(4) for _ in range(6)]) for _ in range(60)]
    assert all("pieces" in tier for tier in many[20:])


@pytest.mark.usefixtures("_late")
def test_few_new_graphs_are_not_cut() -> None:
    for seed in range(5):
        assert "pieces" not in _computed(_turns(seed))[1]


@pytest.mark.usefixtures("_late")
def test_what_fails_in_a_piece_is_told_at_its_line() -> None:
    for seed in range(12):
        _walk(_turns(seed)).tolist()
    x = torch.zeros(12)
    for turn in _turns(100):
        x = x + 1 if turn else x.exp().log() + 2
    index = (x[:1] + 1000).long().requires_grad_(False)
    bad = torch.take(x, index)      # the line that recorded it
    with pytest.raises(IndexError) as caught:
        (bad.sum() + x.sum()).item()
    assert any("test_pieces.py" in note for note in caught.value.__notes__)


_RUN = import_module("flambeau.executors.native.run")
_INTERRUPTED = _RUN._in_pieces.__code__, _RUN._piece.__code__


class _Interrupt:
    """An interrupt before a line of the functions that compute pieces."""

    def __init__(self, line: int) -> None:
        self.lines_left = line

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        return self._at_line if frame.f_code in _INTERRUPTED else None

    def _at_line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            self.lines_left -= 1
            if not self.lines_left:
                raise KeyboardInterrupt
        return self._at_line


@pytest.mark.usefixtures("_late")
def test_an_interrupt_between_pieces_loses_nothing() -> None:
    for seed in range(40):
        _walk(_turns(seed)).tolist()
    interrupted = 0
    for line in range(1, 80):
        x = _rounds(line)
        before = sys.gettrace()
        sys.settrace(_Interrupt(line))
        try:
            x.tolist()
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(before)
        with config.executor("interpreter"):
            expected = _rounds(line).tolist()
        np.testing.assert_allclose(x.tolist(), expected, rtol=2e-5, atol=1e-5)
    assert interrupted > 40


def _rounds(seed: int) -> torch.Tensor:
    x = torch.linspace(-1, 1, 12)
    for turn in _turns(seed) * 2:
        x = torch.tanh(x + 1) - x.mean() if turn else torch.sigmoid(x).cumsum(0) * 0.1
    return x


@given(st.lists(st.integers(0, 30), max_size=300))
def test_pieces_are_the_whole_graph(forms: list[int]) -> None:
    found = pieces.lengths(forms)
    assert sum(found) == len(forms)
    assert all(pieces.SHORTEST <= n <= pieces.LONGEST for n in found[:-1])


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(0, 1000))
def test_a_loop_is_cut_in_the_same_phase_whatever_came_before(before: list[int], seed: int) -> None:
    generator = random.Random(seed)
    period = [generator.randrange(100) for _ in range(20)]
    loop = period * 30
    cuts = np.cumsum([0, *pieces.lengths(before + loop)]) - len(before)
    other = np.cumsum([0, *pieces.lengths(loop)])
    middle = range(200, 400)
    assert {int(x) % 20 for x in cuts if x in middle} == {int(x) % 20 for x in other if x in middle}


@pytest.mark.usefixtures("_late")
def test_known_graphs_in_between_count_also_where_they_are_found_at_once() -> None:
    for seed in range(6):
        _walk(_turns(seed)).tolist()
    for _ in range(25):
        _walk(_turns(99)).tolist()
    for seed in range(100, 107):
        assert "pieces" not in _computed(_turns(seed))[1]


def test_a_piece_of_which_nobody_needs_anything() -> None:
    with config.executor("auto"):
        known.clear()
        torch.synchronize()
        assert import_module("flambeau.executors.native.run")._piece([], False) == []


def test_other_regimes_of_shapes_are_cut(_late: None) -> None:
    """Which extents are 0 or 1 is another choice each time: the graphs are new ones, their pieces are not."""
    generator, tiers_seen = random.Random(0), []
    for _ in range(60):
        counts = [generator.choice((0, 1, 3)) for _ in range(6)]
        x = torch.linspace(-1, 1, 30).reshape(5, 6).requires_grad_()
        losses = [torch.tanh(x[:n] * (k + 1) - x[:n].mean(1, keepdim=True)).exp().sum(0).square().sum()
                  for k, n in enumerate(counts)]
        sum(losses).backward()
        assert x.grad is not None
        found = x.grad.tolist()
        tiers_seen.append(looks[-1].tier)
        with config.executor("interpreter"):
            y = x.detach().clone().requires_grad_()
            sum([torch.tanh(y[:n] * (k + 1) - y[:n].mean(1, keepdim=True)).exp().sum(0).square().sum()
                 for k, n in enumerate(counts)]).backward()
            assert y.grad is not None
            np.testing.assert_allclose(found, y.grad.numpy(), rtol=2e-5, atol=2e-5)
    cut = ["pieces" in tier for tier in tiers_seen]
    assert sum(cut) > 30 and not any("new" in tier for tier, in_pieces in zip(tiers_seen[5:], cut[5:])
                                     if not in_pieces)
