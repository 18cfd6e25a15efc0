"""Blocks of arrays become rows of one, whether NumPy copies them or a native call does."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

import flambeau as torch

gathering: Any = importlib.import_module("flambeau.executors.gather")
needs_native = pytest.mark.skipif(
    importlib.util.find_spec("llvmlite") is None or torch.config.settings.executor != "auto",
    reason="there is no native call")
native = pytest.param(True, marks=needs_native)

# Shape, strides, where the first block begins, and which dimensions are read backwards, a bit each.
BLOCKS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, int]] = {
    "rows": ((60,), (1,), 3, 0), "long rows": ((900,), (1,), 1, 0), "numbers": ((), (), 4, 0),
    "parts of images": ((3, 4, 5), (100, 10, 1), 0, 0), "all of images": ((3, 4, 5), (20, 5, 1), 1, 0),
    "mirrored": ((3, 4, 5), (100, 10, 1), 9, 0b100), "upside down": ((3, 4, 5), (100, 10, 1), 40, 0b10),
    "mirrored as a whole": ((3, 4, 5), (20, 5, 1), 40, 0b111), "one of one": ((3, 1, 5), (5, 5, 1), 0, 0b10),
    "turned": ((5, 3, 4), (1, 40, 10), 2, 0b101), "every other one": ((7,), (2,), 0, 0),
    "the same": ((3, 4), (0, 0), 7, 0), "of one row": ((1, 1, 6), (9, 9, 1), 0, 0),
    "of four dimensions": ((2, 3, 4, 2), (700, 7, 100, 20), 0, 0b1000),
    "backwards": ((60,), (1,), 70, 1), "nothing": ((0, 3), (3, 1), 0, 0)}


def _table(values: list[Any], offsets: list[int], backwards: list[int]) -> Any:
    places = [x.__array_interface__["data"][0] for x in values]
    return np.array([places, [len(x) for x in values], offsets, backwards], np.int64).T.copy()


@pytest.mark.parametrize("is_native", [False, native])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "i8", "c16", "?"])
@pytest.mark.parametrize("name", BLOCKS)
def test_rows_are_what_is_read(name: str, dtype: str, is_native: bool,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_native", None)
    monkeypatch.setattr(gathering, "_spent", 1e12 if is_native else -1e12)
    shape, strides, begin, flips = BLOCKS[name]
    rng = np.random.default_rng(0)
    values = [rng.integers(0, 100, 3000).astype(dtype) for _ in range(3)] * 3
    positions, offsets = rng.permutation(9), [begin + 7 * i for i in range(9)]
    backwards = [flips if i % 3 else 0 for i in range(9)]
    rows, of_one = np.zeros((2, 9, int(np.prod(shape))), dtype)
    gathering.gather_each(rows, positions, lambda: values, _table(values, offsets, backwards), shape, strides)
    gathering.gather(of_one, values[0], offsets, shape, strides)
    steps = [s * rows.itemsize for s in strides]
    for i, (p, value, offset) in enumerate(zip(positions, values, offsets, strict=True)):
        block, other = [np.ndarray(shape, dtype, x, offset * rows.itemsize, steps)
                        for x in (value, values[0])]
        turned = [d for d in range(len(shape)) if backwards[i] >> d & 1]
        np.testing.assert_array_equal(rows[p].reshape(shape), np.flip(block, turned))
        np.testing.assert_array_equal(of_one[i].reshape(shape), other)
    assert (gathering._native is not None) == (is_native and name != "nothing" and dtype != "c16")


@pytest.mark.parametrize("is_native", [False, native])
@pytest.mark.parametrize("offset", [-1, 6, 1000])
def test_nothing_beyond_an_array_is_read(offset: int, is_native: bool,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_native", None)
    monkeypatch.setattr(gathering, "_spent", 1e12 if is_native else -1e12)
    rows, value = np.zeros((2, 5), np.float32), np.arange(10, dtype=np.float32)
    values = [value, value.copy()]
    with pytest.raises((ValueError, IndexError, TypeError)):
        gathering.gather_each(rows, None, lambda: values, _table(values, [3, offset], [0, 1]), (5,), (1,))


@needs_native
@pytest.mark.parametrize("spent, loaded, kept, bought", [
    (3e6, True, True, True), (3e6, True, False, False), (3e6, False, True, False),
    (1e6, True, True, False), (3e7, False, False, True),
])
def test_code_on_disk_is_had_sooner(spent: float, loaded: bool, kept: bool, bought: bool,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_native", None)
    monkeypatch.setattr(gathering, "_spent", spent)
    monkeypatch.setattr(gathering, "_is_kept", lambda size: kept)
    monkeypatch.setattr("flambeau.executors.native.is_loaded", lambda: loaded)
    rows = np.zeros((1, 2), np.float32)
    gathering.gather(rows, np.arange(4, dtype=np.float32), [1], (2,), (1,))
    assert rows.tolist() == [[1.0, 2.0]] and gathering.is_native() == bought


@needs_native
def test_code_that_was_made_is_kept() -> None:
    from flambeau.executors.native.batches.gathering import gatherer, is_kept
    gatherer(4)
    assert is_kept(4)
