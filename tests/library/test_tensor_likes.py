"""Classes that are no tensors and override: each test in a process where none was met before."""

from __future__ import annotations

import subprocess
import sys

import pytest

SETUP = """
import flambeau as torch
TABLE = {torch.clone: "clone", torch.exp: "exp", torch.mean: "mean", torch.linalg.norm: "norm"}
class Like:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in TABLE:
            return TABLE[function]
        known = function.__name__.removeprefix("linalg_") in (*TABLE.values(), "mul")
        return NotImplemented if known else "another"
like, x = Like(), torch.ones(2)
"""
CALLS = {
    "torch.clone(like)": "clone", "torch.exp(like)": "exp", "torch.mean(like, dim=0)": "mean",
    "torch.linalg.norm(like)": "norm", "torch.cat([x, like])": "another", "torch.add(x, like)": "another",
    "torch.split(like, 2)": "another", "torch.zeros_like(like)": "another", "x + like": "another",
    "like - x": "another", "x @ like": "another", "x ** like": "another", "x == like": "another",
}


def _shown(program: str) -> str:
    return subprocess.run([sys.executable, "-c", SETUP + program], capture_output=True, text=True,
                          check=True).stdout


@pytest.mark.parametrize("call", CALLS)
def test_first_call_is_seen(call: str) -> None:
    """And the next one, though the public functions were wrapped meanwhile."""
    assert _shown(f"print({call})\nprint({call})").split() == [CALLS[call]] * 2


def test_refusing_is_an_error() -> None:
    shown = _shown("try:\n    torch.mul(x, like)\nexcept TypeError as error:\n    print(error)")
    assert shown.startswith("Multiple dispatch failed for 'torch.mul'")
