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
from flambeau.executors.native.programs import results

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
    large, small, none, flags = results.new_arrays([5000, 10, 0, 3000], dtypes)()
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


def test_memory_is_freed() -> None:
    new = results.new_arrays([1 << 20, 300], [FLOAT, FLOAT])
    new()[0].fill(0)
    before, references = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sys.getrefcount(FLOAT)
    for _ in range(100):
        for x in new():
            x.fill(1)
    del x
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    assert abs(sys.getrefcount(FLOAT) - references) < 50


def test_there_is_no_such_memory() -> None:
    with pytest.raises(MemoryError):
        results.new_arrays([3, 1 << 60], [FLOAT, FLOAT])()


def test_arrays_outlive_the_interpreter() -> None:
    """What frees them must still be there when the last module is gone."""
    script = ("import builtins, numpy as np\nfrom flambeau.executors.native.programs import results\n"
              "builtins.held = results.new_arrays([5000], [np.dtype('f4')])()\n"
              "class Cycle: pass\nc = Cycle(); c.c, c.x = c, builtins.held[0]")
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
