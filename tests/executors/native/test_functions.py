"""Functions in generated code against higher precision: within 2 units, and as C at the ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config

pytest.importorskip("llvmlite")

# Every 1999th of all floats, and all floats around 0 and 1; as many doubles at random.
PATTERNS = np.concatenate([
    np.arange(0, 1 << 32, 1999, dtype=np.uint64).astype(np.uint32),
    np.arange(0x3F7F0000, 0x3F810000, dtype=np.uint32),
    np.arange(0xBF7F0000, 0xBF810000, 3, dtype=np.uint32),
    np.arange(0, 4096, dtype=np.uint32), np.arange(0x7F7FFF00, 0x7F800010, dtype=np.uint32),
])
SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 88.72, 88.73,
                    -87.4, -103.9, -104, 709.7, 709.8, -745, -746, 1e30, -1e30, 3, -3, 1.5, -2.5])


def _lgamma(x: float) -> float:
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.inf     # PyTorch's value, where C's function fails
    return math.lgamma(x)


def _erfinv(x: float) -> float:
    """Newton's method from where the interval was halved 20 times."""
    size = abs(x)
    if not size < 1:
        return math.copysign(math.inf, x) if size == 1 else math.nan
    if size < 1e-9:
        return x * math.sqrt(math.pi) / 2
    low, high = 0.0, 6.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle) > 1 - size else (low, middle)
    for _ in range(3):
        wrong = math.erf(low) - size if size < 0.5 else (1 - size) - math.erfc(low)
        low -= wrong * math.sqrt(math.pi) / 2 * math.exp(low * low)
    return math.copysign(low, x)


SLOW = {"erf": math.erf, "erfc": math.erfc, "lgamma": _lgamma, "erfinv": _erfinv}


def digamma(x: Any) -> Any:
    """By recurrence up to 30, then the first terms of the asymptotic series; below 0 by reflection."""
    x = x.astype(np.longdouble)
    y = np.where(x < 0, 1 - x, x)
    total = np.zeros_like(y)
    for _ in range(31):
        below = y < 30
        total, y = np.where(below, total - 1 / y, total), np.where(below, y + 1, y)
    square = 1 / (y * y)
    total += np.log(y) - 0.5 / y - square * (1 / np.longdouble(12) - square * (
        1 / np.longdouble(120) - square * (1 / np.longdouble(252) - square / 240)))
    turn = np.pi * (x - np.rint(x))
    below = np.where(x == np.rint(x), np.nan, total - np.pi * np.cos(turn) / np.sin(turn))
    found = np.where(x < 0, below, total)
    return np.where(x == 0, -np.copysign(np.inf, x), np.where(x == np.inf, x, found))


def extended(name: str) -> Any:
    """The function in higher precision than double where NumPy has that."""
    if name == "sigmoid":
        return lambda x: 1 / (1 + np.exp(-x))
    if name in SLOW:
        return lambda x: np.vectorize(SLOW[name], otypes=[np.float64])(x.astype(np.float64))
    if name == "digamma":
        return digamma
    if name == "rsqrt":
        return lambda x: 1 / np.sqrt(x)
    return getattr(np, name)


def units(found: Any, exact: Any) -> Any:
    """The error in units in the last place of ``found``'s type; where it must be equal, 0 or infinite."""
    kind = found.dtype
    with np.errstate(all="ignore"):
        rounded = exact.astype(kind)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        spacing = np.spacing(np.abs(rounded).astype(kind)).astype(np.longdouble)
        error = np.abs(found.astype(np.longdouble) - exact) / spacing
    return np.where(same, np.minimum(np.nan_to_num(error, posinf=0), 1), np.nan_to_num(error, nan=np.inf))


def described(name: str, x: Any, found: Any, exact: Any) -> str:
    """What went wrong, and by how much."""
    return f"{name}({x}) = {found}, not {exact}: {abs(found - exact) / np.spacing(abs(found))} units"


SINGLE = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sigmoid", "sin", "cos", "sinh",
          "cosh", "erf", "erfc", "erfinv", "lgamma", "digamma", "sqrt", "rsqrt"]
