"""Windows of element types that have none."""

from types import ModuleType
from typing import Any

import pytest

import flambeau

pytestmark = pytest.mark.oracle

_TYPES = ("int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128", "float8_e4m3fn",
          "float8_e5m2")


@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window", "bartlett_window",
                                  "kaiser_window", "arange"])
def test_refused_types(name: str, oracle: ModuleType) -> None:
    def found(torch: Any, dtype: str, length: int) -> Any:
        try:
            return getattr(torch, name)(length, dtype=getattr(torch, dtype)).shape
        except (NotImplementedError, RuntimeError) as error:
            return type(error), str(error)
    for dtype in _TYPES:
        for length in (0, 1, 3):
            assert found(flambeau, dtype, length) == found(oracle, dtype, length), (dtype, length)
