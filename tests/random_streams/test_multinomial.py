"""The greatest quotients of a race, where not all of them are sorted."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.random_streams.multinomial import greatest


@pytest.mark.parametrize("distinct", [2, 5, 1 << 20])
def test_the_first_of_equal_ones_come_first(distinct: int) -> None:
    rng = np.random.default_rng(0)
    for n, count in ((100, 3), (50, 10), (40, 1), (1000, 20), (8, 2), (8, 8)):
        quotients = rng.integers(0, distinct, (3, 2, n)).astype(np.float32)
        want = np.argsort(-quotients, axis=-1, kind="stable")[..., :count]
        np.testing.assert_array_equal(greatest(quotients, count), want)
