"""Batches of parts of many lengths: graphs that differ in these alone have one program, made by formula."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau import config
from flambeau.executors.native import templates
from flambeau.executors.native.fusion import refit
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.patterns.pattern import Pattern
from tests.executors.native.planning import forget

WIDTH = 64


def _rows(lengths: list[int]) -> torch.Tensor:
    total = sum(lengths) * WIDTH
    return torch.linspace(-1, 1, total).reshape(-1, WIDTH).sin()


def _pooled(lengths: list[int], weight: torch.Tensor) -> torch.Tensor:
    """Of each part of a computed array its sum and its greatest element."""
    parts = torch.tanh(_rows(lengths) * weight).split(lengths)
    return torch.stack([torch.cat([part.sum(0), part.amax(0)]) for part in parts])


def _joined(lengths: list[int], weight: torch.Tensor) -> torch.Tensor:
    """Arrays of many lengths, one behind the other."""
    return torch.cat([_rows([n]) * weight * k for k, n in enumerate(lengths)])


def _positions(lengths: list[int], weight: torch.Tensor) -> torch.Tensor:
    """The first rows of a table that is learned."""
    table = torch.cat([weight * n for n in range(40)]) * 0.01
    return _rows(lengths[:1]) + table.view(-1, WIDTH)[:lengths[0]]


def _entries(lengths: list[int], weight: torch.Tensor) -> torch.Tensor:
    """Entries added up at the coordinates of two dimensions."""
    places = torch.stack([torch.arange(sum(lengths)) % 3, torch.arange(sum(lengths)) % 5])
    return torch.sparse_coo_tensor(places, _rows(lengths) * weight, (3, 5, WIDTH)).to_dense()


def _spans(lengths: list[int], weight: torch.Tensor) -> torch.Tensor:
    """Means of parts that begin at the first row, at the second, or later."""
    rows = torch.tanh(_rows([40]) * weight)
    return torch.stack([rows[n % 4:n - 4].mean(0) for n in lengths])


def _unlike(lengths: list[int], weight: torch.Tensor) -> torch.Tensor:
    """Arrays of two lengths, each computed in another way."""
    return torch.cat([torch.tanh(_rows(lengths[:1]) * weight), _rows(lengths[1:]).softmax(0) * weight])


PROGRAMS = [_pooled, _joined, _positions, _entries, _spans]


def _computed(program: Callable[[list[int], torch.Tensor], torch.Tensor], lengths: list[int]) -> list[Any]:
    weight = torch.linspace(0.5, 1.5, WIDTH).requires_grad_()
    torch.synchronize()
    result = program(lengths, weight)
    result.cos().sum().backward()
    torch.synchronize()
    assert weight.grad is not None
    return [result.detach(), weight.grad]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_lengths_ask_no_template(program: Callable[[list[int], torch.Tensor], torch.Tensor],
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(0)
    asked: list[str] = []
    make = templates.make
    with config.executor("native"):
        forget()
        for k in range(16):
            lengths = chosen.choices(range(17, 40), k=12)
            if k == 15:
                monkeypatch.setattr(refit.Fit, "plan", None)
                monkeypatch.setattr(templates, "make", lambda s: (asked.append(s.operator.name), make(s))[1])
            found = _computed(program, lengths)
        pattern = known._entries[-1].family.pattern
        assert pattern is not None and pattern.by_formula is not None
        assert not asked
    with config.executor("interpreter"):
        for ours, wanted in zip(found, _computed(program, lengths)):
            torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-4)


def test_a_joint_formula_has_lengths_that_stayed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with config.executor("native"):
        forget()
        for lengths in ([24, 31], [25, 32], [26, 33], [27, 34], [28, 34]):
            _computed(_unlike, lengths)
        monkeypatch.setattr(Pattern, "plans", None)
        for lengths in ([23, 36], [26, 30], [27, 29]):
            _computed(_unlike, lengths)


def test_a_joint_formula_has_parts_that_begin_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(0)
    with config.executor("native"):
        forget()
        for k in range(24):
            if k == 16:
                monkeypatch.setattr(Pattern, "plans", None)
            _computed(_spans, chosen.choices(range(17, 40), k=12))
