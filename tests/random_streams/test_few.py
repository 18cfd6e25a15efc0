"""A few numbers are drawn one by one, and are the stream's."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.random_streams import Stream, seed_state
from flambeau.random_streams.integers import randint
from flambeau.random_streams.uniform import uniform


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_streams_continue(seed: int) -> None:
    state = expected_state = seed_state(seed)
    counts = [0, 1, 2, 3, 8, 9, 100, 7, 1] * 40     # over several blocks of 624
    for count in counts:
        floats, state = uniform(state, (count,), 0.0, 1.0, np.dtype(np.float32))
        integers, state = randint(state, (1, count), -3, 9, np.dtype(np.int64))
        stream = Stream(expected_state)
        expected = stream.floats(count)
        expected_integers = stream.random32(count).astype(np.int64) % 12 - 3
        expected_state = stream.close()
        assert np.array_equal(floats, expected) and floats.dtype == expected.dtype
        assert np.array_equal(integers, [expected_integers]) and integers.dtype == np.int64
        assert bytes(state) == bytes(expected_state)
        assert not state.flags.writeable
