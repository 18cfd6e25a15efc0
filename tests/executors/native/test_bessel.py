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


INCOMPLETE = [0.0, 1e-10, 0.3, 1.0, 2.5, 30.0, 200.0, np.inf, np.nan, -1.0]


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
def test_incomplete_gamma_functions(name: str, dtype: flambeau.dtype) -> None:
    rng = np.random.default_rng(0)
    count = len(INCOMPLETE)
    a, x = [np.concatenate([rng.uniform(0, 20, 2000), rng.uniform(0, 300, 1000), ends])
            for ends in (np.repeat(INCOMPLETE, count), np.tile(INCOMPLETE, count))]
    check(getattr(flambeau.special, name), [flambeau.tensor(v, dtype=dtype) for v in (a, x)],
          "igamma" if name == "gammainc" else "igammac", 2e-6 if dtype is flambeau.float32 else 1e-11)


FAMILIES = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
            "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t", "hermite_polynomial_h",
            "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


@pytest.mark.parametrize("name", FAMILIES)
def test_orthogonal_polynomials(name: str) -> None:
    """Of one degree, and of a degree for each element."""
    for dtype in (flambeau.float32, flambeau.float64):
        x = flambeau.linspace(-2, 2, 60, dtype=dtype)
        degrees = flambeau.tensor([-1, 0, 1, 2, 5.5, np.nan, 11, 3, 4, 6], dtype=dtype).repeat(6)
        check(lambda v, n: (getattr(flambeau.special, name)(v, n), getattr(flambeau.special, name)(v, 4)),
              [x, degrees], f"special_{name}", 0)
