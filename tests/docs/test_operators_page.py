"""docs/operators.md is what its generator writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def _generator() -> Any:
    spec = importlib.util.spec_from_file_location("operators_page", ROOT / "tools" / "operators_page.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(module)
        return module, module.page()
    finally:
        sys.path[:] = before


def test_the_page_is_current() -> None:
    _, written = _generator()
    assert (ROOT / "docs" / "operators.md").read_text(encoding="utf-8") == written, \
        "run python tools/operators_page.py"


def test_what_is_said_to_work_partly_is_there() -> None:
    module, written = _generator()
    for name in module.PARTLY:
        assert f"| `{name.rpartition('.')[2]}` |" in written, name
