"""Constraints, which hold of few values as arrays and of many as tensors."""

from __future__ import annotations

import math
from typing import Any

import pytest

import flambeau as torch
from flambeau.distributions import Categorical
from flambeau.distributions import constraints as c
from flambeau.engine import looks

_VALUES = [[0.0], [1.0, 0.0], [0.5, 0.5], [2.0, -1.0], [math.nan, 1.0], [math.inf, -math.inf], [3.0, 4.0],
           [1.5]]
_CONSTRAINTS = [c.boolean, c.real, c.positive, c.nonnegative, c.less_than(1.0), c.unit_interval, c.simplex,
                c.half_open_interval(0.0, 1.0), c.integer_interval(0, 3), c.nonnegative_integer,
                c.real_vector, c.one_hot, c.greater_than(torch.tensor(0.5)), c.multinomial(2)]


@pytest.mark.parametrize("constraint", _CONSTRAINTS, ids=str)
@pytest.mark.parametrize("values", _VALUES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_what_holds_is_what_is_checked(constraint: Any, values: list[float], dtype: Any) -> None:
    few = torch.tensor(values, dtype=dtype)
    many = few.repeat(5000, 1)
    assert constraint.holds(few) is constraint.holds(many) is bool(constraint.check(few).all())


def test_integers_are_checked() -> None:
    assert c.integer_interval(0, 3).holds(torch.tensor([0, 3]))
    assert not c.integer_interval(0, 3).holds(torch.tensor([0, 4]))


def test_a_known_value_is_no_look() -> None:
    policy = Categorical(torch.tensor([0.25, 0.75]))
    action = torch.tensor(1)
    before = len(looks)
    policy.log_prob(action)
    assert len(looks) == before
