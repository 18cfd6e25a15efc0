"""Bessel functions in generated code are those of the interpreter, in single precision."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import config

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check

NAMES = ["i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0",
         "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
         "spherical_bessel_j0"]


@pytest.mark.parametrize("name", NAMES)
def test_agreement(name: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-20, 20, 50_000), rng.uniform(-1, 1, 10_000) * 1e-3,
                        rng.standard_normal(20_000) * 10.0 ** rng.integers(-37, 38, 20_000),
                        [0.0, -0.0, 8, -8, 2, np.inf, -np.inf, np.nan]]).astype(np.float32)
    function = getattr(flambeau.special, name)
    with config.executor("interpreter"), np.errstate(all="ignore"):
        want = function(flambeau.tensor(x).double()).numpy()
    with config.executor("native"):
        found = function(flambeau.tensor(x)).numpy()
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        assert np.array_equal(np.isnan(found), np.isnan(rounded))
        finite = np.isfinite(rounded)
        assert np.array_equal(found[~finite & ~np.isnan(rounded)], rounded[~finite & ~np.isnan(rounded)])
        error = np.abs(found[finite] - want[finite])
    # Zeros of oscillating functions are as exact as double precision has them.
    assert np.all(error <= 2 * np.spacing(np.abs(rounded[finite])) + 1e-12)


def test_it_is_native() -> None:
    for name in NAMES:
        operator = name if name.startswith("i") else f"special_{name}"
        x = flambeau.rand(100) * 20 + 0.01
        for dtype in (flambeau.float32, flambeau.float16, flambeau.bfloat16)[:3 if name in NAMES[:4] else 1]:
            check(lambda v, f=getattr(flambeau.special, name): f(v) + 1, [x.to(dtype)], operator,
                  1e-6 if dtype is flambeau.float32 else 1e-2)
