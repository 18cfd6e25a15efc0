"""A graph of which all is needed is found by its signatures alone, and computes what any graph does."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import flambeau as torch
from flambeau import config
from flambeau.engine import looks
from flambeau.executors.native.programs import known


@pytest.fixture(autouse=True)
def _native() -> object:
    with config.executor("native"):
        yield


def _known(x: torch.Tensor) -> bool:
    return (x._storage.node.signature,) in known.replays


def test_values_of_each_time() -> None:
    for k in range(6):
        x = torch.from_numpy(np.arange(5.0, dtype=np.float32) + k) * 1
        torch.synchronize()
        total = x.sum()
        assert total.item() == 10 + 5 * k and looks[-1].tier.startswith("native")
        scaled = x * float(k)
        assert scaled.tolist() == [(i + k) * float(k) for i in range(5)]
        assert _known(total) and _known(scaled)


def test_operands_that_are_one_and_that_differ() -> None:
    x, y = torch.arange(4.0).clone(), torch.ones(4)
    torch.synchronize()
    for _ in range(3):
        for a, b in ((x, x), (x, y), (y, x), (y, y)):
            assert (a - 2 * b * 0 - b).tolist() == (a.numpy() - b.numpy()).tolist()
            product = a * b
            assert product.tolist() == (a.numpy() * b.numpy()).tolist()
    assert _known(product)


def test_results_and_operands_stay_as_they_are() -> None:
    x = torch.arange(4.0).clone()
    torch.synchronize()
    kept = []
    for k in range(4):
        kept.append(x + k)
        torch.synchronize()
    x.add_(100)
    torch.synchronize()
    assert [one.tolist() for one in kept] == [[i + k for i in range(4)] for k in range(4)]
    assert x.tolist() == [100, 101, 102, 103]


def test_a_failing_kernel_says_so_and_leaves_the_next_one_alone() -> None:
    x, places = torch.arange(6.0).clone(), torch.tensor([0, 5]) * 1
    torch.synchronize()
    good = [x[places * 1].tolist() for _ in range(3)]
    for _ in range(2):
        later = torch.tensor([0, 5]) + 3
        with pytest.raises(IndexError):
            x[later].tolist()
        torch.synchronize()
        assert x.sum().item() == 15
    assert good == [[0, 5]] * 3


def test_what_is_forgotten_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known.clear()
    assert not known.replays
    monkeypatch.setattr(known, "_LIMIT", 20)
    for _ in range(2):
        for rows in range(2, 60):
            assert torch.ones(rows).sum().item() == rows
            assert len(known.replays) <= 21
    known.clear()


def test_graphs_of_the_same_operators_that_are_needed_otherwise() -> None:
    """One holds what lies between, one does not need its last operator, one reads its first result twice."""
    x = torch.arange(4.0).clone()
    torch.synchronize()
    for _ in range(3):
        last = (x + 1) * 2
        assert last.tolist() == [2, 4, 6, 8]
        between = x + 1
        last = between * 2
        assert last.tolist() == [2, 4, 6, 8] and between.tolist() == [1, 2, 3, 4]
        between = x + 1
        between * 2
        assert between.tolist() == [1, 2, 3, 4] and (looks[-1].recorded, looks[-1].computed) == (2, 1)
        first = x + 1
        assert ((x * 2) + first).tolist() == [1, 4, 7, 10]


def test_what_others_see_is_not_overwritten_by_a_graph_that_comes_again() -> None:
    kept = []
    for k in range(4):
        x = torch.full((3,), float(k)) * 1
        torch.synchronize()
        if k % 2:
            kept.append(x.clone())
        x.add_(1)
        assert x.sum().item() == 3 * (k + 1)
    assert [one.tolist() for one in kept] == [[1] * 3, [3] * 3]


def test_what_nobody_reads_is_let_go_of() -> None:
    """The values of a maximum are needed at times; graphs with and without them are known again."""
    x = torch.arange(4.0).clone()
    torch.synchronize()
    computed = []
    with config.executor("native"):
        for i in range(8):
            values, indices = x.max(0)
            if i % 4 != 3:
                del values
            assert indices.item() == 3
            computed.append(looks[-1].computed)
            assert i % 4 != 3 or values.item() == 3
    assert computed == [2, 2, 2, 3] * 2
