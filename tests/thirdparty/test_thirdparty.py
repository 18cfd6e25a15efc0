"""Packages written for PyTorch run through the alias and give PyTorch's results.

``expected.json`` was recorded with PyTorch 2.13 by ``record_expected.py``. A script whose package is not
installed is skipped; ``# needs:`` in the script names it.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
EXPECTED: dict[str, Any] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
SCRIPTS = sorted(path.stem for path in (HERE / "scripts").glob("*.py"))


def needed(name: str) -> list[str]:
    lines = (HERE / "scripts" / f"{name}.py").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("# needs:"))[8:].split()


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two nested results differ; numbers may differ by rounding."""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{path}[{i}]")]
    if isinstance(ours, dict) and isinstance(theirs, dict) and list(ours) == list(theirs):
        return [line for key in ours for line in differences(ours[key], theirs[key], f"{path}[{key!r}]")]
    near = isinstance(theirs, float) and ours == pytest.approx(theirs, rel=1e-4, abs=1e-5, nan_ok=True)
    return [] if near or ours == theirs else [f"{path}: {ours!r}, expected {theirs!r}"]


def test_every_script_is_recorded() -> None:
    assert sorted(EXPECTED) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_package_gives_the_results_of_pytorch(name: str, run_script: Any) -> None:
    for package in needed(name):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    done = run_script(HERE / "scripts" / f"{name}.py", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr[-4000:]
    assert differences(json.loads(done.stdout.splitlines()[-1]), EXPECTED[name]) == []
