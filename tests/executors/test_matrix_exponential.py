"""The exponential of matrices, beside a long Taylor series in extended precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flambeau

SCALES = [0.0, 1e-12, 1e-5, 1e-3, 0.02, 0.1, 0.3, 0.7, 1.2, 2.0, 3.0, 6.0, 20.0]


def exact(x: Any) -> Any:
    """The exponential, rounded once or so."""
    wide = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
    halvings = max(0, math.frexp(float(np.abs(x).sum(axis=-2).max()))[1] + 2)
    wide = wide / 2 ** halvings
    total = term = np.broadcast_to(np.eye(x.shape[-1], dtype=wide.dtype), x.shape)
    for k in range(1, 30):
        term = term @ wide / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("scale", SCALES)
def test_it_is_exact(scale: float, dtype: str) -> None:
    rng = np.random.default_rng(0)
    single = dtype in ("float32", "complex64")
    for shape in ((7, 7), (3, 2, 2), (2, 3, 5, 5)):
        x = rng.standard_normal(shape)
        x = x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x
        x = (x / np.abs(x).sum(axis=-2).max() * scale).astype(dtype)
        found, want = flambeau.matrix_exp(flambeau.from_numpy(x)).numpy(), exact(x)
        assert found.dtype == x.dtype
        size = np.abs(want).max(axis=(-1, -2), keepdims=True)
        assert np.all(np.abs(found - want) <= (2e-7 if single else 2e-14) * size)


def test_matrices_of_different_sizes_do_not_disturb_each_other() -> None:
    sizes = flambeau.tensor([0.0, 1e-3, 1.0, 30.0]).view(-1, 1, 1)
    x = flambeau.randn(4, 5, 5, dtype=flambeau.float64) * sizes
    found = flambeau.matrix_exp(x)
    for one, alone in zip(found, x):
        size = float(alone.matrix_exp().abs().max())
        assert flambeau.allclose(one, alone.matrix_exp(), rtol=1e-12, atol=1e-13 * size)


def test_what_is_not_finite_stays_with_its_matrix() -> None:
    x = flambeau.zeros(3, 2, 2)
    x[0, 0, 1], x[1, 1, 0] = math.nan, math.inf
    found = flambeau.matrix_exp(x)
    assert found[:2].isnan().all() and flambeau.equal(found[2], flambeau.eye(2))
    ends = flambeau.tensor([math.inf, -math.inf, 1.0]).view(3, 1, 1)
    assert flambeau.allclose(flambeau.matrix_exp(ends), ends.exp(), rtol=1e-6)
