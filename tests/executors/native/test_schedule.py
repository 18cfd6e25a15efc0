"""Kernels that a graph is divided into can run one after the other."""

from __future__ import annotations

import random
from typing import Any

import pytest

import flambeau as torch
from flambeau.executors.native.fusion import schedule
from flambeau.graph import pending
from flambeau.graph.node import Node

_FORMS = ("{x}.roll(1, 0)", "{x}.roll(1, 0)", "{x} + {y}", "{x}.exp()", "{x} * {z}", "{x} - {y}", "-{x}")


def _graph(chosen: random.Random) -> list[Node]:
    """The nodes that the last value of a random program needs, last one first."""
    values = [torch.ones(64, 64) for _ in range(3)]
    torch.synchronize()
    for _ in range(chosen.randint(20, 120)):
        x, y, z = chosen.choice(values[-6:]), chosen.choice(values[-6:]), chosen.choice(values)
        values.append(eval(chosen.choice(_FORMS).format(x="x", y="y", z="z"), {"x": x, "y": y, "z": z}))
    del values[:-1], x, y, z
    live: list[Any] = []
    pending.take_live(live)
    return live


@pytest.mark.parametrize("seed", range(0, 1000, 20))
def test_no_kernels_wait_for_each_other(seed: int) -> None:
    for one in range(seed, seed + 20):
        nodes = _graph(random.Random(one))
        met: set[int] = set()
        for unit in schedule.schedule(nodes):
            own = {id(nodes[k]) for k in unit.members}
            for k in unit.members:
                assert all(x.__class__ is not Node or x.value is not None or id(x) in met | own
                           for x in nodes[k].operands)
            met |= own
        assert len(met) == len(nodes)
