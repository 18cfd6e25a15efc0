"""Ranges and running products to the last bit: checksums of what PyTorch 2.13 makes.

Noise schedules are made of them, and an error of 1e-7 in a thousand factors is one of 1e-4 in the result.
"""

from __future__ import annotations

import zlib
from types import ModuleType

import numpy as np
import pytest

import flambeau

CHECKSUMS = {
    "torch.linspace(1e-4, 0.02, 1000)": 3804061890,
    "torch.linspace(-3.3, 7.7, 1001)": 3156725119,
    "torch.linspace(5, -2, 64)": 2079929544,
    "torch.linspace(-3.3, 7.7, 1001, dtype=torch.float64)": 1520045744,
    "torch.linspace(-3.3, 7.7, 1001, dtype=torch.bfloat16).float()": 2819933960,
    "torch.linspace(1e-4, 0.02, 1000, dtype=torch.float16)": 2096734727,
    "torch.arange(0, 10, 0.1)": 1147143964,
    "torch.arange(-5, 5, 0.01)": 73163669,
    "torch.arange(1, 0, -0.003)": 1807718426,
    "torch.arange(0.3, 90.7, 0.37, dtype=torch.float64)": 998290788,
    "torch.arange(-5, 5, 0.01, dtype=torch.bfloat16).float()": 2589602911,
    "torch.arange(0, 10, 0.1, dtype=torch.float16)": 595763022,
    "torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)": 3466789573,
    "torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000).reshape(50, 20), 0)": 605327203,
}


def _checksum(torch: ModuleType, expression: str) -> int:
    return zlib.crc32(eval(expression, {"torch": torch}).contiguous().numpy().tobytes())


@pytest.mark.parametrize("tier", ["interpreter", "native"])
@pytest.mark.parametrize("expression", CHECKSUMS)
def test_bits(expression: str, tier: str) -> None:
    with flambeau.config.executor(tier):
        assert _checksum(flambeau, expression) == CHECKSUMS[expression]


def test_short_ranges() -> None:
    """Ends are met, and one number is the first one."""
    assert flambeau.linspace(3, 5, 1).tolist() == [3.0]
    assert flambeau.linspace(3, 5, 0).tolist() == []
    assert flambeau.arange(0.0).tolist() == []
    for n in (2, 3, 15, 16, 17, 33):
        line = flambeau.linspace(-1.3, 2.7, n).numpy()
        assert line[0] == np.float32(-1.3) and line[-1] == np.float32(2.7)
        assert flambeau.arange(float(n)).tolist() == list(range(n))
