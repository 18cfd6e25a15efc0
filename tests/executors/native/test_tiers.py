"""When a program is bought: the decisions on graphs that come again, with other shapes or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import flambeau
from flambeau import config
from flambeau.engine import looks
from flambeau.executors import native
from flambeau.executors.interpreter import blas
from flambeau.executors.native import tiers
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.patterns import sketches


@pytest.fixture(autouse=True)
def _late(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Enough was interpreted for the compiler to be worth starting, and nothing is bought at once."""
    ledger = tiers.Ledger()
    ledger.total = tiers.COMPILER
    monkeypatch.setattr("flambeau.executors.native.ledger", ledger)
    monkeypatch.setattr(known, "ledger", ledger)
    monkeypatch.setattr(tiers.Ledger, "buys_at_once", lambda self, nodes: False)
    with config.executor("auto"):
        yield


def _bought(rows: list[int]) -> list[bool]:
    """Whether graphs of so many rows were run by programs."""
    found = []
    for n in rows:
        x = flambeau.ones(n, 64)
        for _ in range(3):
            x = flambeau.tanh(x) * 2
        x.sum().item()
        found.append(looks[-1].tier.startswith("native"))
    return found


def test_a_small_graph_is_bought_when_it_came_often() -> None:
    found = _bought([8] * 12)
    first = found.index(True)
    assert 1 < first < 8 and all(found[first:])


def test_shapes_that_grow_share_the_cost() -> None:
    """Each comes once, so none pays a program alone; together they do, and each that follows buys its own."""
    found = _bought([*range(400, 460)])
    first = found.index(True)
    assert 0 < first < 20 and all(found[first:])


def test_what_was_interpreted_early_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler starts late; by then it is known which graphs come again."""
    late = tiers.Ledger()
    late.total = tiers.COMPILER - 1.5 * sum(tiers.OPERATOR + 0.4 * 4 * 8 * 64 for _ in range(8))
    monkeypatch.setattr("flambeau.executors.native.ledger", late)
    monkeypatch.setattr(known, "ledger", late)
    with_early = _bought([8] * 12).index(True)
    known.clear()
    late.total = tiers.COMPILER
    assert _bought([8] * 12).index(True) == with_early


def test_shapes_that_are_cheap_to_interpret_are_seldom_bought(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where others of the same form have a program, as long as there is no formula."""
    monkeypatch.setattr(sketches, "_SHAPES", 1000)
    found = _bought([*range(400, 405), *range(3, 51)])
    assert found[4] and 4 < sum(found[5:]) < 16


def test_shapes_that_do_not_come_back_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "_LATELY", 16)
    monkeypatch.setattr(known, "_WORTH_CODE", 1 << 40)      # no kin, which would run them all
    found = _bought([*range(400, 440), *range(3, 40)])
    count = len(known._entries)
    assert all(found[39:]) and count < 40 and known._latest is not None and not known._latest.signatures
    _bought([*range(420, 440)])     # these come back, and get entries
    assert len(known._entries) > count + 10


def _graph_that_differs(k: int) -> None:
    """Twelve products with one of two computed factors each: which of the two it is, differs with ``k``."""
    constant = flambeau.ones(64, 64)
    flambeau.synchronize()
    factors = constant * 1, constant * 2
    total = constant
    for i in range(12):
        total = flambeau.tanh(total) * factors[k >> i & 1]
    total.sum().item()


def test_graphs_of_the_same_operators_that_never_come_back_are_not_bought_one_by_one() -> None:
    found = []
    for k in range(40):
        _graph_that_differs(k)
        found.append(looks[-1].tier.startswith("native"))
    assert sum(found) <= 1
    for _ in range(8):
        _graph_that_differs(77)
    assert looks[-1].tier.startswith("native")


def _chain(length: int, times: int) -> list[bool]:
    """Whether a graph of so many operators was run by a program, each time that it came."""
    found = []
    for _ in range(times):
        x = flambeau.ones(8, 8)
        for _ in range(length):
            x = flambeau.tanh(x) * 2
        x.sum().item()
        found.append(looks[-1].tier.startswith("native"))
    return found


def test_newcomers_are_bought_at_once_where_those_before_came_back() -> None:
    """And no longer once they do not."""
    newcomers = known.newcomers
    newcomers.clear()
    found = [_chain(length, 9)[0] for length in range(1, 12)]
    assert not any(found[:4]) and all(found[6:])
    found = [_chain(length, 1)[0] for length in range(12, 24)]
    assert sum(found) <= 2 and not any(found[2:])


def test_lines_of_newcomers_are_not_remembered_for_ever() -> None:
    newcomers, code = tiers.Newcomers(), _chain.__code__
    for line in range(3 * tiers._LINES):
        assert not newcomers.will_return((code, line), ())
    assert len(newcomers._expected) <= tiers._LINES


def test_the_first_graph_of_two_that_follow_each_other_is_not_bought_at_once() -> None:
    """An optimizer's first step begins its states, and never comes back; those after it do."""
    known.newcomers.clear()
    found = [(*_chain(length, 1), _chain(length + 1, 9)[0]) for length in range(1, 30, 2)]
    assert not any(first for first, _ in found)
    assert all(second for _, second in found[8:])


def test_graphs_that_come_twice_are_bought_where_those_before_came_again() -> None:
    """Of two that come once and one that stays nobody is expected to return, until it has."""
    known.newcomers.clear()
    found = []
    for length in range(1, 31, 3):
        _chain(length, 1)
        _chain(length + 1, 1)
        found.append(_chain(length + 2, 9))
    assert not any(first for first, *_ in found)
    assert not found[0][1] and all(second for _, second, *_ in found[7:])


def test_no_early_graph_is_needed_for_products_to_take_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_execute", None)
    monkeypatch.setattr(native, "replay", native.replay)
    monkeypatch.setattr(blas, "_moderate", 0)
    with config.executor("native"):
        assert (flambeau.ones(3) + 1).sum().item() == 6
    assert blas._moderate == blas.MODERATE
