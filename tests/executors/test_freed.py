"""Memory that was freed is used again, page by page."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from flambeau.executors import freed

# Several arrays of middling size at a time: the C library would give their pages back between any two rounds.
_SCRIPT = """
import resource, flambeau

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        flambeau.randn(100_000).sum().item()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""


@pytest.mark.skipif("CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="another C library")
def test_the_interpreter_reuses_pages() -> None:
    assert _faults(keep="1") < 100 < _faults(keep="0")


def _faults(keep: str, script: str = _SCRIPT, tier: str = "interpreter") -> int:
    environment = {**os.environ, "FLAMBEAU_TIER": tier, "FLAMBEAU_ARENA": keep}
    return int(subprocess.run([sys.executable, "-c", script], env=environment, check=True,
                              capture_output=True, text=True).stdout)


# Results that the C library would map, and give back, each time.
_LARGE = """
import resource, flambeau

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        x.exp().sum().item()
        y = x * 2
        flambeau.synchronize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

x = flambeau.ones(10 << 20)
faults()
print(faults())
"""


@pytest.mark.skipif("CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="another C library")
def test_large_results_reuse_pages() -> None:
    pytest.importorskip("llvmlite")
    assert _faults("1", _LARGE, "native") < 50 < _faults("0", _LARGE, "native")


def test_few_large_arrays_stay() -> None:
    """Of more than a gigabyte, what is added goes back to the system when it is freed."""
    if not freed.are_mapped([50 << 20]):
        pytest.skip("another C library, or nothing is kept")
    before = dict(freed._kept)
    held = [freed.unmapped([50 << 18, 3], [np.float32, np.int8]) for _ in range(30)]
    assert len(freed._kept) == len(before) + (1024 - sum(size >> 20 for _, size in before.values())) // 50
    held.clear()
    assert freed._kept == before
