"""How far sums of native kernels lie from those in double precision, beside one sequence of additions."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau import config

EPSILON = 2.0**-23

# Shape, summed dimension, and the mean error allowed: about 1.5 times what kernels lose.
SUMS = [
    ((64, 4096), 1, 0.5),
    ((8, 100000), 1, 0.35),
    ((16, 20000), 1, 0.45),
    ((2000, 32), 0, 0.4),
    ((20000, 24), 0, 0.4),
    ((4, 3000, 40), 1, 0.45),
]


@pytest.mark.parametrize(("shape", "dim", "allowed"), SUMS)
def test_sums_lose_less_than_one_sequence_of_additions(
    shape: tuple[int, ...], dim: int, allowed: float
) -> None:
    x = np.random.default_rng(0).random(shape, dtype=np.float32)
    exact = x.astype(np.float64).sum(dim)

    def error(found: np.ndarray) -> float:
        return float((np.abs(found - exact) / (EPSILON * exact)).mean())

    with config.executor("native"):
        found = error(torch.tensor(x).sum(dim).numpy())
        mean = error(torch.tensor(x).mean(dim).numpy() * np.float64(shape[dim]))
    sequence = error(np.cumsum(x, dim).take(-1, dim))
    assert max(found, mean) <= allowed < sequence / 4
