"""What gather, scatter and indexing come down to, beside NumPy's own indexing."""

import numpy as np
import pytest

from flambeau.executors.interpreter import reductions, scatter

CASES = [
    ((7,), (0,), (5,)),
    ((7, 3), (0,), (20,)),
    ((7, 3), (1,), (20,)),
    ((7, 3, 4), (1,), (4, 5)),
    ((7, 3, 4), (0, 1), (20,)),
    ((7, 3, 4), (1, 2), (4, 5)),
    ((7, 3, 4), (0, 2), (20,)),
    ((7, 3, 4), (0, 1, 2), (20,)),
    ((7, 3), (0,), (0,)),
    ((7, 0), (0,), (5,)),
    ((50, 300), (0,), (400,)),     # more elements than are added one by one
    ((500, 300), (0,), (300,)),
]


@pytest.mark.parametrize("shape, dims, lead", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("with_target", [False, True])
def test_values_are_added_at_positions_that_may_repeat_or_be_negative(shape, dims, lead, dtype, with_target):
    rng = np.random.default_rng(0)
    indices = [rng.integers(-shape[d], shape[d], lead) for d in dims]
    target = rng.integers(-9, 9, shape).astype(dtype) if with_target else None
    key = tuple(indices[dims.index(d)] if d in dims else slice(None) for d in range(len(shape)))
    expected = np.zeros(shape, dtype) if target is None else target.copy()
    values = rng.integers(-9, 9, expected[key].shape).astype(dtype)
    np.add.at(expected, key, values)
    found = scatter.add_at(shape, dims, indices, values, target)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


def test_indices_are_broadcast():
    found = scatter.add_at((3, 4), (0, 1), [np.array([[0], [2]]), np.array([1, 1, 3])], np.ones((2, 3)))
    np.testing.assert_array_equal(found, [[0, 2, 0, 1], [0, 0, 0, 0], [0, 2, 0, 1]])


def test_rows_are_added_one_after_the_other():
    rng = np.random.default_rng(0)
    rows, values = rng.integers(0, 5, 300), rng.standard_normal((300, 6)).astype(np.float32)
    expected, found = np.zeros((5, 6), np.float32), np.zeros((5, 6), np.float32)
    for row, value in zip(rows, values):
        expected[row] += value
    scatter.add_rows(found, rows, values)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (2, 5, 3)])
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_grid_positions_name_what_take_along_axis_takes(shape, kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    for dim in range(len(shape)):
        cut = tuple(4 if d == dim else n for d, n in enumerate(shape))
        index = rng.integers(0, shape[dim], cut).astype(kind)
        where = scatter.grid_positions(index, shape, dim)
        assert where.shape == index.shape
        np.testing.assert_array_equal(x.reshape(-1)[where], np.take_along_axis(x, index, dim))


@pytest.mark.parametrize("shape, cut", [
    ((5,), (3,)), ((5, 3), (5, 1)), ((2, 5, 3), (2, 2, 3)), ((2, 5, 3), (1, 2, 1)), ((300, 300), (300, 1))])
@pytest.mark.parametrize("is_contiguous", [True, False])
def test_elements_along_an_axis_are_numpys(shape, cut, is_contiguous):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    x = x if is_contiguous else np.ascontiguousarray(x.T).T
    for axis in [d for d in range(-len(shape), len(shape)) if cut[d] <= shape[d]]:
        if any(m not in (1, n) for d, (n, m) in enumerate(zip(shape, cut)) if d != axis % len(shape)):
            continue
        index = rng.integers(0, shape[axis], cut)
        taken = scatter.take_along_axis(x, index, axis)
        np.testing.assert_array_equal(taken, np.take_along_axis(x, index, axis))
        found, expected = np.zeros(shape), np.zeros(shape)
        scatter.put_along_axis(found, index, 1.0, axis)
        np.put_along_axis(expected, index, 1.0, axis)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["max_along", "min_along"])
@pytest.mark.parametrize("keepdim", [True, False])
def test_extremes_are_the_first_of_their_kind(name, keepdim):
    x = np.array([[2.0, -0.0, 3.0], [2.0, 0.0, np.nan], [1.0, 0.0, np.nan]])
    find = np.argmax if name == "max_along" else np.argmin
    for own in (x, x.T, x[0], x[:, None]):
        for dim in range(own.ndim):
            values, places = getattr(reductions, name)(own, dim, keepdim)
            expected = find(own, dim, keepdims=keepdim)
            np.testing.assert_array_equal(places, expected)
            chosen = np.take_along_axis(own, find(own, dim, keepdims=True), dim).reshape(np.shape(expected))
            np.testing.assert_array_equal(values, chosen)
            np.testing.assert_array_equal(np.signbit(values), np.signbit(chosen))
