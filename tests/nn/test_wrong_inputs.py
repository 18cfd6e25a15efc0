"""Layers and functions with wrong arguments or inputs: PyTorch's exception type and message for each.

``wrong_inputs.json`` holds what PyTorch 2.13 answers to calls such as ``(nn.Linear(4,3))(torch.ones(2, 5))``:
one call for each layer and kind of mistake. ``wrong_calls.json`` is of functions and methods.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROWS: dict[str, list[str]] = {call: row for name in ("inputs", "calls") for call, row in json.loads(
    (Path(__file__).parent / f"wrong_{name}.json").read_text()).items()}


def answer(torch: Any, call: str) -> list[str]:
    """The exception's type and message, without the place where what failed was recorded."""
    names = {"torch": torch, "nn": torch.nn, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            look(torch, eval(call, names))
        except Exception as error:
            text = re.sub(r"\nThis operation was recorded at .*", "", str(error), flags=re.DOTALL)
            return [type(error).__name__, text.replace("flambeau.", "torch.")]
    return ["accepted", ""]


def look(torch: Any, value: Any) -> None:
    """Compute what was asked for."""
    for each in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(each, torch.Tensor) and each.device.type == "cpu":
            each.detach().sum().item()


@pytest.mark.parametrize("call", ROWS)
def test_mistake_is_answered_as_by_pytorch(torch: Any, call: str) -> None:
    assert answer(torch, call) == ROWS[call]


@pytest.mark.oracle
def test_rows_are_what_pytorch_answers(oracle: Any) -> None:
    differences = {call: given for call, row in ROWS.items() if (given := answer(oracle, call)) != row}
    assert not differences
