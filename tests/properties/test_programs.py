"""Random programs of views, in-place writes, operators and backward passes mean the same in every mode.

Compared are: flambeau recording lazily, flambeau computing every operator at once, and PyTorch (itself
where it is importable, and what it once answered: ``recorded.json``, by ``record_programs.py``). Every
value, stride, version, ``requires_grad`` and gradient must agree, and what fails must fail with the same
type of exception.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties import operations_values, operations_views  # noqa: F401  (they register the operations)
from tests.properties.choices import BACKEND
from tests.properties.program import OPERATIONS, Leaf, NotFollowed, Observed, Program, Step, difference, run

RECORDED = Path(__file__).resolve().parent / "recorded.json"
SHAPES = [(2, 3), (3,), (), (3, 2), (2, 3, 2), (1, 3), (4,), (3, 3), (0, 2), (2, 1, 3)]
DTYPES = ["float64", "float64", "float64", "float32", "int64", "bool", "int32"]

FREQUENT = ["backward", "grad", "mul", "add", "clone", "affine"] * 3

small = st.integers(0, 7)
leaves = st.builds(Leaf, st.sampled_from(SHAPES), st.sampled_from(DTYPES), st.booleans(), small)
likely_leaf = st.builds(Leaf, st.sampled_from(SHAPES[:5]), st.just("float64"), st.just(True), small)
steps = st.builds(
    Step,
    op=st.sampled_from(sorted(OPERATIONS) + FREQUENT),
    x=st.integers(0, 4),
    y=st.integers(0, 6),
    n=st.tuples(small, small, small),
    no_grad=st.sampled_from([False] * 7 + [True]),
)
programs = st.builds(
    Program,
    leaves=st.builds(lambda first, rest: (first, *rest), likely_leaf, st.lists(leaves, max_size=2)),
    steps=st.integers(1, 28).flatmap(lambda count: st.tuples(*[steps] * count)),
)
thorough = settings(
    max_examples=int(os.environ.get("FLAMBEAU_TEST_PROGRAMS", "200")),
    derandomize=True,
    backend=BACKEND,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def observe(module: Any, program: Program) -> Observed:
    """Run a program; what it warns of is not compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(module, program)


def explained(program: Program, names: str, found: str) -> str:
    """Say what differs and how to see it again."""
    return f"{names} differ in {found}\nin {program!r}" if found else ""


@thorough
@given(program=programs)
def test_lazy_equals_eager(torch: Any, under: str, program: Program) -> None:
    if under == "torch":
        pytest.skip("PyTorch has one way of computing")
    lazily = observe(torch, program)
    with torch.config.eager(True):
        at_once = observe(torch, program)
    found = explained(program, "lazy and eager", difference(lazily, at_once))
    assert not found, found


@pytest.mark.oracle
@thorough
@given(program=programs)
def test_equals_pytorch(torch: Any, oracle: Any, program: Program) -> None:
    try:
        want = observe(oracle, program)
    except NotFollowed:
        return
    found = explained(program, "here and PyTorch", difference(observe(torch, program), want))
    assert not found, found


def recorded() -> list[dict[str, Any]]:
    """Return the programs with PyTorch's answers."""
    return json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else []


@pytest.mark.parametrize("entry", recorded(), ids=lambda entry: entry["name"])
def test_equals_recorded_pytorch(torch: Any, entry: dict[str, Any]) -> None:
    program = Program(
        tuple(Leaf(**{**leaf, "shape": tuple(leaf["shape"])}) for leaf in entry["leaves"]),
        tuple(Step(**{**step, "n": tuple(step["n"])}) for step in entry["steps"]),
    )
    want = Observed(entry["observed"]["steps"], entry["observed"]["values"], entry["observed"]["gradients"])
    found = explained(program, "here and PyTorch", difference(observe(torch, program), want))
    assert not found, found


def as_json(name: str, program: Program, observed: Observed) -> dict[str, Any]:
    """Return a program and what was observed of it as ``recorded.json`` keeps it."""
    return {"name": name, **asdict(program), "observed": asdict(observed)}
