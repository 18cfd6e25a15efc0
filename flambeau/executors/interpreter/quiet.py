"""Arithmetic without NumPy's warnings: what it warns of is what PyTorch computes."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj  # type: ignore[attr-defined,unused-ignore]
except ImportError:     # another NumPy: its public way, which costs as much as a small operator
    def hush() -> Any:
        """Warn of nothing from now on; what to tell ``speak``."""
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def speak(before: Any) -> None:
        """Warn as before ``hush``."""
        before.__exit__(None, None, None)
else:
    _silence = _make_extobj(all="ignore")

    def hush() -> Any:
        """Warn of nothing from now on; what to tell ``speak``."""
        return _extobj_contextvar.set(_silence)

    def speak(before: Any) -> None:
        """Warn as before ``hush``."""
        _extobj_contextvar.reset(before)
