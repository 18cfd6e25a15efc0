"""Positions of what is not zero are NumPy's, however they are found."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from flambeau.executors.interpreter.places import places


@pytest.mark.parametrize("shape", [(5,), (3, 4), (200, 100), (4000, 33), (0, 5000), (3, 50, 64), (5000, 3)])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_places(shape: tuple[int, ...], share: float) -> None:
    array = np.random.default_rng(0).random(shape) < share
    short = [-array.astype(kind) for kind in (np.float16, ml_dtypes.bfloat16)]  # with zeros of either sign
    for each in (array, array.astype(np.float32), array.astype(np.int16), array.T, *short):
        found, want = places(each), np.nonzero(each)
        assert len(found) == len(want)
        for x, y in zip(found, want):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == np.int64


def test_numbers_have_one_dimension() -> None:
    assert [len(places(np.asarray(x))[0]) for x in (0, 1)] == [0, 1]
