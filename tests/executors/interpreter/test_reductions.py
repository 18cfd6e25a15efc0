"""Reductions of the interpreter, bit by bit beside NumPy's."""

import numpy as np
import pytest

from flambeau.executors.interpreter import choice, reductions

FUNCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.uint8, np.complex64])
@pytest.mark.parametrize("keepdims", [True, False])
def test_many_short_rows(name, width, dtype, keepdims):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((3, 200, width)) * 4).astype(dtype)
    if dtype in (np.float32, np.float64):
        x[1, :50, 0] = np.nan
    for own in (x, np.ascontiguousarray(x.T).T, x[:, ::2]):
        found = getattr(reductions, name)(own, axis=(2,), keepdims=keepdims)
        expected = FUNCTIONS[name].reduce(own, 2, keepdims=keepdims)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("size", [10, 5000, 70000])
def test_zeros_and_numbers_are_chosen_by_a_condition(dtype, size):
    rng = np.random.default_rng(0)
    condition = rng.random(size) < 0.5
    a, b = ((rng.standard_normal(size) * 9).astype(dtype) for _ in range(2))
    if dtype != np.int32:
        a[::3], b[::4] = np.nan, -np.inf
    zero, one = dtype(0), dtype(1)
    for first, second in ((a, b), (a, zero), (zero, b), (one, b), (a, one), (one, zero), (zero, one)):
        found = choice.where(condition, first, second)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.where(condition, first, second))
