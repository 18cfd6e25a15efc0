"""NumPy's factorizations; those of matrices that are not large by one thread (Note: waiting threads)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from . import blas

F = TypeVar("F", bound=Callable[..., Any])


def _by_one_thread(function: F) -> F:
    @wraps(function)
    def call(a: Any, *arguments: Any, **options: Any) -> Any:
        rows, columns = a.shape[-2:]
        threads = blas.one_thread(rows * columns * min(rows, columns))
        try:
            return function(a, *arguments, **options)
        finally:
            blas.restore(threads)
    return call  # type: ignore[return-value]


cholesky = _by_one_thread(np.linalg.cholesky)
det = _by_one_thread(np.linalg.det)
eig = _by_one_thread(np.linalg.eig)
eigh = _by_one_thread(np.linalg.eigh)
eigvalsh = _by_one_thread(np.linalg.eigvalsh)
inv = _by_one_thread(np.linalg.inv)
qr = _by_one_thread(np.linalg.qr)
slogdet = _by_one_thread(np.linalg.slogdet)
solve = _by_one_thread(np.linalg.solve)
svd = _by_one_thread(np.linalg.svd)
