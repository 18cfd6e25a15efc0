"""Direction numbers of Sobol sequences: S. Joe and F. Y. Kuo's, by criterion D(6), for 21201 dimensions.

"Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30, 2635-2654
(2008); ``direction_numbers.txt`` has the terms under which the authors give them away. The file holds for
each dimension from the second on a primitive polynomial over GF(2), and of its first numbers m_2, ..., m_s,
which are odd and m_j < 2^j, all bits but the last.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

BITS = 30
DIMENSIONS = 21201
_FILE = Path(__file__).with_name("direction_numbers.npz")
_DEGREES = range(1, 19)


@lru_cache(maxsize=1)
def _read() -> tuple[Any, Any]:
    """Polynomials as numbers whose bits are their coefficients, and all bits of the first numbers."""
    with np.load(_FILE, allow_pickle=False) as file:
        return file["polynomials"].astype(np.int64), np.unpackbits(file["numbers"])


def direction_numbers(dimension: int) -> Any:
    """The numbers of the first dimensions, (dimension, BITS), from the highest bit down."""
    polynomials, bits = _read()
    found = np.empty((dimension, BITS), np.int64)
    found[0] = 1 << np.arange(BITS - 1, -1, -1)
    first, start = 1, 0
    for degree in _DEGREES:
        last = int(np.searchsorted(polynomials, 2 << degree))
        width = degree * (degree - 1) // 2
        end = start + (last - first) * width
        taken = min(last, dimension)
        if taken > first:
            block = bits[start:end].reshape(last - first, width)[:taken - first]
            found[first:taken] = _extended(polynomials[first:taken], block, degree)
        first, start = last, end
    return found


def _extended(polynomials: Any, bits: Any, degree: int) -> Any:
    """All numbers of dimensions whose polynomials are of one degree s, with coefficients a_1, ..., a_s = 1.

    v_j = a_1 v_(j-1) ^ ... ^ a_s v_(j-s) ^ (v_(j-s) >> s)
    """
    v = np.empty((len(polynomials), BITS), np.int64)
    at = 0
    for j in range(min(degree, BITS)):
        upper = bits[:, at:at + j] @ (1 << np.arange(j, 0, -1))
        v[:, j] = (upper + 1) << (BITS - 1 - j)
        at += j
    for j in range(degree, BITS):
        v[:, j] = v[:, j - degree] ^ (v[:, j - degree] >> degree)
        for k in range(1, degree):
            v[:, j] ^= v[:, j - k] * (polynomials >> (degree - k) & 1)
        # The last coefficient is one in every primitive polynomial: v_(j-s) stands in the first line.
    return v
