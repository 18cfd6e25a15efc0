"""Random programs that come again, at times with a step or a leaf changed, give what each gives alone.

What is known of a program that came before (templates of backward, routes, outlines, kernels) must not be
taken for one that only looks like it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.choices import BACKEND
from tests.properties.program import Leaf, Program, Step, difference
from tests.properties.test_programs import explained, leaves, likely_leaf, observe, steps

# 0: the program as it is; 1, 2: changed in one place.
ORDER = (0, 0, 0, 0, 1, 0, 2, 1, 1, 0)

short = st.builds(
    Program,
    leaves=st.builds(lambda first, rest: (first, *rest), likely_leaf, st.lists(leaves, max_size=2)),
    steps=st.integers(2, 10).flatmap(lambda count: st.tuples(*[steps] * count)),
)
changes = st.tuples(st.integers(0, 15), steps, leaves, st.sampled_from(["step", "operands", "leaf", "type"]))


def changed(program: Program, at: int, step: Step, leaf: Leaf, kind: str) -> Program:
    """The program with another step, a step on other operands, another leaf, or a leaf of another type."""
    i, j = at % len(program.steps), at % len(program.leaves)
    if kind == "operands":
        step = replace(program.steps[i], x=step.x, y=step.y)
    elif kind == "type":
        leaf = replace(program.leaves[j], dtype=leaf.dtype, requires_grad=leaf.requires_grad)
    if kind in ("step", "operands"):
        return replace(program, steps=(*program.steps[:i], step, *program.steps[i + 1:]))
    return replace(program, leaves=(*program.leaves[:j], leaf, *program.leaves[j + 1:]))


def check(torch: Any, programs: list[Program], tier: str) -> None:
    """Each run in this order gives what the program gives at once."""
    with torch.config.eager(True):
        alone = [observe(torch, program) for program in programs]
    with torch.config.executor(tier):
        for which in ORDER:
            found = difference(observe(torch, programs[which]), alone[which])
            assert not found, explained(programs[which], f"run {which} of {programs} and eager", found)


def thorough(examples: int) -> settings:
    """So many examples, always the same."""
    return settings(max_examples=int(os.environ.get("FLAMBEAU_TEST_PROGRAMS", examples)), derandomize=True,
                    backend=BACKEND, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def of_this_framework(under: str) -> None:
    """PyTorch knows nothing of what came before."""
    if under == "torch":
        pytest.skip("PyTorch has one way of computing")


@thorough(80)
@given(program=short, first=changes, second=changes)
def test_recorded_again(torch: Any, program: Program, first: Any, second: Any) -> None:
    check(torch, [program, changed(program, *first), changed(program, *second)], "auto")


@thorough(12)
@given(program=short, first=changes, second=changes)
def test_compiled(torch: Any, program: Program, first: Any, second: Any) -> None:
    check(torch, [program, changed(program, *first), changed(program, *second)], "native")
