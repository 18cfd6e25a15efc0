"""Write promotions.json: PyTorch's type promotion and casts for every pair of element types.

    python tests/operators/pointwise/record_promotions.py        needs PyTorch
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = ("bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
         "float8_e4m3fn float8_e5m2 complex32 complex64 complex128").split()
PATH = Path(__file__).with_name("promotions.json")
NUMBERS = (True, 1, 1.0, 1j)


def told(ask: Callable[..., Any], *given: Any) -> str:
    """An answer, or an error's message, as text."""
    try:
        return str(ask(*given))
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def answers(torch: Any) -> dict[str, list[str]]:
    """By pair: promote_types, can_cast, and result_type of a vector (a 0-dim tensor) with a 0-dim tensor."""
    found = {}
    for first in NAMES:
        a = getattr(torch, first)
        vector, scalar = torch.ones(2, dtype=a), torch.ones((), dtype=a)
        found[first] = [told(a.to_real), told(a.to_complex),
                        *[told(torch.result_type, x, n) for x in (vector, scalar) for n in NUMBERS]]
        for second in NAMES:
            b = getattr(torch, second)
            other = torch.ones((), dtype=b)
            found[f"{first} {second}"] = [
                told(torch.promote_types, a, b), told(torch.can_cast, a, b),
                told(torch.result_type, vector, other), told(torch.result_type, scalar, other)]
    return found


if __name__ == "__main__":
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in answers(torch).items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
