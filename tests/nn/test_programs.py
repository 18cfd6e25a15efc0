"""The small programs of `programs_*`, run in flambeau and in PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from . import (
    programs_attributes,
    programs_containers,
    programs_conversion,
    programs_hooks,
    programs_initial,
    programs_orthogonal,
    programs_prune,
    programs_small,
    programs_state,
    programs_transformer,
    programs_utils,
)
from .program import PROGRAMS

MODULES = (
    programs_attributes,
    programs_containers,
    programs_conversion,
    programs_hooks,
    programs_initial,
    programs_orthogonal,
    programs_prune,
    programs_small,
    programs_state,
    programs_transformer,
    programs_utils,
)


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return where two nested results differ; numbers may differ by rounding."""
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{path}[{i}]")]
    if isinstance(ours, dict) and isinstance(theirs, dict) and list(ours) == list(theirs):
        return [line for key in ours for line in differences(ours[key], theirs[key], f"{path}[{key!r}]")]
    if isinstance(ours, float) and isinstance(theirs, float):
        return (
            []
            if ours == pytest.approx(theirs, rel=1e-4, abs=2e-4, nan_ok=True)
            else [f"{path}: {ours} {theirs}"]
        )
    return [] if ours == theirs else [f"{path}:\n  {ours!r}\n  {theirs!r}"]


def result_of(program: Callable[[Any], Any], torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program(torch)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_runs(torch: Any, program: Callable[[Any], Any]) -> None:
    """The program ends without an exception it does not expect."""
    assert result_of(program, torch) is not None


@pytest.mark.oracle
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_agrees_with_pytorch(torch: Any, oracle: Any, program: Callable[[Any], Any]) -> None:
    """The program shows a user the same as PyTorch."""
    assert not differences(result_of(program, torch), result_of(program, oracle))