DOUBLE = ["exp", "exp2", "expm1", "log", "log1p", "tanh", "sigmoid", "sqrt", "rsqrt"]


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision(name: str) -> None:
    x = np.concatenate([PATTERNS.view(np.float32), SPECIAL.astype(np.float32)])
    if name in SLOW:
        x = x[::8 if name == "erf" else 64]  # the reference is slow
    with np.errstate(all="ignore"):
        exact = np.asarray(extended(name)(x.astype(np.float64)))
    with config.executor("native"):
        found = getattr(flambeau, name)(flambeau.tensor(x)).numpy()
    error = units(found, exact)
    normal = np.abs(exact) >= 2.0 ** -126
    worst = int(np.argmax(np.where(normal, error, 0)))
    assert error[worst] <= 2, described(name, x[worst], found[worst], exact[worst])
    with np.errstate(invalid="ignore"):
        tiny = np.abs(found - exact) <= 2.0 ** -125  # sigmoid below exp's range is 0
    assert np.all(normal | tiny | (np.isnan(found) & np.isnan(exact)))
    zero = x == 0
    assert np.array_equal(np.signbit(found[zero]), np.signbit(exact[zero]))


@pytest.mark.parametrize("name", DOUBLE)
def test_double_precision(name: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-40, 40, 200_000),
                        rng.standard_normal(200_000) * 10.0 ** rng.integers(-30, 3, 200_000), SPECIAL])
    with np.errstate(all="ignore"):
        exact = extended(name)(x.astype(np.longdouble))
    with config.executor("native"):
        found = getattr(flambeau, name)(flambeau.tensor(x)).numpy()
    error = np.where(np.abs(exact) >= 2.0 ** -1022, units(found, exact), 0)
    worst = int(np.argmax(error))
    assert error[worst] <= 3, described(name, x[worst], found[worst], exact[worst])


def test_power() -> None:
    rng = np.random.default_rng(1)
    base = np.concatenate([np.exp(rng.uniform(-20, 20, 100_000)),
                           rng.uniform(-5, 5, 100_000)]).astype(np.float32)
    exponent = np.concatenate([rng.uniform(-4, 4, 100_000), rng.integers(-5, 6, 100_000)]).astype(np.float32)
    special = SPECIAL.astype(np.float32)
    base = np.concatenate([base, np.repeat(special, special.size)])
    exponent = np.concatenate([exponent, np.tile(special, special.size)])
    with np.errstate(all="ignore"):
        exact = np.power(base.astype(np.float64), exponent.astype(np.float64))
    with config.executor("native"):
        found = flambeau.pow(flambeau.tensor(base), flambeau.tensor(exponent)).numpy()
    error = np.where(np.abs(exact) < 2.0 ** -126, 0, units(found, exact))
    worst = int(np.argmax(error))
    assert error[worst] <= 2, described(
        "pow", (base[worst], exponent[worst]), found[worst], exact[worst])


