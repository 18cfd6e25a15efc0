"""Record what PyTorch 2.13 answers to a fixed set of random programs.

``python -m tests.properties.record_programs`` needs PyTorch and Hypothesis. Nine digits are kept.
"""

from __future__ import annotations

import contextlib
import json
from importlib.metadata import version
from typing import Any

import torch
from hypothesis import given, settings

from tests.properties.program import NotFollowed, Program
from tests.properties.test_programs import RECORDED, as_json, observe, programs, thorough

COUNT = 120


def rounded(value: Any) -> Any:
    """Keep nine digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def main() -> None:
    """Write ``recorded.json``."""
    assert version("torch").startswith("2.13."), version("torch")
    entries: list[dict[str, Any]] = []

    @settings(thorough, max_examples=3 * COUNT)
    @given(program=programs)
    def collect(program: Program) -> None:
        if len(program.steps) >= 8 and len(entries) < COUNT:
            with contextlib.suppress(NotFollowed):
                observed = observe(torch, program)
                entries.append(rounded(as_json(f"program-{len(entries):03d}", program, observed)))

    collect()
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    RECORDED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
