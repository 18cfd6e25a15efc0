"""Graphs whose operands lie elsewhere each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import flambeau
from flambeau import config
from flambeau.engine import looks
from flambeau.executors import native

pytest.importorskip("llvmlite")
from flambeau.executors.native.programs import known, moving


def _table(rows: int = 64) -> Any:
    table = flambeau.arange(rows * 4).reshape(rows, 4) * 0.01
    flambeau.synchronize()
    return table


_READS: dict[str, Callable[[Any, int, int], Any]] = {
    "a batch": lambda x, i, j: (x[i:i + 8] * 2).tanh().sum(0),
    "two batches": lambda x, i, j: (x[i:i + 8] * x[j:j + 8]).tanh() + x[i:i + 8],
    "a batch and all": lambda x, i, j: (x[i:i + 8] @ x.t()).sum(1),
    "a column": lambda x, i, j: (x[:, i % 4] + 1).sum() * x[j, i % 4],
    "a stretch inside": lambda x, i, j: flambeau.softmax(x[i:i + 8, 1:3] - x[j, :1], 1).t(),
    "overlapping batches": lambda x, i, j: x[i:i + 8] - x[i + 1:i + 9],
    "later ones pending": lambda x, i, j: ((x + 1)[i:i + 8] * x[j:j + 8]).sum(),
    "converted": lambda x, i, j: (x.long()[i:i + 8] + x[j:j + 8].double()).mean(1),
}


@pytest.mark.parametrize("read", _READS.values(), ids=_READS)
def test_values_are_those_of_the_place(read: Callable[[Any, int, int], Any]) -> None:
    picked = random.Random(0)
    table = _table()
    for _ in range(12):
        i, j = picked.randrange(50), picked.randrange(50)
        if picked.random() < 0.3:
            j = i
        with config.executor("native"):
            found = read(table, i, j).tolist()
        with config.executor("interpreter"):
            assert flambeau.allclose(flambeau.tensor(found), flambeau.tensor(read(table, i, j).tolist()))


def test_batches_of_a_tensor_are_one_graph() -> None:
    inputs, targets = _table(), flambeau.arange(64) % 3
    model = flambeau.nn.Linear(4, 3)
    optimizer = flambeau.optim.SGD(model.parameters(), 0.1)
    flambeau.synchronize()
    tiers = []
    with config.executor("native"):
        for i in range(0, 64, 8):
            optimizer.zero_grad()
            flambeau.nn.functional.cross_entropy(model(inputs[i:i + 8]), targets[i:i + 8]).backward()
            optimizer.step()
            tiers.append(looks[-1].tier)
    assert tiers[3:] == ["native"] * 5


def test_places_that_are_new_are_known_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    known.clear()
    table, settle = _table(), known.settle_nodes
    settled: list[int] = []

    def counted(nodes: Any, signatures: Any) -> bool:
        settled.append(len(nodes))
        return settle(nodes, signatures)
    monkeypatch.setattr(known, "settle_nodes", counted)
    with config.executor("native"):
        found = [(table[i:i + 8] * table[i + 1:i + 9]).sum().item() for i in range(50)]
    expected = [sum(k * (k + 4) * 1e-4 for k in range(4 * i, 4 * i + 32)) for i in range(50)]
    assert found == pytest.approx(expected, rel=1e-5)
    assert len(settled) < 10


def test_places_count_from_the_first_graph_on() -> None:
    table, sums = _table(), [5 * sum(row) for row in _table().tolist()]
    tiers = []
    with config.executor("native"):
        for i in (0, 0, 8, 16, 0, 24):
            assert (table[i:i + 8] * 5).sum(1).tolist() == pytest.approx(sums[i:i + 8])
            tiers.append(looks[-1].tier)
    assert tiers[1] == "native" and tiers[3:] == ["native"] * 3


def test_parts_of_what_is_pending_do_not_move() -> None:
    table, sums = _table(), [7 * sum(row) + 28 for row in _table().tolist()]
    with config.executor("native"):
        for i in range(0, 32, 8):
            assert ((table + 1)[i:i + 8] * 7).sum(1).tolist() == pytest.approx(sums[i:i + 8])
    assert known._latest is not None and not known._latest.family.moves


def test_rows_that_are_the_same_by_chance_are_one_graph() -> None:
    picked = random.Random(0)
    table = _table(4)
    tiers = []
    with config.executor("native"):
        for _ in range(40):
            rows = [picked.randrange(4) for _ in range(6)]
            total = table[rows[0]]
            for k in rows[1:]:
                total = total * 0.5 + table[k]
            expected = table[rows[0]].tolist()
            for k in rows[1:]:
                expected = [x * 0.5 + y for x, y in zip(expected, table[k].tolist())]
            assert total.tolist() == pytest.approx(expected)
            tiers.append(looks[-1].tier)
    assert tiers[20:] == ["native"] * 20


def test_parts_of_pending_tensors_beside_parts_that_move(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []

    class Book:
        """Notes what the book says."""

        @staticmethod
        def look_up(pending: list[Any]) -> object:
            said.append(known.book.look_up(pending))
            return said[-1]

    monkeypatch.setattr(native, "book", Book)
    table, other = _table(), _table() + 0.5
    flambeau.synchronize()
    with config.executor("native"):
        for round in range(60):
            i, is_pending = round % 3, round < 30 or round % 5 > 0
            later = other * 1
            if not is_pending:
                flambeau.synchronize()
            said.clear()
            found = (later[2:10] * table[i:i + 8]).sum(1).tolist()
            expected = (other[2:10].numpy() * table[i:i + 8].numpy()).sum(1)
            assert found == pytest.approx(expected.tolist())
            assert not 15 < round < 30 or said == [3]


def test_what_is_overwritten_is_read_before() -> None:
    table = _table(16)
    expected = table.tolist()
    with config.executor("native"):
        for i in range(12):
            part = table[i:i + 4] * 2
            table.add_(1)
            table[i] = part[0]
            assert flambeau.allclose(part, 2 * flambeau.tensor(expected[i:i + 4]))
            expected = [[x + 1 for x in row] for row in expected]
            expected[i] = part[0].tolist()
            assert flambeau.allclose(table, flambeau.tensor(expected))


def _chosen_rows(length: int) -> tuple[Callable[[], tuple[Any, list[Any]]], list[Any]]:
    picked = random.Random(0)
    rows = [flambeau.arange(4) * 0.1 + k for k in range(12)]
    flambeau.synchronize()

    def chosen() -> tuple[Any, list[Any]]:
        own = picked.choices(rows, k=length)
        return flambeau.stack(own), [row.tolist() for row in own]
    return chosen, rows


def test_tensors_that_are_the_same_by_chance_are_one_graph() -> None:
    chosen, _ = _chosen_rows(6)
    weight = flambeau.full((4,), 0.5, requires_grad=True)
    tiers = []
    with config.executor("native"):
        for _ in range(24):
            batch, expected = chosen()
            weight.grad = None
            (batch * weight * weight).sum().backward()
            assert weight.grad is not None
            assert weight.grad.tolist() == pytest.approx([sum(column) for column in zip(*expected)], rel=1e-5)
            tiers.append(looks[-1].tier)
    assert tiers[8:] == ["native"] * 16


def test_what_is_the_same_by_chance_is_overwritten_afterwards() -> None:
    chosen, rows = _chosen_rows(6)
    with config.executor("native"):
        for k in range(24):
            batch, expected = chosen()
            total = (batch * 2).sum(0)
            rows[k % 12].mul_(0.5)
            rows[k % 7].add_(1)
            assert total.tolist() == pytest.approx([2 * sum(column) for column in zip(*expected)], rel=1e-5)


def test_states_that_follow_each_other_are_one_graph() -> None:
    picked = random.Random(0)
    states = [flambeau.arange(4) * 0.1 + k for k in range(20)]
    flambeau.synchronize()
    tiers = []
    with config.executor("native"):
        for _ in range(24):
            steps = picked.sample(range(19), 5)
            now, later = [[states[k + n] for k in steps] for n in (0, 1)]
            expected = [a.tolist()[0] * 3 - b.tolist()[0] for a, b in zip(now, later)]
            found = (flambeau.stack(now) * 3 - flambeau.stack(later))[:, 0]
            assert found.tolist() == pytest.approx(expected, abs=1e-5)
            tiers.append(looks[-1].tier)
    assert tiers[8:] == ["native"] * 16


def test_forms_that_were_read_apart_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "apart", set[int]())
    for form in range(2 * moving._CHOSEN):
        moving.read_apart([SimpleNamespace(form=form), SimpleNamespace(form=-1)])
    assert len(moving.apart) <= moving._CHOSEN + 1      # of each graph both orders are kept
