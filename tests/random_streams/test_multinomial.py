"""The greatest quotients of a race, where not all of them are sorted."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.random_streams import multinomial, seed_state
from flambeau.random_streams.multinomial import greatest
from flambeau.random_streams.state import Stream


@pytest.mark.parametrize("distinct", [2, 5, 1 << 20])
def test_the_first_of_equal_ones_come_first(distinct: int) -> None:
    rng = np.random.default_rng(0)
    for n, count in ((100, 3), (50, 10), (40, 1), (1000, 20), (8, 2), (8, 8)):
        for shape in ((3, 2, n), (1, n), (n,)):
            quotients = rng.integers(0, distinct, shape).astype(np.float32)
            want = np.argsort(-quotients, axis=-1, kind="stable")[..., :count]
            np.testing.assert_array_equal(greatest(quotients, count), want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_draws_from_many_categories_are_found_in_the_running_shares(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for zeros in (0.0, 0.5, 0.999):
        weights = np.where(rng.random((2, 5000)) < zeros, 0, rng.random((2, 5000))).astype(dtype)
        weights[:, [7, -1]] = 1e-9
        state = seed_state(5)
        shares = np.cumsum(weights, -1)
        shares /= shares[:, -1:]
        shares[:, -1] = 1
        uniforms = Stream(state).doubles(2 * 1000).reshape(2, 1000)
        want = [row.astype(np.float64).searchsorted(u) for row, u in zip(shares, uniforms, strict=True)]
        np.testing.assert_array_equal(multinomial(state, weights, 1000, True)[0], want)
