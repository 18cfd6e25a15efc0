"""Which products take how many of BLAS's threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from flambeau.executors.interpreter import blas, products


@pytest.fixture
def puts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """What BLAS, which takes four threads, is told."""
    told: list[int] = []
    monkeypatch.setattr(blas, "_threads", lambda: (lambda: 4, told.append))
    monkeypatch.setattr(blas, "_moderate", blas.MODERATE)
    yield told


def test_moderate_products_take_one_thread(puts: list[int]) -> None:
    products.matmul(np.ones((64, 64)), np.ones((64, 64)))
    assert puts == [1, 4]


def test_others_are_left_alone(puts: list[int]) -> None:
    products.matmul(np.ones((8, 8)), np.ones((8, 8)))
    assert blas.few_threads(blas.MODERATE) == 0
    assert not puts


def test_after_an_error_all_is_as_before(puts: list[int]) -> None:
    with pytest.raises(ValueError):
        products.matmul(np.ones((64, 64)), np.ones((63, 64)))
    assert puts == [1, 4]


def test_the_library_is_found_or_left_alone() -> None:
    found = blas._threads()
    if found is None:
        pytest.skip("NumPy is linked with another BLAS")
    get, put = found
    before = get()
    put(1)
    assert get() == 1
    put(before)
    assert get() == before
