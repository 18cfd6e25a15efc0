"""Loops do not grow and deep graphs neither overflow the stack nor leak."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent


def printed(run_script: Any, script: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """Run a script in its own process; return the JSON that it prints last."""
    done = run_script(HERE / script, *arguments, OMP_NUM_THREADS="1", **environment)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-3000:]}"
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("looking", ["item", "never"])
@pytest.mark.parametrize("collector", ["on", "off"])
def test_a_training_loop_of_2000_steps_does_not_grow(run_script, collector: str, looking: str) -> None:
    """Without the cyclic collector too: a step leaves no reference cycles behind."""
    report = printed(run_script, "_loop.py", "2000", collector, looking)
    settled, last = report["objects"][2], report["objects"][-1]
    assert last - settled < 400, report["objects"]
    assert report["bytes"][-1] - report["bytes"][2] < 8 << 20, [size >> 20 for size in report["bytes"]]
    assert report["loss"] == pytest.approx(0.00105607, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["interpreter", "auto"])
def test_100000_chained_operators_forward_and_backward(run_script, tier: str) -> None:
    """The compiler, where there is one, starts during the first chain: its modules are no growth."""
    report = printed(run_script, "_chain.py", "100000", FLAMBEAU_TIER=tier)
    assert report["first"] == report["second"]
    assert report["first"][1] == pytest.approx(1.0001**50000, rel=1e-2)
    assert report["first"][0] == pytest.approx(1.0, rel=2e-2)
    assert report["grown"] < 200 and not report["leaked"], report
