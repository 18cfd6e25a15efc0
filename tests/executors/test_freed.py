"""Memory that was freed is used again, page by page."""

from __future__ import annotations

import importlib
import mmap
import os
import subprocess
import sys

import pytest

import flambeau
from flambeau import config

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


def _faults(keep: str) -> int:
    environment = {**os.environ, "FLAMBEAU_TIER": "interpreter", "FLAMBEAU_ARENA": keep}
    return int(subprocess.run([sys.executable, "-c", _SCRIPT], env=environment, check=True,
                              capture_output=True, text=True).stdout)


_AHEAD = """
import resource, sys, threading, numpy
from flambeau.executors.freed import keep_freed_memory, touch_ahead
keep_freed_memory()
touch_ahead(int(sys.argv[1]))
for thread in threading.enumerate():
    if thread.daemon:
        thread.join()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
arrays = [numpy.ones(1 << 18, numpy.float32) for _ in range(3)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _populates() -> bool:
    """Whether the system finds pages when it is asked to."""
    with mmap.mmap(-1, mmap.PAGESIZE) as memory:
        try:
            memory.madvise(23)
        except (AttributeError, OSError):
            return False
    return "CS_GNU_LIBC_VERSION" in os.confstr_names


@pytest.mark.skipif(not _populates(), reason="another system")
def test_pages_are_found_ahead() -> None:
    few, many = [subprocess.run([sys.executable, "-c", _AHEAD, str(size)], check=True, capture_output=True,
                                text=True).stdout for size in (4 << 20, 1000)]
    assert int(few) < 200 < 700 < int(many)


def test_what_is_learnt_takes_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(importlib.import_module("flambeau.engine.look"), "touch_ahead", asked.append)
    model = flambeau.nn.Linear(300, 1000, bias=False)
    for threads in (2, 1):
        monkeypatch.setattr(config.settings, "threads", threads)
        model.eval()
        flambeau.optim.SGD(model.parameters(), lr=0.1)
    assert asked == [4 * 4 * 300 * 1000]
