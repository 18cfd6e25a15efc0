"""The pages tell the truth: their programs run, and every setting stands on its page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_programs_in_the_readme(block: str, tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", block]
    done = subprocess.run(command, cwd=tmp_path, env=variables, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"^print\(.*\) +# (.*)$", block, re.MULTILINE)
    assert done.stdout.splitlines() == promised


def test_every_environment_variable_is_on_its_page() -> None:
    sources = [*(ROOT / "flambeau").rglob("*.py"), ROOT / "tests" / "conftest.py", ROOT / ".ci" / "run"]
    used = {name for path in sources for name in re.findall(r"FLAMBEAU_[A-Z_]+", path.read_text("utf-8"))}
    page = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    assert used - {"FLAMBEAU_"} == set(re.findall(r"FLAMBEAU_[A-Z_]+", page))


def test_the_readmes_figures_are_those_of_the_benchmark() -> None:
    table = (ROOT / "benchmarks" / "results" / "workloads.md").read_text(encoding="utf-8")
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")
