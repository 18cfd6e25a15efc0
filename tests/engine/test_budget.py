"""What bounds a loop that never looks."""

from __future__ import annotations

import importlib

import pytest

import flambeau as torch
from flambeau import config
from flambeau.engine import looks
from flambeau.graph import pending
from flambeau.graph.node import constant


def test_a_loop_is_cut_where_it_has_been_before() -> None:
    torch.synchronize()
    looks.clear()
    with config.budget(1):
        total = torch.zeros(())
        x = torch.ones(1000)
        for _ in range(3000):
            y = x * 2
            y = y + 1
            total = total + y.sum()
    assert total.item() == 3000 * 3000
    rounds = [look for look in looks if look.cause == "budget"]
    assert len(rounds) >= 5
    # Whole rounds of three recorded operators each, after the first cut.
    assert all(look.recorded % 3 == 0 for look in rounds[1:])
    assert len({look.recorded for look in rounds[1:-1]}) == 1


def test_a_program_that_never_comes_round_is_cut_as_well() -> None:
    torch.synchronize()
    with config.budget(1):
        values = [torch.ones(1000)]
        source = "\n".join("values.append(values[-1] + 1)" for _ in range(2000))
        exec(compile(source, "straight.py", "exec"), {"values": values})
        assert len(pending.nodes) < 1500
    assert values[-1][0].item() == 2001


def test_native_code_counts_what_python_counts():
    pytest.importorskip("llvmlite")
    native = importlib.import_module("flambeau.executors.native")
    promises = importlib.import_module("flambeau.executors.native.programs.glances.promises")
    x = torch.ones(3, 5)
    torch.synchronize()
    kept = [x * 2, (x + 1).double(), x.topk(2), x[:0] * 2]
    nodes = [*pending.nodes, constant(None)]
    assert promises.counter()(nodes) == native._promised(nodes) > 60 + 120 + 24
    assert promises.counter()([]) == 0
    assert kept
