"""Places in sorted rows are those that the interpreter finds."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check, check_other_processor

DTYPES = [flambeau.float32, flambeau.float64, flambeau.int64, flambeau.int32]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 1000])
def test_places(length: int, dtype: Any) -> None:
    flambeau.manual_seed(length)
    values = (flambeau.randn(7, 33) * 10).to(dtype)
    one, rows = ((flambeau.randn(*shape) * 10).to(dtype).sort().values for shape in ((length,), (7, length)))
    if dtype.is_floating_point:
        values[0, :3] = flambeau.tensor([flambeau.nan, flambeau.inf, -flambeau.inf])
        rows[3, -1] = flambeau.nan
    for right in (False, True):
        for short in (False, True):
            for row in (one, rows):
                check(lambda row, v, right=right, short=short: flambeau.searchsorted(
                    row, v, right=right, out_int32=short), [row, values], "searchsorted", 0)
        check(lambda row, v, right=right: flambeau.bucketize(v, row, right=right), [one, values[2, 5]],
              "searchsorted", 0)


def test_other_processor() -> None:
    check_other_processor(__file__, "test_places")
