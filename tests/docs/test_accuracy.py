"""The table of accuracy has every function that ``tools/every_float.py`` checks, within what is allowed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def every_float() -> Any:
    """The module."""
    spec = importlib.util.spec_from_file_location("every_float", ROOT / "tools" / "every_float.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_function_is_in_the_table(every_float: Any) -> None:
    lines = (ROOT / "benchmarks" / "results" / "accuracy.md").read_text().splitlines()[2:]
    errors = {name.strip(): float(units) for _, name, units, *_ in (line.split("|") for line in lines)}
    assert list(errors) == [function.name for function in every_float.FUNCTIONS]
    for function in every_float.FUNCTIONS:
        assert errors[function.name] <= function.allowed, function.name


def test_errors_are_found(every_float: Any) -> None:
    """In units of the result, infinities as the number that follows the largest, tiny results apart."""
    x = np.array([1, 2, 3, 4, 5], np.float32)
    exact = np.array([1.0, 3e38, 1e-40, np.nan, 8.0])
    found = exact.astype(np.float32)
    assert every_float.compare(found, exact, x) == every_float.Found(right=5)
    wrong = found.copy()
    wrong[0] += 3 * 2.0 ** -23
    result = every_float.compare(wrong, exact, x)
    assert (result.units, result.at, result.right) == (3.0, 1.0, 4)
    wrong[2] = 0
    assert every_float.compare(wrong, exact, x).tiny == 1e-40
    wrong[3] = 1
    assert every_float.compare(wrong, exact, x).units == np.inf