@pytest.mark.parametrize("name", ["erfc", "erfinv", "lgamma", "digamma"])
@pytest.mark.parametrize("tier", ["interpreter", "native"])
def test_special_functions_in_double_precision(name: str, tier: str) -> None:
    """Relative to the largest term of what is added up: lgamma and digamma have zeros below 0."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-12, 12, 3000), rng.uniform(-1, 1, 3000),
                        10.0 ** rng.uniform(-30, 3, 1000), 1 - 10.0 ** rng.uniform(-16, 0, 1000),
                        SPECIAL[np.abs(SPECIAL) < 1e3]])
    with np.errstate(all="ignore"):
        exact = extended(name)(x).astype(np.float64)
    with config.executor(tier):
        found = getattr(flambeau, name)(flambeau.tensor(x)).numpy()
    scale = 1 if name in ("lgamma", "digamma") else 0
    with np.errstate(all="ignore"):
        error = np.abs(found - exact) / np.maximum(np.abs(exact), scale)
    error = np.where((found == exact) | (np.isnan(found) & np.isnan(exact)), 0, error)
    worst = int(np.argmax(np.nan_to_num(error, nan=np.inf)))
    near_pole = 1e-9 if name == "digamma" else 0    # where the reflection's angle is rounded
    assert error[worst] <= 1e-13 + near_pole, described(name, x[worst], found[worst], exact[worst])


def test_functions_of_the_normal_distribution() -> None:
    """ndtri of ndtr is its argument, in the tails by the logarithm."""
    x = flambeau.linspace(-8, 5, 4001, dtype=flambeau.float64)
    tail = flambeau.linspace(-37, -1, 1001, dtype=flambeau.float64)
    for tier in ("interpreter", "native"):
        with config.executor(tier):
            back = flambeau.special.ndtri(flambeau.special.ndtr(x))
            np.testing.assert_allclose(back.numpy(), x.numpy(), 0, 1e-9)
            far = flambeau.special.ndtri(flambeau.special.ndtr(tail))
            np.testing.assert_allclose(far.numpy(), tail.numpy(), 1e-12)
            logarithm = flambeau.special.log_ndtr(tail).numpy()
            np.testing.assert_allclose(logarithm, flambeau.special.ndtr(tail).log().numpy(), 1e-13)
            ends = flambeau.special.ndtri(flambeau.tensor([0.0, 1.0, -0.1, 1.1, math.nan])).tolist()
            assert ends[:2] == [-math.inf, math.inf] and np.isnan(ends[2:]).all()


def test_gelu() -> None:
    """In single precision to a unit in the last place of 1, signs of zero included."""
    ends = flambeau.tensor([0.0, -0.0, 1e-30, -1e-30, 1e30, -1e30, math.inf, math.nan, -math.inf])
    x = flambeau.cat([flambeau.linspace(-16, 16, 100_001), ends])
    with config.executor("native"):
        found, at = flambeau.nn.functional.gelu(x).numpy(), x.double().numpy()
    assert np.isnan(found[-2:]).all()
    exact = [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in at[:-2]]
    np.testing.assert_allclose(found[:-2], exact, 1.3e-7, 6e-8)
    small = np.abs(at[:-2]) < 1
    np.testing.assert_allclose(found[:-2][small], np.array(exact)[small], 3e-7, 0)
    assert (np.signbit(found[:-2]) == np.signbit(at[:-2])).all()


def test_slope_of_gelu() -> None:
    """In single precision to a unit in the last place of 1; no number where the density times x is none."""
    ends = flambeau.tensor([0.0, -0.0, 1e30, -1e30, math.inf])
    x = flambeau.cat([flambeau.linspace(-16, 16, 100_001), ends])
    with config.executor("native"):
        slope, = flambeau.autograd.grad(flambeau.nn.functional.gelu(x.requires_grad_()).sum(), x)
        found, at = slope.numpy(), x.detach().double().numpy()
    assert np.isnan(found[-1])
    exact = [0.5 * math.erfc(-v / math.sqrt(2)) + v * math.exp(-v * v / 2) / math.sqrt(2 * math.pi)
             if abs(v) < 1e6 else float(v > 0) for v in at[:-1]]
    np.testing.assert_allclose(found[:-1], exact, 0, 1.3e-7)


def test_trigamma() -> None:
    """Known values, the recurrence, and the reflection."""
    x = flambeau.linspace(0.05, 40, 2001, dtype=flambeau.float64)
    for tier in ("interpreter", "native"):
        with config.executor(tier):
            known = flambeau.polygamma(1, flambeau.tensor([1.0, 0.5], dtype=flambeau.float64)).numpy()
            np.testing.assert_allclose(known, [math.pi ** 2 / 6, math.pi ** 2 / 2], 1e-14)
            f = flambeau.polygamma(1, x)
            following = flambeau.polygamma(1, x + 1).numpy()
            np.testing.assert_allclose(following, (f - 1 / (x * x)).numpy(), 0, 1e-12)
            both = flambeau.polygamma(1, 1 - x[:500]) + f[:500]
            turn = math.pi / (x[:500] * math.pi).sin()
            np.testing.assert_allclose(both.numpy(), (turn * turn).numpy(), 1e-9)


def test_the_float_next_to_a_multiple_of_a_right_angle() -> None:
    """None comes nearer to one: all the digits that are left of it are those of the reduction."""
    x = flambeau.tensor([16367173 * 2.0 ** 72])
    with config.executor("native"):
        assert abs(x.cos().item() + 1.6147697982476211e-09) < 1e-16
        assert x.sin().item() == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_next_numbers(dtype: Any) -> None:
    edges = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny,
                      np.finfo(dtype).smallest_subnormal, -np.finfo(dtype).smallest_subnormal], dtype)
    more = np.random.default_rng(0).standard_normal(50).astype(dtype)
    x, y = (each.reshape(-1).copy() for each in np.meshgrid(*[np.concatenate([edges, more])] * 2))
    with config.executor("native"):
        found = flambeau.nextafter(flambeau.tensor(x), flambeau.tensor(y)).numpy()
    with np.errstate(all="ignore"):
        want = np.nextafter(x, y)
    np.testing.assert_array_equal(found, want)
    known = ~np.isnan(want)
    assert np.array_equal(np.signbit(found[known]), np.signbit(want[known]))
