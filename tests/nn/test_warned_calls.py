"""What is warned of: PyTorch's category and words, at the line that made the call.

``warned_calls.json`` holds programs of a line and the one warning that PyTorch 2.13 gives for each (without
the place in its own source that some name).
"""

from __future__ import annotations

import ast
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

ROWS: dict[str, list[str]] = json.loads((Path(__file__).parent / "warned_calls.json").read_text())


def told(torch: Any, program: str) -> list[list[str]]:
    """The warnings of a program, each by category and words, where they name the program's line."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(ast.parse(program), "<program>", "exec"), names)
    return [[w.category.__name__, re.sub(r" ?\(Triggered internally at .*\)$", "", str(w.message))
             .replace("flambeau.", "torch.")] for w in caught if w.filename == "<program>"]


@pytest.fixture(autouse=True)
def said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told once in a process is told again."""
    warned = sys.modules.get("flambeau.tensor.warned")
    if warned is not None:
        monkeypatch.setattr(warned, "_said", set())


@pytest.mark.parametrize("program", ROWS)
def test_warns_as_pytorch_does(torch: Any, program: str) -> None:
    assert told(torch, program) == [ROWS[program]]


@pytest.mark.oracle
def test_rows_are_what_pytorch_tells(oracle: Any) -> None:
    for program, row in ROWS.items():
        assert told(oracle, program) in ([row], []), program    # some it tells once in a process


def test_once_in_a_process(torch: Any) -> None:
    x = torch.ones(2, 2, 2)
    assert len(told(torch, "x = torch.ones(2, 2, 2)\nx.T\nx.T")) == 1
    assert told(torch, "torch.ones(2, 2, 2).T") == [] and x.T.shape == x.shape
