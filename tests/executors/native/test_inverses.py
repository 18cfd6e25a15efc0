"""Inverse functions, remainders and shifts in generated code: against higher precision, and at the ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config
from flambeau.nn import functional as F

pytest.importorskip("llvmlite")

from flambeau.executors.native.llvm.compiling import code
from tests.executors.native.agreement import check

ENDS = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3, -3, 1e30, -1e30,
                 0.99999994, -0.99999994, 1.0000001, 1e-20, 5, 7, -7, 3.4e38], np.float32)


def numbers(count: int) -> Any:
    rng = np.random.default_rng(0)
    wide = rng.standard_normal(count) * 10.0 ** rng.integers(-30, 30, count)
    return np.concatenate([wide, rng.uniform(-1, 1, count), rng.standard_normal(count) * 3,
                           ENDS]).astype(np.float32)


def pairs(count: int) -> tuple[Any, Any]:
    x = numbers(count)
    return (np.concatenate([x, np.repeat(ENDS, ENDS.size)]),
            np.concatenate([x[np.random.default_rng(1).permutation(x.size)], np.tile(ENDS, ENDS.size)]))


def native(function: Callable[..., Any], *operands: Any) -> Any:
    with config.executor("native"):
        found: Any = function(*[flambeau.tensor(x) for x in operands])
        return found.numpy()


def interpreted(function: Callable[..., Any], *operands: Any) -> Any:
    with config.executor("interpreter"):
        found: Any = function(*[flambeau.tensor(x) for x in operands])
        return found.numpy()


def agrees(found: Any, exact: Any, units: float) -> None:
    """Within so many units in the last place of single precision; zeros have the same sign."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        error = np.abs(found.astype(np.float64) - exact) / np.spacing(np.abs(rounded)).astype(np.float64)
    assert np.all(same | (error <= units))
    assert np.array_equal(np.signbit(found[rounded == 0]), np.signbit(rounded[rounded == 0]))


@pytest.mark.parametrize(("name", "reference"), [
    ("atan", "arctan"), ("asin", "arcsin"), ("acos", "arccos"), ("tan", "tan"), ("asinh", "arcsinh"),
    ("acosh", "arccosh"), ("atanh", "arctanh")])
def test_of_one(name: str, reference: str) -> None:
    x = numbers(50_000)
    with np.errstate(all="ignore"):
        exact = getattr(np, reference)(x.astype(np.float64))
    agrees(native(getattr(flambeau, name), x), exact, 1)


def test_sinc() -> None:
    """As exact as pi x, which is rounded, allows."""
    x = numbers(50_000)
    with np.errstate(all="ignore"):
        turn = (x * np.float32(np.pi)).astype(np.float64)
        exact = np.where(x == 0, 1, np.sin(turn) / np.where(x == 0, 1, turn))
    agrees(native(flambeau.sinc, x), exact, 2.5)


@pytest.mark.parametrize("name", ["erfc", "erfinv"])
def test_error_functions(name: str) -> None:
    """The interpreter's are exact: it computes them in double precision."""
    x = numbers(20_000)
    function = getattr(flambeau, name)
    agrees(native(function, x), interpreted(function, x.astype(np.float64)), 1)


@pytest.mark.parametrize(("name", "reference"), [("atan2", "arctan2"), ("hypot", "hypot")])
def test_of_two(name: str, reference: str) -> None:
    x, y = pairs(20_000)
    with np.errstate(all="ignore"):
        exact = getattr(np, reference)(x.astype(np.float64), y.astype(np.float64))
    agrees(native(getattr(flambeau, name), x, y), exact, 1)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithm_of_a_sum(name: str) -> None:
    x, y = pairs(20_000)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64), y.astype(np.float64))
        found = native(getattr(flambeau, name), x, y)
        size = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1)
        near = np.abs(found - exact) <= 2e-7 * size
    assert np.all(near | (found == exact) | (np.isnan(found) & np.isnan(exact)) | (np.abs(exact) > 3e38))


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_remainders_are_exact(name: str) -> None:
    """However large the quotient."""
    x, y = pairs(20_000)
    function = getattr(flambeau, name)
    found, exact = native(function, x, y), interpreted(function, x, y)
    assert np.array_equal(found, exact, equal_nan=True)
    known = ~np.isnan(exact)
    assert np.array_equal(np.signbit(found[known]), np.signbit(exact[known]))


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_remainders_of_double_precision_are_exact(name: str) -> None:
    rng = np.random.default_rng(0)
    ends = np.array([0.0, -0.0, 1, -0.3, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 1e308,
                     -1.7e308, 3, 2.0**53])
    wide = [rng.standard_normal(5000) * 10.0 ** rng.integers(low, high, 5000)
            for low, high in ((-3, 3), (-308, 308), (-323, -300), (290, 308))]
    x = np.concatenate([*wide, wide[3], rng.integers(-2**53, 2**53, 5000), np.repeat(ends, ends.size)])
    y = np.concatenate([*wide[::-1], wide[0], rng.integers(1, 99, 5000), np.tile(ends, ends.size)])
    function = getattr(flambeau, name)
    found, exact = native(function, x, y), interpreted(function, x, y)
    assert np.array_equal(found, exact, equal_nan=True)
    known = ~np.isnan(exact)
    assert np.array_equal(np.signbit(found[known]), np.signbit(exact[known]))


