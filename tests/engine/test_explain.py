"""What ``explain`` says of a look."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.config import executor
from flambeau.engine import looks


def _tier(rows: int) -> str:
    """What computes a small graph of 3 x ``rows`` numbers."""
    (flambeau.ones(rows, 3).cos() + rows).sum().item()
    return looks[-1].tier


def test_the_tier_is_what_computed() -> None:
    with executor("auto"):
        assert _tier(5) == "interpreter"
    with executor("null"):
        assert _tier(5) == "null"


def test_whether_a_program_is_new() -> None:
    pytest.importorskip("llvmlite")
    from flambeau.executors.native.programs import known as programs

    programs.clear()
    with executor("native"):
        tiers = [_tier(rows) for rows in (5, 5, 6, 5)]
    assert tiers == ["native, new", "native", "native, new shapes", "native"]
    assert "native, new shapes" in flambeau.explain(last=2)


def test_a_failed_look_leaves_nothing_behind() -> None:
    pytest.importorskip("llvmlite")
    with executor("native"), pytest.raises(IndexError):
        (flambeau.ones(3) * 2)[flambeau.tensor([7]) + 0].sum().item()
    with executor("interpreter"):
        assert _tier(5) == "interpreter"
