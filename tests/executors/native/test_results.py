"""Results lie in memory that begins at cache lines, and that NumPy frees as it frees its own."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import flambeau as torch
from flambeau import config
from flambeau.executors.native.programs.runtime import results
from flambeau.executors.native.programs.runtime.pool import KEPT, LIMIT, LIVE, MOST

FLOAT = np.dtype(np.float32)


@pytest.mark.parametrize("count", [257, 1000, 5000, 100_000, 3 << 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_results_are_aligned(count: int, dtype: torch.dtype) -> None:
    held = []
    with config.executor("native"):
        x = torch.ones(count, dtype=dtype)
        for _ in range(5):
            held.append(x + x)
            torch.synchronize()
            if count * x.element_size() > 1024:
                assert held[-1].data_ptr() % 64 == 0
            assert held[-1].shape == (count,) and (held[-1] == 2).all()


def test_arrays_are_ordinary() -> None:
    dtypes = [FLOAT, FLOAT, FLOAT, np.dtype(bool)]
    large, small, none, flags = results.NewArrays([5000, 10, 0, 3000], dtypes).make()
    assert [x.shape for x in (large, small, none, flags)] == [(5000,), (10,), (0,), (3000,)]
    for x in (large, small, none, flags):
        assert x.base is None and x.flags.owndata and x.flags.carray and x.flags.f_contiguous
    assert (large.dtype, flags.dtype) == (FLOAT, np.dtype(bool))
    large[:] = np.arange(5000)
    for size in (100_000, 5001, 4000):
        large.resize(size, refcheck=False)
        assert (large[:4000] == np.arange(4000)).all()
        assert large.__array_interface__["data"][0] % 64 == 0
    assert np.array_equal(np.sort(large)[::-1][:3], [3999, 3998, 3997])


def test_other_counts() -> None:
    dtypes = [FLOAT, np.dtype(np.int64)]
    arrays = results.NewArrays([3, 5000], dtypes)
    for counts in ([7, 300], [5000, 0]):
        arrays.resize(counts)
        assert [(x.shape, x.dtype) for x in arrays.make()] == [((n,), t) for n, t in zip(counts, dtypes)]


def test_memory_is_freed() -> None:
    new = results.NewArrays([1 << 20, 300], [FLOAT, FLOAT]).make
    new()[0].fill(0)
    gc.collect()
    before, references = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sys.getrefcount(FLOAT)
    for _ in range(200):
        for x in new():
            x.fill(1)
    del x
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    assert abs(sys.getrefcount(FLOAT) - references) < 200


def test_there_is_no_such_memory() -> None:
    with pytest.raises(MemoryError):
        results.NewArrays([3, 1 << 60], [FLOAT, FLOAT]).make()


def test_arrays_outlive_the_interpreter() -> None:
    """What frees them must still be there when the last module is gone."""
    script = ("import builtins, numpy as np\nfrom flambeau.executors.native.programs.runtime import results\n"
              "builtins.held = results.NewArrays([5000], [np.dtype('f4')]).make()\n"
              "class Cycle: pass\nc = Cycle(); c.c, c.x = c, builtins.held[0]")
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# --- the pool -----------------------------------------------------------------------------------------------

MB = 1 << 20


def _new(megabytes: float) -> np.ndarray:
    return results.NewArrays([int(megabytes * MB) // 4], [FLOAT]).make()[0]


def _address(x: np.ndarray) -> int:
    return int(x.__array_interface__["data"][0])


@pytest.fixture
def pool() -> object:
    """A pool that keeps nothing yet: its words."""
    results.numpy_table()
    words = results._kept["pool"]
    limit, words[LIMIT] = int(words[LIMIT]), 0
    _new(1)     # is given back, and all that was kept before
    words[LIMIT], words[MOST] = limit, words[LIVE]
    yield words
    words[LIMIT] = limit


def test_blocks_are_used_again(pool: np.ndarray) -> None:
    sizes = [3, 1.5, 40, 3]
    arrays = [_new(size) for size in sizes]
    places = {*map(_address, arrays)}
    live = int(pool[LIVE])
    for x in arrays:
        x.fill(7)
    arrays.clear()
    del x
    assert pool[KEPT] >= sum(sizes) * MB and pool[LIVE] == live - pool[KEPT]
    arrays = [_new(size) for size in (2.9, 40, 1.5, 2.8)]
    assert {*map(_address, arrays)} == places and pool[KEPT] == 0 and pool[LIVE] == live


def test_no_more_is_kept_than_was_used_at_once(pool: np.ndarray) -> None:
    before = int(pool[LIVE])
    x = _new(8)
    y = _new(2)
    most = int(pool[MOST]) - before
    del x
    for size in (3, 5, 7, 2, 6):
        _new(size)[:] = 0
        assert pool[LIVE] + pool[KEPT] - before <= most and pool[MOST] - before == most
    del y
    large = _new(20)
    assert pool[KEPT] == 0 and pool[LIVE] == pool[MOST]
    del large
    assert pool[KEPT] >= 20 * MB


def test_a_limit_on_what_is_kept(pool: np.ndarray) -> None:
    pool[LIMIT] = 5 * MB
    arrays = [_new(2) for _ in range(4)]
    last = [_address(x) for x in arrays[2:]]
    while arrays:
        del arrays[0]
    assert 4 * MB <= pool[KEPT] <= 5 * MB
    assert {_address(_new(2)), *last} == {*last}    # those freed last


def test_blocks_are_resized(pool: np.ndarray) -> None:
    x = _new(2)
    x[:] = np.arange(len(x))
    for size in (MB // 2 + 5, 3 * MB, MB // 64, MB // 2):
        x.resize(size, refcheck=False)
        assert (x[:MB // 64] == np.arange(MB // 64)).all() and not x[MB // 2:].any()
    del x
    assert pool[LIVE] + pool[KEPT] <= pool[MOST]
