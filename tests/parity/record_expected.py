"""Record what PyTorch 2.13 (CPU) prints for every script: ``python tests/parity/record_expected.py``.

One thread, so that sums do not depend on the machine's number of cores. The CPU must have AVX2 or AVX-512, as
almost every one has: without fused multiply-add PyTorch's own initial parameters have other bits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = sorted(path for path in (HERE / "scripts").glob("*.py") if not path.name.startswith("_"))


def main() -> None:
    """Run each script in a child process and write ``expected.json``."""
    assert version("torch").startswith("2.13."), version("torch")
    expected = {}
    for script in SCRIPTS:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
        if done.returncode:
            sys.exit(f"{script.name} failed:\n{done.stderr}")
        expected[script.stem] = json.loads(done.stdout)
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
