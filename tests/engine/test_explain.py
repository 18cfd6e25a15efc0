"""What ``explain`` says of a look."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.config import settings
from flambeau.engine import looks


def _tier(rows: int) -> str:
    """What computes a small graph of 3 x ``rows`` numbers."""
    (flambeau.ones(rows, 3).cos() + rows).sum().item()
    return looks[-1].tier


def test_the_tier_is_what_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "executor", "auto")
    assert _tier(5) == "interpreter"
    monkeypatch.setattr(settings, "executor", "null")
    assert _tier(5) == "null"


def test_whether_a_program_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    from flambeau.executors.native.programs import known as programs

    programs.clear()
    monkeypatch.setattr(settings, "executor", "native")
    assert [_tier(rows) for rows in (5, 5, 6, 5)] == ["native, new", "native", "native, new shapes", "native"]
    assert "native, new shapes" in flambeau.explain(last=2)


def test_a_failed_look_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(settings, "executor", "native")
    with pytest.raises(IndexError):
        (flambeau.ones(3) * 2)[flambeau.tensor([7]) + 0].sum().item()
    monkeypatch.setattr(settings, "executor", "interpreter")
    assert _tier(5) == "interpreter"
