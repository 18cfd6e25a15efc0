"""Kernels as they are made for ARM's NEON, on any machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_kernels_for_neon_compute_the_same_and_become_arm_code(tmp_path: Path) -> None:
    program = Path(__file__).with_name("neon_programs.py")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-2000:]
    count, word = done.stdout.split()[-2:]
    assert word == "modules" and int(count) > 50
