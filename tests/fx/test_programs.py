"""Traced programs print, run and change as PyTorch's do; ``expected.json`` was recorded with PyTorch 2.13."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import flambeau

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from programs import PROGRAMS, describe  # noqa: E402

EXPECTED: dict[str, Any] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


def test_every_program_is_recorded() -> None:
    assert sorted(EXPECTED) == sorted(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_traced_as_pytorch_does(name: str) -> None:
    found = json.loads(json.dumps(describe(flambeau, name)))
    for what, expected in EXPECTED[name].items():
        if what in ("result", "interpreted"):
            assert _flat(found[what]) == pytest.approx(_flat(expected), rel=1e-3, nan_ok=True), what
        else:
            assert found[what] == expected, what


def _flat(result: Any) -> dict[str, Any]:
    """Nested results as numbers (text becomes its hash) by place."""
    if isinstance(result, (list, dict)):
        pairs = result.items() if isinstance(result, dict) else enumerate(result)
        return {f"{key}.{inner}": leaf for key, value in pairs for inner, leaf in _flat(value).items()}
    return {"": float(hash(result)) if isinstance(result, str) else result}
