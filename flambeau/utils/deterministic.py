"""``torch.utils.deterministic``: whether determinism fills what is not initialised.

>>> import flambeau as torch
>>> torch.utils.deterministic.fill_uninitialized_memory
True
>>> torch.use_deterministic_algorithms(True); torch.empty(2)
tensor([nan, nan])
>>> torch.use_deterministic_algorithms(False)
"""

from __future__ import annotations

import sys
import types

from ..operators.calls.arguments import type_in_words
from ..tensor.uninitialized import determinism


class _Deterministic(types.ModuleType):
    """The module itself: its setting is checked where it is set."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether new tensors without particular values hold NaN, or the largest number of their type."""
        return determinism.fills

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if mode.__class__ is not bool:
            raise RuntimeError(f"expected a bool, but got {type_in_words(mode)}")
        determinism.fills = mode


sys.modules[__name__].__class__ = _Deterministic
