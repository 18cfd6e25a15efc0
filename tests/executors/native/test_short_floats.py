"""All numbers of 16 bits, through what chooses among them or rounds them to integers: the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x,
    "abs": lambda x: x.abs(),
    "floor": flambeau.floor,
    "ceil": flambeau.ceil,
    "trunc": flambeau.trunc,
    "round": flambeau.round,
    "relu": flambeau.relu,
    "clamp": lambda x: x.clamp(-1.5, 7),
    "clamp by halves": lambda x: x.clamp(0.1, 0.3),
    "where": lambda x: flambeau.where(x < 0, x, 1.0),
    "where, rounded": lambda x: flambeau.where(x < 0, x * 3, 0.1),
    "copysign": lambda x: flambeau.copysign(x, -x.flip(0)),
    "maximum": lambda x: flambeau.maximum(x, -x.flip(0)),
    "floor of a sum": lambda x: flambeau.floor(x + 0.3),
    "back and forth": lambda x: (-x.float()).to(x.dtype),
}


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_numbers(name: str, dtype: Any) -> None:
    x = flambeau.from_numpy(np.arange(1 << 16).astype(np.uint16).view(np.int16)).view(dtype)
    found = {}
    for tier in ("interpreter", "native"):
        with config.executor(tier):
            y = FUNCTIONS[name](x)
            found[tier] = y.view(flambeau.int16).numpy().copy(), y.isnan().numpy()
    np.testing.assert_array_equal(found["native"][1], found["interpreter"][1])
    none = found["native"][1]
    np.testing.assert_array_equal(found["native"][0][~none], found["interpreter"][0][~none])
