"""Blocks of arrays become rows of one, whether NumPy copies them or a native call does."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

import flambeau as torch

gathering: Any = importlib.import_module("flambeau.executors.gather")
native = pytest.param(True, marks=pytest.mark.skipif(
    importlib.util.find_spec("llvmlite") is None or torch.config.settings.executor != "auto",
    reason="there is no native call"))

# Shape, strides, and where the first block begins.
BLOCKS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "rows": ((60,), (1,), 3), "long rows": ((900,), (1,), 1), "numbers": ((), (), 4),
    "parts of images": ((3, 4, 5), (100, 10, 1), 0), "all of images": ((3, 4, 5), (20, 5, 1), 1),
    "mirrored": ((3, 4, 5), (100, 10, -1), 9), "upside down": ((3, 4, 5), (100, -10, 1), 40),
    "turned": ((5, 3, 4), (1, 40, 10), 2), "every other one": ((7,), (2,), 0),
    "the same": ((3, 4), (0, 0), 7), "of one row": ((1, 1, 6), (9, 9, 1), 0),
    "of four dimensions": ((2, 3, 4, 2), (700, 7, 100, 20), 0),
    "backwards": ((60,), (-1,), 70), "nothing": ((0, 3), (3, 1), 0)}


@pytest.mark.parametrize("is_native", [False, native])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "i8", "c16", "?"])
@pytest.mark.parametrize("name", BLOCKS)
def test_rows_are_what_is_read(name: str, dtype: str, is_native: bool,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_native", None)
    monkeypatch.setattr(gathering, "_spent", 1e12 if is_native else -1e12)
    shape, strides, begin = BLOCKS[name]
    rng = np.random.default_rng(0)
    tables = [rng.integers(0, 100, 3000).astype(dtype) for _ in range(3)]
    for values in (tables * 3, tables[:1] * 9):
        positions, offsets = [int(p) for p in rng.permutation(9)], [begin + 7 * i for i in range(9)]
        rows = np.zeros((9, int(np.prod(shape))), dtype)
        gathering.gather(rows, positions, values, offsets, shape, strides)
        size = rows.itemsize
        for p, value, offset in zip(positions, values, offsets, strict=True):
            block = np.ndarray(shape, dtype, value, offset * size, [s * size for s in strides])
            np.testing.assert_array_equal(rows[p].reshape(shape), block)
    assert (gathering._native is not None) == (
        is_native and name not in ("of four dimensions", "nothing"))


@pytest.mark.parametrize("is_native", [False, native])
@pytest.mark.parametrize("offset", [-1, 6, 1000])
def test_nothing_beyond_an_array_is_read(offset: int, is_native: bool,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_native", None)
    monkeypatch.setattr(gathering, "_spent", 1e12 if is_native else -1e12)
    rows, value = np.zeros((2, 5), np.float32), np.arange(10, dtype=np.float32)
    with pytest.raises((ValueError, IndexError, TypeError)):
        gathering.gather(rows, [0, 1], [value, value.copy()], [3, offset], (5,), (1,))
