"""What tensors without particular values hold: zeros, or what PyTorch fills them with under determinism."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes


class _Determinism:
    """What ``use_deterministic_algorithms`` and ``utils.deterministic`` were told."""

    __slots__ = ("asked", "warns_only", "fills")

    def __init__(self) -> None:
        self.asked = False
        self.warns_only = False
        self.fills = True


determinism = _Determinism()


def unset_value(dtype: dtypes.dtype) -> Any:
    """The value of elements that nothing was written to.

    Programs that ask for determinism are to notice what they forgot to write: NaN, or the largest number.
    """
    if not (determinism.asked and determinism.fills):
        return 0
    if dtype.category >= dtypes.FLOATING:
        return float("nan")
    return True if dtype is dtypes.bool_ else int(np.iinfo(dtype.numpy).max)
