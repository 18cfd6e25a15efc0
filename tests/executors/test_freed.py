"""Memory that was freed is used again, page by page."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
