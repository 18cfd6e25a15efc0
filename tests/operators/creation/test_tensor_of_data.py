"""``torch.tensor`` of Python's numbers and lists: dtypes, values, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import flambeau as torch

GIVEN: list[tuple[Any, Any, Any]] = [
    (Decimal("0.5"), torch.float32, torch.float32), (Fraction(1, 2), torch.float64, torch.float64),
    (1.5, None, torch.float32), (3, None, torch.int64), (True, None, torch.bool),
    ([1.0, 2.0], None, torch.float32), ([1, 2.0], None, torch.float32),
    ([[1, 2], [3, 4]], None, torch.int64), ([[True], [False]], None, torch.bool),
    ([True, 1], None, torch.int64), ([], None, torch.float32), ([[], []], None, torch.float32),
    ([1, 2], torch.float64, torch.float64), ([1, 2], torch.uint8, torch.uint8),
    ([1e300], None, torch.float32),
    (((1.0,), (2.0,)), torch.bfloat16, torch.bfloat16), (1j, None, torch.complex64),
    (range(3), None, torch.int64),
]

REFUSED: list[tuple[Any, Any, type[Exception], str]] = [
    (Decimal(1), None, RuntimeError, "Could not infer dtype of decimal.Decimal"),
    (torch.float32, None, RuntimeError, "Could not infer dtype of torch.dtype"),
    (torch.device("cpu"), torch.float32, TypeError, "must be real number, not torch.device"),
    (np.str_("a"), None, TypeError, "new(): invalid data type 'numpy.str_'"),
    ([None], torch.float32, TypeError, "must be real number, not NoneType"),
    ([None], torch.int64, TypeError, "'NoneType' object cannot be interpreted as an integer"),
    ([None], None, RuntimeError, "Could not infer dtype of NoneType"),
    (None, torch.float32, TypeError, "must be real number, not NoneType"),
    ({1: 2}, None, RuntimeError, "Could not infer dtype of dict"),
    ({1: 2}, torch.bool, TypeError, "'dict' object cannot be interpreted as an integer"),
    ("a", None, TypeError, "new(): invalid data type 'str'"),
    ([[1, "a"]], torch.float32, TypeError, "must be real number, not str"),
    ([[1.0, 2.0], 3.0], None, TypeError, "not a sequence"),
    ([3.0, [1.0]], None, TypeError, "must be real number, not list"),
    ([[1, 2], [3]], None, ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
    (1 << 70, None, ValueError, "Overflow when unpacking long long"),
    ([1 << 63], None, ValueError, "Overflow when unpacking long long"),
]


@pytest.mark.parametrize("data, dtype, expected", GIVEN, ids=repr)
def test_types_and_values(data: Any, dtype: Any, expected: Any, recwarn: Any) -> None:
    x = torch.tensor(data, dtype=dtype)
    assert x.dtype is expected
    plain = data
    if hasattr(data, "__iter__"):
        plain = [list(row) if isinstance(row, tuple) else row for row in data]
    assert x.tolist() == (plain if plain != [1e300] else [float("inf")])
    assert not recwarn.list


@pytest.mark.parametrize("data, dtype, error, text", REFUSED, ids=repr)
def test_what_is_no_number_is_refused(data: Any, dtype: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        torch.tensor(data, dtype=dtype)
    assert str(caught.value) == text


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float16, np.float32, np.float64])
def test_a_number_of_numpy_fills_as_one_of_python(kind: Any) -> None:
    assert torch.full((2,), kind(1)).dtype is (torch.int64 if issubclass(kind, np.integer) else torch.float32)
