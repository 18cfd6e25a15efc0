"""Special functions in NumPy alone (SciPy is not a dependency)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)
_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def erf(x: Any) -> Any:
    """The error function."""
    return np.asarray(_erf(x)).astype(np.result_type(x))


def erfc(x: Any) -> Any:
    """1 - erf(x)."""
    return np.asarray(_erfc(x)).astype(np.result_type(x))


def lgamma(x: Any) -> Any:
    """log |gamma(x)|."""
    return np.asarray(_lgamma(x)).astype(np.result_type(x))