def test_hypot_of_double_precision() -> None:
    rng = np.random.default_rng(0)
    ends = np.array([0.0, -0.0, 1, -0.3, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 1e308, -1.2e308])
    near, far = [10.0 ** rng.integers(-low, low, 5000) for low in (3, 300)]
    x, y = [np.concatenate([rng.standard_normal(5000) * near, rng.standard_normal(5000) * far, order(ends)])
            for order in (lambda e: np.repeat(e, e.size), lambda e: np.tile(e, e.size))]
    found, exact = native(flambeau.hypot, x, y), np.hypot(x, y)
    same = (found == exact) | (np.isnan(found) & np.isnan(exact))
    with np.errstate(invalid="ignore"):
        assert np.all(same | (np.abs(found - exact) <= 2 * np.spacing(exact)))


INTEGERS = [flambeau.int64, flambeau.int32, flambeau.int8, flambeau.uint8]
KERNELS: list[tuple[str, Callable[..., Any], str]] = [
    ("lerp by a number", lambda x, y: flambeau.lerp(x, y, 0.3), "lerp"),
    ("lerp by a larger number", lambda x, y: flambeau.lerp(x, y, 0.75), "lerp"),
    ("lerp by a tensor", lambda x, y: flambeau.lerp(x, y, x), "lerp"),
    ("leaky_relu", lambda x, y: F.leaky_relu(x - y, 0.1), "leaky_relu"),
    ("leaky_relu, steep", lambda x, y: F.leaky_relu(x - y, 1.5), "leaky_relu"),
    ("nansum", lambda x, y: flambeau.nansum((x / (y > 0)).reshape(-1, 5), 1), "nansum"),
    ("remainder by a number", lambda x, y: x % 0.3, "remainder"),
]


@pytest.mark.parametrize(("name", "function", "operator"), KERNELS, ids=[name for name, *_ in KERNELS])
def test_has_a_kernel(name: str, function: Callable[..., Any], operator: str) -> None:
    flambeau.manual_seed(0)
    for dtype in (flambeau.float32, flambeau.bfloat16):
        check(function, [flambeau.randn(35).to(dtype), flambeau.randn(35).to(dtype)], operator)
    before = code.compiled
    check(function, [flambeau.randn(60), flambeau.randn(60)], operator)
    assert code.compiled == before, "another shape compiles nothing"


@pytest.mark.parametrize("number", [1, 2, 7, 1 << 30, -2, -7, -(1 << 30)])
@pytest.mark.parametrize("dtype", INTEGERS[:2], ids=str)
def test_whole_quotients_by_a_number(dtype: Any, number: int) -> None:
    x = flambeau.tensor([*range(-20, 21), (1 << 31) - 1, -(1 << 31)], dtype=dtype)
    check(lambda v: (v // number, v % number), [x], "floor_divide")
    check(lambda v: tuple(v.div(number, rounding_mode=how) for how in ("floor", "trunc")), [x], "div")
    check(lambda v: v.fmod(number), [x], "fmod")
    assert (x // number).tolist() == [v // number for v in x.tolist()]
    assert (x % number).tolist() == [v % number for v in x.tolist()]


def test_whole_quotients_by_zero() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (flambeau.arange(3) % flambeau.zeros(3, dtype=flambeau.int64)).tolist()


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts(dtype: Any) -> None:
    x = flambeau.arange(-200, 200).to(dtype)
    by = (flambeau.arange(400) % 75 - 5).to(dtype)
    check(lambda v, w: (v << w, v >> w), [x, by], "bitwise_left_shift")
    check(lambda v: (v << 3, v >> 2), [x], "bitwise_right_shift")


@pytest.mark.parametrize("name", ["asin", "atan", "fmod", "sinh"])
def test_of_one_short_number(name: str) -> None:
    """Taken out of the loop, a sign must not lead to a conversion that no instruction does."""
    x, y = flambeau.tensor(0.3, dtype=flambeau.float16), flambeau.rand(5).to(flambeau.float16) + 1
    function = getattr(flambeau, name)
    check(lambda x, y: function(x, y) if name == "fmod" else function(x) + y, [x, y], name)


_FLOATING = [0.0, -0.5, 1.9, -1.9, 127.6, 256.0, 300.0, -129.0, 32768.5, 65536.5, 2147483520.0, 2147483648.0,
             -2147483648.0, -2147483904.0, 4294967296.0, 1e10, 1e15, 9.2e18, 9.3e18, -9.3e18, 1e30, math.inf,
             -math.inf, math.nan]


@pytest.mark.parametrize("dtype", [*INTEGERS, flambeau.int16], ids=str)
@pytest.mark.parametrize("source", [flambeau.float32, flambeau.float64, flambeau.float16], ids=str)
def test_floating_numbers_become_whole(source: Any, dtype: Any) -> None:
    """Also those that the type does not hold: as the processor gives them, which is what PyTorch gives."""
    x = flambeau.tensor(_FLOATING, dtype=flambeau.float64).to(source).repeat(5)
    check(lambda v: v.to(dtype), [x], "to_copy")
    wide = x.to(flambeau.int64)
    with config.executor("native"):
        assert wide[-3:].tolist() == [-1 << 63] * 3 and x.to(flambeau.int32)[-3:].tolist() == [-1 << 31] * 3
