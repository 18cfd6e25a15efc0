"""Plain PyTorch training scripts print the same losses under flambeau, from the same initial parameters.

``expected.json`` was recorded with PyTorch 2.13 by ``record_expected.py``; PyTorch itself is not needed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
EXPECTED: dict[str, dict[str, Any]] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
SCRIPTS = sorted(path.stem for path in (HERE / "scripts").glob("*.py") if not path.name.startswith("_"))
# Computed from drawn numbers (norms, a power iteration), so equal to rounding only.
COMPUTED = {
    "accumulation": {"0.parametrizations.weight.original0"},
    "gan": {"critic.0.parametrizations.weight.0._u", "critic.0.parametrizations.weight.0._v"},
}
_printed: dict[str, dict[str, Any]] = {}


def printed(name: str, run_script) -> dict[str, Any]:
    """Run a script once per session."""
    if name not in _printed:
        done = run_script(HERE / "scripts" / f"{name}.py", OMP_NUM_THREADS="1")
        assert done.returncode == 0, done.stderr[-4000:]
        _printed[name] = json.loads(done.stdout.splitlines()[-1])
    return _printed[name]


def test_every_script_is_recorded() -> None:
    assert sorted(EXPECTED) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_initial_parameters_are_bit_equal(name: str, run_script) -> None:
    got, want = printed(name, run_script)["initial"], EXPECTED[name]["initial"]
    assert list(got) == list(want)
    computed = COMPUTED.get(name, set())
    assert [got[key][1] for key in computed] == pytest.approx([want[key][1] for key in computed], rel=1e-5)
    drawn = [key for key in want if key not in computed]
    differing = {key: (got[key][1], want[key][1]) for key in drawn if got[key][0] != want[key][0]}
    assert not differing, f"other bits (sums here, sums expected): {differing}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_losses_are_equal(name: str, run_script) -> None:
    got, want = printed(name, run_script)["losses"], EXPECTED[name]["losses"]
    assert len(got) == len(want)
    assert got[0] == pytest.approx(want[0], rel=1e-6)
    assert got == pytest.approx(want, rel=1e-3, abs=1e-6)
