"""Functions and methods with wrong arguments: PyTorch's exception type and message for each.

``wrong_calls.json`` holds what PyTorch 2.13 answers to calls such as ``torch.cumsum(torch.eye(3), 'a')``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.nn.test_wrong_inputs import answer

ROWS: dict[str, list[str]] = json.loads((Path(__file__).parent / "wrong_calls.json").read_text())


@pytest.mark.parametrize("call", ROWS)
def test_mistake_is_answered_as_by_pytorch(torch: Any, call: str) -> None:
    assert answer(torch, call) == ROWS[call]


@pytest.mark.oracle
def test_rows_are_what_pytorch_answers(oracle: Any) -> None:
    differences = {call: given for call, row in ROWS.items() if (given := answer(oracle, call)) != row}
    assert not differences
