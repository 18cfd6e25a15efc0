"""Record what the scripts print with PyTorch 2.13 (CPU): ``python tests/thirdparty/record_expected.py``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run each script in a child process and write ``expected.json``."""
    assert version("torch").startswith("2.13."), version("torch")
    expected = {}
    for script in sorted((HERE / "scripts").glob("*.py")):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
        if done.returncode:
            sys.exit(f"{script.name} failed:\n{done.stderr}")
        expected[script.stem] = json.loads(done.stdout.splitlines()[-1])
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
