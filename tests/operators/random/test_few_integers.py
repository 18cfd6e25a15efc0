"""A few integers, which are drawn at once, are those of the stream that is recorded."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import config


def _drawn() -> list[Any]:
    flambeau.manual_seed(3)
    found: list[Any] = []
    for i in range(12):
        if i % 3 == 0:      # so that the next numbers begin with another state, which is known or not
            found.append(flambeau.rand(40, 40).sum().item() > 0 if i % 2 else flambeau.rand(40, 40) > 2)
        found += [int(flambeau.randint(1, 5, ())), flambeau.randint(0, 40, (1 + i % 4, 2)),
                  flambeau.randint(8, 24, (1 + i % 4, 1)), flambeau.randint(5, (2, 2, 2)),
                  flambeau.randint(3, (2,)), flambeau.rand(1), flambeau.randint(5, (0, 2))]
    return [x.tolist() if isinstance(x, flambeau.Tensor) else x for x in found]


def test_they_are_those_of_the_stream() -> None:
    pytest.importorskip("llvmlite")
    found = _drawn()
    with config.executor("native"):     # which draws nothing at once
        assert _drawn() == found


@pytest.mark.parametrize("size", [(2, -1), (-1, -2)])
def test_negative_extents_are_refused(size: tuple[int, ...]) -> None:
    flambeau.randint(5, (2,))
    with pytest.raises(RuntimeError):
        flambeau.randint(0, 5, size)
